// pincheck show: one finding, or one site, in full.
#pragma once

#include "command_line.h"

namespace pincheck {

// Adds the verb.
void add_show(CommandLine& line);

}  // namespace pincheck
