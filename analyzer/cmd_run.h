// pincheck run: starts a program with the library, and says what was seen when it has ended.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace pincheck {

// Adds the verb; see cmd_dump.h. `program`: the words of the program to start, as take_program() found them.
void add_run(CLI::App& app, std::function<int()>& run, const std::vector<std::string>& program);

// Of `pincheck run [flags] [--] program args…` everything from the program on goes to `program` and must be hidden from
// the parser, which would take `-x` for ours and split words that look like lists. Returns how many words are left.
int take_program(const CLI::App& app, int argc, char** argv, std::vector<std::string>& program);

}  // namespace pincheck
