// pincheck mark: from when on a later look at a running process counts.
#pragma once

#include "command_line.h"

namespace pincheck {

void add_mark(CommandLine& line);

}  // namespace pincheck
