// pincheck export: reports for other programs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace pincheck {

void add_export(CLI::App& app, std::function<int()>& run);

}  // namespace pincheck
