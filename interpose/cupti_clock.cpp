#include "cupti_clock.h"

namespace pincheck::cupti {
namespace {

std::uint64_t minus(std::uint64_t theirs, std::int64_t offset) noexcept {
    return theirs - static_cast<std::uint64_t>(offset);
}

}  // namespace

void ClockPairs::add(std::uint64_t ours, std::uint64_t theirs) noexcept {
    pairs_[next_] = {ours, static_cast<std::int64_t>(theirs - ours)};
    next_ = (next_ + 1) % kPairs;
    count_ = count_ < kPairs ? count_ + 1 : kPairs;
}

// True when `theirs` is a moment between the two pairs.
bool ClockPairs::between(const Pair& older, const Pair& newer, std::uint64_t theirs,
                         std::uint64_t& ours) const noexcept {
    const std::int64_t drift = newer.offset - older.offset;
    const auto inside = [&](std::uint64_t moment) {
        return static_cast<std::int64_t>(moment - older.ours) >= 0 &&
               static_cast<std::int64_t>(newer.ours - moment) >= 0;
    };
    if (drift > -kStepNs && drift < kStepNs) {
        const auto span = static_cast<std::int64_t>(newer.ours - older.ours);
        const auto part = static_cast<std::int64_t>(minus(theirs, older.offset) - older.ours);
        const std::int64_t correction =
            span > 0 ? static_cast<std::int64_t>(static_cast<double>(drift) * static_cast<double>(part) /
                                                 static_cast<double>(span))
                     : 0;
        ours = minus(theirs, older.offset + correction);
        return inside(ours);
    }
    // The clock was set somewhere in between: before that the older offset holds, after it the newer one.
    ours = minus(theirs, newer.offset);
    if (inside(ours)) {
        return true;
    }
    ours = minus(theirs, older.offset);
    return inside(ours);
}

std::uint64_t ClockPairs::to_monotonic(std::uint64_t theirs, std::uint64_t not_before) const noexcept {
    if (count_ == 0) {
        return 0;
    }
    // After the newest pair.
    const std::uint64_t latest = minus(theirs, pair(0).offset);
    if (static_cast<std::int64_t>(latest - pair(0).ours) >= 0) {
        return latest;
    }
    for (unsigned age = 0; age + 1 < count_; ++age) {
        std::uint64_t ours = 0;
        if (between(pair(age + 1), pair(age), theirs, ours) && ours >= not_before) {
            return ours;
        }
    }
    const Pair& oldest = pair(count_ - 1);
    const std::uint64_t earliest = minus(theirs, oldest.offset);
    return earliest <= oldest.ours ? earliest : latest;
}

}  // namespace pincheck::cupti
