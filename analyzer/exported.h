// A run as other runs are compared with it: its findings without their sites. From `pincheck export --format=json`, or
// from reports (see diff_run.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

// Texts are as they were recorded: to be neutralised (printable.h) where they are shown.
struct ListedFinding {
    std::string fingerprint;
    std::string place;
    std::string rule;   // slug
    std::string cause;  // of hidden-wait; else ""
    std::string heading;
    std::string api;
    Severity severity{};
    bool gated = false;
    std::string decision;  // name_of(Decision)
    Amounts amounts;
};

struct ListedRun {
    std::string file;  // or folder
    std::vector<ListedFinding> findings;
    std::size_t processes = 0;
    std::uint64_t duration_ns = 0;     // of the longest process
    std::uint64_t cuda_calls = 0;      // of all
    std::vector<std::string> reasons;  // why there is no conclusion: what is not in it may not have been seen
};

// The line that a finding is headed by, as exports have it: "step(Batch&) (train.cu:41)"; "" where there is none.
std::string heading_text(const Capture& capture, const Finding& finding, const Origins& origins);

// Reads what `pincheck export --format=json` wrote. Returns "" or what is wrong, with the next step.
std::string read_exported(const std::string& path, ListedRun& run);

}  // namespace pincheck
