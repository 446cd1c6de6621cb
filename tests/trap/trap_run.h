// Running programs with and without libpincheck-trap.so.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "run_program.h"

namespace pincheck::test {

inline std::string trap_library() {
    return PINCHECK_TEST_TRAP_LIBRARY;
}

inline Command with_trap(std::vector<std::string> arguments) {
    Command command;
    command.arguments = std::move(arguments);
    command.preload = {trap_library()};
    return command;
}

inline Command without_trap(std::vector<std::string> arguments) {
    Command command = with_trap(std::move(arguments));
    command.preload.clear();
    return command;
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace pincheck::test
