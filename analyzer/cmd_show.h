// pincheck show: one finding, or one site, in full.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pincheck {

// Adds the verb. When it is the one that was asked for, `run` is what to do; it returns the exit status.
void add_show(CLI::App& app, std::function<int()>& run);

}  // namespace pincheck
