// What a policy says of one finding.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pincheck {

// Which part of the policy decided.
enum class Decision {
    // It gates:
    by_default,  // an error, not a library's
    strict,
    fail_on,
    // It does not; the first of these that applies:
    note,
    library,       // a vendor's own copies, and races between libraries' own calls, without --strict
    not_selected,  // by its rule or severity
    staged,        // --allow-staged
    suppressed,
    within_threshold,
    in_baseline,
};
constexpr bool gates(Decision decision) noexcept {
    return decision <= Decision::fail_on;
}
const char* name_of(Decision decision);  // "default", "in-baseline", …

enum class Since { no_baseline, fresh, known, worse };  // compared with the baseline
const char* name_of(Since since);                       // "no-baseline", "new", "known", "worse"

struct Ruling {
    Decision decision = Decision::by_default;
    std::string why;                         // a sentence's part: "the copy reads a 4-byte flag (gate.toml:3)"
    std::optional<std::size_t> suppression;  // suppressed: position in PolicyOptions::suppressions
    Since since = Since::no_baseline;
};

}  // namespace pincheck
