// Adds records to the report of a process that has ended: resolved symbols, so that the report travels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records.h"

namespace pincheck::report {

// A symbol with its texts still as texts.
struct ResolvedFrame {
    std::uint32_t module = 0;
    std::uint32_t level = 0;
    std::uint64_t offset = 0;
    std::string function;
    std::string file;
    std::uint32_t line = 0;
    bool exact = false;
};

// Appends them in new segments (data first, the file header last, so that an interrupted append leaves the report as it
// was). Refuses a report whose process may still be writing it: state `running` and the process id alive with the same
// start time. Returns "" or one line for the user.
std::string append_symbols(const std::string& path, const std::vector<ResolvedFrame>& frames);

// That line, for a reason of the system's (no right to write, a full disk).
std::string cannot_add(const std::string& path, const std::string& why);

}  // namespace pincheck::report
