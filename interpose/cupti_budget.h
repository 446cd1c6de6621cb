// How much of the time CUPTI may record. Its cost is counted, window by window; where it is more than the budget only
// one window in so many is recorded. Pure.
#pragma once

#include <cstdint>

namespace pincheck::cupti {

class Budget {
  public:
    static constexpr std::uint64_t kWindowNs = 250'000'000;
    static constexpr std::uint64_t kPermille = 20;  // 2 % of the time
    // Once a minute at least.
    static constexpr std::uint64_t kMostWindows = 240;

    // What a recorded copy, memset or kernel costs the program: CUPTI's callback and its record (measured: H200, CUPTI
    // 13.0: 0.9 to 2 µs a copy with both; a kernel's record 1.7 µs).
    static constexpr std::uint64_t kCopyNs = 1'200;
    static constexpr std::uint64_t kKernelNs = 1'700;

    // A recorded window is over: what it cost, and how long it was.
    void recorded(std::uint64_t cost_ns, std::uint64_t wall_ns) noexcept {
        const std::uint64_t allowed = wall_ns * kPermille / 1000;
        const std::uint64_t wanted = allowed == 0 || cost_ns <= allowed ? 1 : (cost_ns + allowed - 1) / allowed;
        every_ = wanted < kMostWindows ? wanted : kMostWindows;
        skipped_ = 0;
    }
    // A window that was not recorded is over.
    void skipped() noexcept { ++skipped_; }

    bool record_next() const noexcept { return skipped_ + 1 >= every_; }
    // One window in so many.
    std::uint64_t every() const noexcept { return every_; }

  private:
    std::uint64_t every_ = 1;
    std::uint64_t skipped_ = 0;
};

}  // namespace pincheck::cupti
