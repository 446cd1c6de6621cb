// A report as text, one line for each record and slot.
#pragma once

#include <string>
#include <string_view>

#include "report/reader.h"

namespace pincheck {

// Lines in a fixed order (header, process, devices, coverage, modules, stacks, symbols, sites, counters, ranges,
// threads, losses, problems), each sorted by ids, so that equal reports give equal texts. `name` is shown as the file's
// name.
std::string dump(const report::Report& report, std::string_view name);

}  // namespace pincheck
