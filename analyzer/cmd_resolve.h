// pincheck resolve FILES: puts symbols into reports.
#pragma once

#include "command_line.h"

namespace pincheck {

void add_resolve(CommandLine& line);

}  // namespace pincheck
