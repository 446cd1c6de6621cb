// pincheck doctor: what works on this machine.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"

namespace pincheck {

// `program`: the words behind the options, as take_program() found them.
void add_doctor(CommandLine& line, const std::vector<std::string>& program);

}  // namespace pincheck
