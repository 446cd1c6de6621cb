// One side of a comparison, from whatever names it.
#pragma once

#include <optional>
#include <string>

#include "exported.h"
#include "look.h"

namespace pincheck {

// Whether a name stands for an export in JSON, and not for a report or a folder of reports. Of a pipe nothing is read:
// reports are no pipes.
bool is_exported(const std::string& path);

// The findings of reports, in the order in which screens number them.
ListedRun listed(const Look& look);

// Reads either. Nothing where that is not possible: why is then on standard error.
std::optional<ListedRun> read_run(const std::string& path, LookOptions options);

}  // namespace pincheck
