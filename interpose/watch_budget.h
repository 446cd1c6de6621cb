// Which copies are watched, where watching all of them would cost too much. Pure: the caller brings the time.
//
// by_cost, for looking: what watching costs (time in arm() and retire(), and the page faults of the program's own
// writes into protected pages) stays under a share of the time that has passed. A site's first calls are watched as
// long as the whole share is not used up; later ones only out of half of it, every site's the same fraction, so that a
// site which is called all the time leaves room for the others. The fraction follows the cost of the last window.
//
// by_count, for gates: a site's first 8 calls, then calls 16, 32, 64, ... Never by time: the same run on a slow and on
// a fast machine watches the same calls.
//
// all: every call.
//
// Any thread. A few relaxed operations a call; figures of threads that meet may be off by one call.
#pragma once

#include <atomic>
#include <cstdint>

namespace pincheck {

// Of one call site, zero at first.
struct WatchSite {
    std::atomic<std::uint64_t> calls{0};
};

class WatchBudget {
  public:
    enum class Policy : std::uint8_t { by_cost, by_count, all };

    static constexpr std::uint64_t kFirstCalls = 8;
    static constexpr std::uint64_t kDefaultPermille = 20;  // 2 % of the time
    // Free of charge, so that a short program is watched at all.
    static constexpr std::uint64_t kStartNs = 5'000'000;
    static constexpr std::uint64_t kWindowNs = 100'000'000;
    static constexpr std::uint64_t kMostEvery = std::uint64_t{1} << 20;
    // The first store into a protected page (measured: Linux 6.18, 0.8 to 1.2 us).
    static constexpr std::uint64_t kFaultNs = 1'000;

    WatchBudget(Policy policy, std::uint64_t start_ns, std::uint64_t permille = kDefaultPermille) noexcept
        : policy_(policy), permille_(permille), start_ns_(start_ns), window_start_ns_(start_ns) {}

    // Counts a call of the site; true: watch this one.
    bool wants(WatchSite& site, std::uint64_t now_ns) noexcept;
    // A watched copy cost this much so far.
    void spent(std::uint64_t ns, std::uint64_t faulted_pages) noexcept;

    std::uint64_t spent_ns() const noexcept { return spent_ns_.load(std::memory_order_relaxed); }
    // About one call in so many, past a site's first ones.
    std::uint64_t every() const noexcept { return every_.load(std::memory_order_relaxed); }

    static constexpr bool is_watched_by_count(std::uint64_t call) noexcept {
        return call <= kFirstCalls || (call & (call - 1)) == 0;
    }

  private:
    // Of the time since `since`, in all or the part for calls after a site's first ones.
    std::uint64_t allowed(std::uint64_t since, std::uint64_t now_ns, bool first_calls) const noexcept;
    void end_window(std::uint64_t now_ns) noexcept;

    const Policy policy_;
    const std::uint64_t permille_;
    const std::uint64_t start_ns_;
    std::atomic<std::uint64_t> spent_ns_{0};
    std::atomic<std::uint64_t> every_{1};
    std::atomic<std::uint64_t> window_start_ns_;
    std::atomic<std::uint64_t> window_granted_{0};
    std::atomic<std::uint64_t> window_denied_{0};    // for want of room
    std::atomic<std::uint64_t> window_spent_ns_{0};  // spent_ns_ when the window began
};

}  // namespace pincheck
