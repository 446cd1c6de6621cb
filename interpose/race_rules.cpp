#include "race_rules.h"

namespace pincheck {

using report::RaceRule;
using Kind = RaceVerdict::Kind;

namespace {

bool is_pageable(const RangeUse& use) noexcept {
    return (use.flags & kUsePageable) != 0;
}
bool is_same_range(const RangeUse& a, const RangeUse& b) noexcept {
    return a.address == b.address && a.bytes == b.bytes;
}
bool is_inside(const RangeUse& inner, const RangeUse& outer) noexcept {
    return inner.address >= outer.address && inner.address - outer.address <= outer.bytes &&
           inner.bytes <= outer.bytes - (inner.address - outer.address);
}

// Rows of a pitched buffer: another copy may use what lies between them.
bool surely_overlap(const RangeUse& a, const RangeUse& b) noexcept {
    const bool a_gaps = (a.flags & kUseGaps) != 0;
    const bool b_gaps = (b.flags & kUseGaps) != 0;
    return (!a_gaps && !b_gaps) || is_same_range(a, b) || (!a_gaps && is_inside(b, a)) || (!b_gaps && is_inside(a, b));
}

// The driver carries pageable memory through the CPU inside the call: nothing is in flight after it, but the program
// behaves as if that were so of any memory.
RaceVerdict judge_pageable(const RangeUse& earlier, const RangeUse& later) noexcept {
    const bool result_lost = earlier.writes() && later.writes() && !earlier.consumed && is_pageable(earlier);
    const bool refilled = !earlier.writes() && !later.writes() && is_pageable(earlier) && is_pageable(later) &&
                          is_same_range(earlier, later) && earlier.content != 0 && later.content != 0 &&
                          earlier.content != later.content;
    if (result_lost || refilled) {
        return {Kind::race, RaceRule::relies_on_staging, false};
    }
    return {earlier.writes() && !later.writes() ? Kind::consumed : Kind::nothing, {}, false};
}

}  // namespace

RaceVerdict judge(const RangeUse& earlier, const RangeUse& later, Order order, bool signals) noexcept {
    const bool one_call =
        earlier.ticket.stream == later.ticket.stream && earlier.ticket.sequence == later.ticket.sequence;
    if (one_call || !surely_overlap(earlier, later) || earlier.is_on_device() != later.is_on_device()) {
        return {};
    }
    if (is_pageable(earlier) || is_pageable(later)) {
        if (((earlier.flags | later.flags) & kUseInGraph) != 0) {
            return {};  // what a graph's copy of pageable memory does when is not documented
        }
        return judge_pageable(earlier, later);
    }
    if (!earlier.writes() && !later.writes()) {
        return {};
    }
    if (order == Order::behind) {
        if (earlier.is_on_device() || !earlier.writes()) {
            return {};
        }
        if (!later.writes()) {
            return {Kind::consumed, {}, false};
        }
        // The same graph, launched again: of what it leaves in one place each time the last may be what is wanted.
        const bool again = (earlier.flags & later.flags & kUseInGraph) != 0 && earlier.site == later.site;
        if (earlier.consumed || again) {
            return {};
        }
        return {Kind::race, RaceRule::result_never_awaited, signals || may_be_flag(earlier)};
    }
    if (order == Order::unknown) {
        return {Kind::cannot_tell, {}, false};
    }
    const RaceRule rule = earlier.is_on_device() ? RaceRule::unordered_copies
                          : !earlier.writes()    ? RaceRule::source_overwritten_in_flight
                          : !later.writes()      ? RaceRule::destination_read_in_flight
                                                 : RaceRule::unordered_copies;
    return {Kind::race, rule, signals};
}

}  // namespace pincheck
