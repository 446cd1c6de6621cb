// pincheck run: starts a program with the library, and says what was seen when it has ended.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"

namespace pincheck {

// Adds the verb. `program`: the words of the program to start, as take_program() found them.
void add_run(CommandLine& line, const std::vector<std::string>& program);

// Of `pincheck run [flags] [--] program args…` everything from the program on goes to `program` and must be hidden from
// the parser, which would take `-x` for ours and split words that look like lists. Returns how many words are left.
int take_program(const CommandLine& line, int argc, char** argv, std::vector<std::string>& program);

}  // namespace pincheck
