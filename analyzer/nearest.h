// What a mistyped name may have meant.
#pragma once

#include <string>
#include <vector>

namespace pincheck {

// The names that a mistyped or shortened one may have meant, nearest first, at most three: one letter in three may be
// wrong.
std::vector<std::string> nearest(const std::string& text, const std::vector<std::string>& names);

// "; did you mean x or y?", "" where nothing is near.
std::string did_you_mean(const std::string& text, const std::vector<std::string>& names);

// The slugs of all rules.
std::vector<std::string> rule_slugs();
// "there is no rule 'x'; did you mean y? 'pincheck explain' lists them"
std::string unknown_rule_text(const std::string& name);

}  // namespace pincheck
