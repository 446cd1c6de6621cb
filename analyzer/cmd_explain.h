// pincheck explain: what a rule means.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace pincheck {

// Adds the verb. When it is the one that was asked for, `run` is what to do; it returns the exit status.
void add_explain(CLI::App& app, std::function<int()>& run);

// The names that a mistyped or shortened one may have meant, nearest first, at most three: one letter in three may be
// wrong.
std::vector<std::string> nearest(const std::string& text, const std::vector<std::string>& names);

}  // namespace pincheck
