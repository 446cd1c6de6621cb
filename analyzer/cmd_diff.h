// pincheck diff: what one run has that another had not.
#pragma once

#include "command_line.h"

namespace pincheck {

void add_diff(CommandLine& line);

}  // namespace pincheck
