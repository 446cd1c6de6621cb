// pincheck dump: what is in a report file, line by line.
#pragma once

#include "command_line.h"

namespace pincheck {

// Adds the verb.
void add_dump(CommandLine& line);

}  // namespace pincheck
