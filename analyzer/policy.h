// What fails a gate. The default: no pageable async copies of the user's own making (see explain default-gate).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

struct PolicyOptions {
    bool strict = false;               // gate everything but notes: libraries' and vendors' copies, warnings
    bool allow_staged = false;         // exempt pageable H2D copies measured not to block
    bool allow_no_cuda = false;        // loaded, no CUDA call: a pass
    std::vector<std::string> fail_on;  // rule slugs, or error / warning; empty: the default
    bool operator==(const PolicyOptions&) const = default;
};

enum class Verdict { pass, violated, no_conclusion };  // exit status 0, 1, 3

struct Judgement {
    Verdict verdict{};
    std::vector<Finding> gated;        // worst first
    std::vector<Finding> not_gated;    // counted, listed by --all
    std::vector<std::string> reasons;  // why there is no conclusion, one line each with the next step
};

// Whether a loss leaves calls that nobody can judge any more, in a process that ended or not. Losses of stacks,
// strings, modules and ranges leave the class of every copy known.
bool hides_calls(report::Loss kind, bool ended);

// A blind run never passes: no report, no CUDA call, an unreadable file, lost sites or counters mean no conclusion
// unless something gated was seen (then: violated).
Judgement judge(const LoadResult& loaded, const std::vector<Finding>& findings, const PolicyOptions& options,
                const std::vector<std::string>& blind_reasons);

}  // namespace pincheck
