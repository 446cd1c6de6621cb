// An earlier run to compare with: what was there then does not gate again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

// What `pincheck export --format=json` wrote, as far as it is compared.
struct Baseline {
    struct Entry {
        std::string place;
        Severity severity{};
        bool counted = false;  // it gated, or would have without a baseline: when it is gone, it was fixed
        Amounts amounts;
    };
    std::string file;
    std::size_t findings = 0;
    std::map<std::string, std::vector<Entry>> entries;  // by fingerprint
};

// Returns "" or what is wrong, with the next step.
std::string read_baseline(const std::string& path, Baseline& baseline);

// By how many percent findings may grow before they gate again; none: however much.
struct Worse {
    std::optional<std::uint32_t> count;
    std::optional<std::uint32_t> bytes;
    std::optional<std::uint32_t> held;

    bool any() const noexcept { return count || bytes || held; }
    std::optional<std::uint32_t>& percent(Quantity quantity);
    const std::optional<std::uint32_t>& percent(Quantity quantity) const;
};
// "count=+50%,held=+100%"; sets what it names. Returns "" or what is wrong.
std::string parse_worse(const std::string& text, Worse& worse);
std::string set_worse(Worse& worse, const std::string& key, const std::string& value);

// What became of one finding.
struct Compared {
    Since since = Since::fresh;
    std::string why;  // "new: not in old.json", "known: in old.json", "worse than in old.json: count 10 -> 30"
};
struct Comparison {
    std::vector<Compared> findings;  // in their order
    std::size_t fixed = 0;           // places of the baseline that are no longer there
};

// A finding is known when the baseline has one of its fingerprint and place that was at least as severe. Where places
// moved, as many are known as the baseline has left over of that fingerprint; of more than that none is, since nobody
// can tell which are new. What got worse is judged by the sums over a fingerprint.
Comparison compare(const Baseline& baseline, const Worse& worse, const std::vector<Finding>& findings);

}  // namespace pincheck
