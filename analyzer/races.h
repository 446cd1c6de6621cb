// Rules about buffers that are used again before their copy has finished: what the recorder found, judged.
#pragma once

#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

// For the table behind rules().
std::vector<RuleInfo> race_rules();

// Not sorted. One finding for each rule and pair of sites; results that nobody waits for are one finding with those of
// the same copy that the program left at its end.
std::vector<Finding> find_races(const Capture& capture, const Origins& origins);

// The rule that the recorder named; none for a number that this version does not know.
std::optional<Rule> rule_of(report::RaceRule rule);

// For sorting: 0 a race that is an error and corrupted something, 1 another race that is an error, 2 everything else.
int race_rank(const Finding& finding);

// Whether the host uses this pageable copy's buffer again as if the copy were over, which is so only because of
// staging.
bool relies_on_staging(const Capture& capture, const CaptureSite& site);
// What to do about such a copy instead of merely page-locking its buffer.
std::string staging_advice(const Capture& capture, const CaptureSite& site, Origin issuer, const Origins& origins);

}  // namespace pincheck
