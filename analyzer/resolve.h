// Symbols from this machine's files into a report, so that it says the same on another one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "symbol_cache.h"

namespace pincheck {

struct Resolved {
    std::string error;                  // "" or why nothing was added, with the next step
    std::vector<std::string> problems;  // modules without names, one line each
    std::size_t frames = 0;             // distinct places in the report's stacks and keys that lie in a module
    std::size_t lines = 0;              // of them known down to file and line, whether now or before
    std::size_t functions = 0;          // only by the nearest symbol
    std::size_t added = 0;              // places looked up and added now
};

// Looks up the frames that the report has no symbols for and appends them. Refuses a report that is being written.
// The cache is shared by the reports of one job, which are mostly of the same program.
Resolved resolve_report(const std::string& path, SymbolCache& cache);

}  // namespace pincheck
