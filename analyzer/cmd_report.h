// pincheck report: the first screen of reports that lie there already.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pincheck {

// Adds the verb. When it is the one that was asked for, `run` is what to do; it returns the exit status.
void add_report(CLI::App& app, std::function<int()>& run);

}  // namespace pincheck
