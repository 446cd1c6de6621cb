// What became of one run's findings in another: pure, over lists of findings.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exported.h"

namespace pincheck {

enum class Change { fresh, worse, better, fixed, unchanged };
const char* name_of(Change change);  // "new", "worse", …

// Held times differ from run to run by tens of percent, so that they have a limit of their own, and below this much
// say nothing.
inline constexpr std::uint64_t kLeastHeldNs = 1'000'000;

struct DiffLimits {
    unsigned percent = 10;       // count and bytes changed: by more than so much
    unsigned held_percent = 50;  // held changed: by more than so much, and by kLeastHeldNs
};

// What one run has of an entry: the findings of one fingerprint and place, or several places that cannot be told apart.
struct DiffSide {
    std::size_t finding = 0;  // index into ListedRun::findings, of the worst one
    std::size_t places = 1;
    Severity severity{};  // of the worst one
    bool gated = false;   // any of them
    Amounts amounts;      // of all
};

struct DiffEntry {
    Change change{};
    bool moved = false;            // only the number of places could be compared: their lines, or offsets, are others
    std::optional<DiffSide> then;  // null: new
    std::optional<DiffSide> now;   // null: fixed
};

struct Diff {
    std::vector<DiffEntry> entries;  // new, worse, better, fixed, unchanged ones; of each the worst first
    // In what the runs differ by so much that their numbers are not comparable as they stand.
    bool processes = false;
    bool cuda_calls = false;
    bool duration = false;

    bool is_comparable() const noexcept { return !processes && !cuda_calls && !duration; }
    std::size_t count(Change change) const;
};

// Findings are matched as a baseline's are (place_match.h). One is worse where it is more severe, or where one of its
// amounts grew beyond the limits, whatever the others did; better where one fell and none grew. Of places whose lines
// moved, the sums are compared; where there are more of them than there were, they are new.
Diff diff_runs(const ListedRun& then, const ListedRun& now, const DiffLimits& limits);

}  // namespace pincheck
