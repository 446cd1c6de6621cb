// pincheck top: looks at running processes again and again.
#pragma once

#include "command_line.h"

namespace pincheck {

void add_top(CommandLine& line);

}  // namespace pincheck
