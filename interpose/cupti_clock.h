// From CUPTI's timestamps to the report's clock. Records carry nanoseconds of CLOCK_REALTIME (cuptiGetTimestamp;
// measured: CUPTI 13.0), which an administrator or a time service may set while the program runs. A timestamp callback
// of ours would stay registered after the tool stepped aside for the program's profiler (measured), so pairs of both
// clocks are kept instead. One thread at a time.
#pragma once

#include <cstdint>

namespace pincheck::cupti {

class ClockPairs {
  public:
    // CUPTI's clock said `theirs` when CLOCK_MONOTONIC said `ours`. In the order of `ours`.
    void add(std::uint64_t ours, std::uint64_t theirs) noexcept;

    // What CLOCK_MONOTONIC said when CUPTI's clock said `theirs`. Where the clock was set back in between, a timestamp
    // can mean two moments: then the one that is not before `not_before`. 0 while no pair is known.
    std::uint64_t to_monotonic(std::uint64_t theirs, std::uint64_t not_before) const noexcept;

  private:
    // At one pair in 250 ms: 16 s. Records of work that runs longer are converted with the oldest pair.
    static constexpr unsigned kPairs = 64;
    // Two neighbouring pairs apart by more than this: the clock was set in between. Slewing (500 ppm) makes 125 µs of
    // 250 ms.
    static constexpr std::int64_t kStepNs = 1'000'000;

    struct Pair {
        std::uint64_t ours;
        std::int64_t offset;  // theirs - ours
    };
    const Pair& pair(unsigned age) const noexcept { return pairs_[(next_ + kPairs - 1 - age) % kPairs]; }
    bool between(const Pair& older, const Pair& newer, std::uint64_t theirs, std::uint64_t& ours) const noexcept;

    Pair pairs_[kPairs] = {};
    unsigned next_ = 0;
    unsigned count_ = 0;
};

}  // namespace pincheck::cupti
