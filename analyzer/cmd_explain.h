// pincheck explain: what a rule means.
#pragma once

#include "command_line.h"

namespace pincheck {

// Adds the verb.
void add_explain(CommandLine& line);

}  // namespace pincheck
