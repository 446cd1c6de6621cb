// What fails a gate. The default: no pageable async copies and no races of the user's own making (see explain
// default-gate); what a team may change: see explain gate.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baseline.h"
#include "findings.h"
#include "suppression.h"
#include "threshold.h"

namespace pincheck {

struct PolicyOptions {
    bool strict = false;                // gate everything but notes: libraries' and vendors' copies and races, warnings
    bool allow_staged = false;          // exempt pageable H2D copies measured not to block
    bool allow_no_cuda = false;         // loaded, no CUDA call: a pass
    std::vector<std::string> fail_on;   // rule slugs, or error / warning; empty: the default
    std::vector<Threshold> thresholds;  // at most one a rule
    std::vector<Suppression> suppressions;
    std::shared_ptr<const Baseline> baseline;  // null: none
    Worse worse;
    std::chrono::sys_days today;  // for suppressions that expire
    std::string config;           // the file that settings come from; "": none
};

enum class Verdict { pass, violated, no_conclusion };  // exit status 0, 1, 3

// All findings have their ruling.
struct Judgement {
    Verdict verdict{};
    std::vector<Finding> gated;        // worst first
    std::vector<Finding> not_gated;    // counted, listed by --all
    std::vector<std::string> reasons;  // why there is no conclusion, one line each with the next step
    PolicyOptions policy{};            // that it was judged by
    // By position in policy.suppressions: findings that the row matches, also what gates because the row has expired,
    // what would not gate anyway, and what an earlier row suppressed.
    std::vector<std::size_t> matched{};
    std::size_t fixed = 0;  // places of the baseline that are no longer there
};

// A finding gates when it is selected (by its severity and whose it is, --fail-on, --strict) and neither staged and
// allowed, suppressed, within its rule's threshold, nor known from the baseline and not worse.
// A blind run never passes: no report, no CUDA call, an unreadable file, lost sites or counters mean no conclusion
// unless something gated was seen (then: violated).
Judgement judge(const LoadResult& loaded, const std::vector<Finding>& findings, const Origins& origins,
                const PolicyOptions& options, const std::vector<std::string>& blind_reasons);

// How many findings one part of the policy let pass.
std::size_t count_of(const Judgement& judgement, Decision decision);

}  // namespace pincheck
