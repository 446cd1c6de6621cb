// pincheck dump: what is in a report file, line by line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pincheck {

// Adds the verb. When it is the one that was asked for, `run` is what to do; it returns the exit status.
void add_dump(CLI::App& app, std::function<int()>& run);

}  // namespace pincheck
