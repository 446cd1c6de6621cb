// pincheck explain: what a rule means.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"

namespace pincheck {

// Adds the verb.
void add_explain(CommandLine& line);

// The names that a mistyped or shortened one may have meant, nearest first, at most three: one letter in three may be
// wrong.
std::vector<std::string> nearest(const std::string& text, const std::vector<std::string>& names);

}  // namespace pincheck
