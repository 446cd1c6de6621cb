// pincheck export: reports for other programs.
#pragma once

#include "command_line.h"

namespace pincheck {

void add_export(CommandLine& line);

}  // namespace pincheck
