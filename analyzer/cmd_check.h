// pincheck check FILES: the gate for reports that are already there.
#pragma once

#include "command_line.h"
#include "policy.h"

namespace pincheck {

void add_check(CommandLine& line);

// Exit status of a verdict: 0, 1 (or what replaces it) or 3.
int exit_status_of(Verdict verdict, int violated);

}  // namespace pincheck
