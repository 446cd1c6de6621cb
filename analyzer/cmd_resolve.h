// pincheck resolve FILES: puts symbols into reports.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pincheck {

void add_resolve(CLI::App& app, std::function<int()>& run);

}  // namespace pincheck
