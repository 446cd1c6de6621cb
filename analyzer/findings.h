// Rules: pure functions over a capture. Each finding names its evidence; what it costs a gate is in policy.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture.h"
#include "origin.h"

namespace pincheck {

enum class Rule {
    pageable_async_copy,     // error: an async copy's host side is pageable
    managed_async_copy,      // warning: an async copy from managed memory waits
    copy_then_sync,          // warning: a copy the caller waits for at once, inside a library; or pinned in user code
    straddles_registration,  // error: a copy whose range is partly registered fails
};
enum class Severity { error, warning, note };

struct RuleInfo {
    Rule rule;
    const char* slug;
    Severity severity;
    const char* claim;    // one line
    const char* explain;  // several paragraphs for `pincheck explain`
};
const std::vector<RuleInfo>& rules();
const RuleInfo* rule_by_slug(const std::string& slug);

struct Finding {
    Rule rule{};
    Severity severity{};
    std::uint32_t site = 0;     // CaptureSite::id
    int heading = -1;           // frame to head it by
    Origin issuer{};            // whose code made the call
    std::string api;            // as the user knows it
    std::uint64_t held_ns = 0;  // host time in these calls
    bool once = false;          // all calls in one burst (model.to): listed after recurring ones
    std::string why;            // what the call waited for, as far as known
    std::string fix;            // what to do
};

// Worst first: recurring before once, then by host time held.
std::vector<Finding> find(const Capture& capture, const Origins& origins);

}  // namespace pincheck
