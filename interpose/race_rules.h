// What two uses of one range by copies, one put in after the other, are: a verdict over facts. Pure.
//
// A use is "in flight" until the host knows the copy to be complete; only such are judged. Whether the device had
// finished unnoticed plays no part: the same program gets the same verdict on a slow and on a fast device.
#pragma once

#include <cstdint>

#include "range_book.h"
#include "report/slots.h"

namespace pincheck {

// Of the later use to the earlier one, in whatever runs them.
enum class Order : std::uint8_t {
    behind,   // comes after it, or whether it does cannot be told
    none,     // nothing keeps them apart
    unknown,  // one of them is behind something that the host or another process decides
};

struct RaceVerdict {
    enum class Kind : std::uint8_t {
        nothing,
        consumed,     // the later one reads, in order, what the earlier one wrote
        race,         // see `rule`
        cannot_tell,  // would be one, if what it is behind did not decide
    };
    Kind kind = Kind::nothing;
    report::RaceRule rule{};
    bool presumed = false;
};

// `signals`: streams of this process write to memory that the host may poll, or wait for it: an order that is not seen.
RaceVerdict judge(const RangeUse& earlier, const RangeUse& later, Order order, bool signals) noexcept;

// A range whose every byte may be a flag that the host polls.
constexpr bool may_be_flag(const RangeUse& use) noexcept {
    return use.bytes <= 8;
}

}  // namespace pincheck
