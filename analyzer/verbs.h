// All verbs of the program, in the order of its help.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"

namespace pincheck {

// `program`: what `run` and `doctor` are given behind their options; see take_program().
void add_verbs(CommandLine& line, std::vector<std::string>& program);

inline constexpr const char* kProgramHelp =
    "Finds CUDA copies that are not asynchronous, hidden waits and buffers reused too early.";

}  // namespace pincheck
