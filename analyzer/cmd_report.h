// pincheck report: the first screen of reports that lie there already.
#pragma once

#include "command_line.h"

namespace pincheck {

// Adds the verb.
void add_report(CommandLine& line);

}  // namespace pincheck
