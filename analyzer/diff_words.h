// A comparison of two runs in words that the screen and the summary have in common. All results are neutralised
// (printable.h).
#pragma once

#include <array>
#include <string>
#include <utility>

#include "diff.h"

namespace pincheck {

inline constexpr std::array kChanges = {Change::fresh, Change::worse, Change::better, Change::fixed, Change::unchanged};
const char* title_of(Change change);  // "New", "Worse", …

// "2 new (1 gating)"
std::string count_text(const Diff& diff, Change change);
// All that there are: "2 new (1 gating), 3 unchanged"; "no findings in either run".
std::string summary_text(const Diff& diff);
// "2 processes, 30,408 CUDA calls, 214 s"
std::string facts_text(const ListedRun& run);
// Why the run is not conclusive, and what follows; "" where it is.
std::string doubt_text(const ListedRun& run, bool is_new);
// Why the amounts cannot be compared as they stand; "" where they can.
std::string differences_text(const ListedRun& then, const ListedRun& now, const Diff& diff);

// Which of an entry's two sides is shown: now, but of what was fixed.
const DiffSide& shown_side(const DiffEntry& entry);
const ListedFinding& shown_finding(const ListedRun& then, const ListedRun& now, const DiffEntry& entry);
// Then and now; of what is in one run only, twice the same.
std::pair<Amounts, Amounts> amounts_of(const DiffEntry& entry);
// "10 -> 30 (+200 %)"; "10" where nothing changed.
std::string change_text(Quantity quantity, const Amounts& then, const Amounts& now);
// "error, gates", "note -> error, gates", "error, gated"
std::string severity_text(const DiffEntry& entry);
std::string heading_text(const ListedFinding& finding);
// "hidden-wait (device-wide) by cudaFree"
std::string what_text(const ListedFinding& finding);
// How the places moved; "" where they did not.
std::string moved_text(const DiffEntry& entry);

}  // namespace pincheck
