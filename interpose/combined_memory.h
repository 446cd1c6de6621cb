// Page-locked memory that the program requested write-combined, and when reads of it by the host are looked for
// (option races=trap): from the moment on that it was allocated, and after the first copies from or to it, then after
// copies 16, 32, 64, ...: by count, never by time. A sample lasts until the next one of the same memory, until it has
// caught what it may (read_sample.h), or until the memory goes. Where more than kMostArmed are under way, the oldest
// ends.
//
// Thread rules: any thread. One lock, held over the trap's. errno may change. No heap.
#pragma once

#include <cstdint>

#include "access_trap.h"
#include "report/mutex.h"
#include "write_watch.h"

namespace pincheck {

class CombinedMemory {
  public:
    static constexpr std::uint32_t kMostRanges = 4096;
    static constexpr std::uint32_t kMostArmed = 64;

    // `may_arm`: asked before each sample; null: always.
    explicit CombinedMemory(AccessTrap& trap, bool (*may_arm)() noexcept = nullptr) noexcept
        : trap_(trap), may_arm_(may_arm) {}
    CombinedMemory(const CombinedMemory&) = delete;
    CombinedMemory& operator=(const CombinedMemory&) = delete;
    ~CombinedMemory();

    // `now`: the first sample may be taken.
    void made(std::uintptr_t address, std::uint64_t bytes, std::uint32_t pin_site, bool now = true) noexcept;
    // Before the memory is released.
    void goes(std::uintptr_t address) noexcept;
    // After a copy from or to `address`.
    void used(std::uintptr_t address) noexcept;
    // Memory may be about to go without its release being seen, or the process ends.
    void end_all() noexcept;

    struct Counts {
        std::uint64_t allocations = 0;
        std::uint64_t sampled = 0;  // of these, at least once
        std::uint64_t samples = 0;
        std::uint64_t faults = 0;  // that they took, stores too
    };
    Counts counts() const noexcept;

  private:
    struct Range {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::uint32_t pin_site;
        bool sampled;
        std::uint64_t uses;
        std::uint64_t armed_as;  // number of the sample
        WatchTicket sample;      // empty: none
    };

    // Index of the first range that ends behind `address`.
    std::uint32_t first_behind(std::uintptr_t address) const noexcept;
    void erase(std::uint32_t index) noexcept;
    void arm(Range& range, std::uintptr_t near) noexcept;
    void end(Range& range) noexcept;

    AccessTrap& trap_;
    bool (*const may_arm_)() noexcept;
    mutable Mutex mutex_;
    Range* ranges_ = nullptr;  // by address
    std::uint32_t count_ = 0;
    std::uint32_t armed_ = 0;
    std::uint64_t allocations_ = 0;
    std::uint64_t sampled_ = 0;
    std::uint64_t samples_ = 0;
};

}  // namespace pincheck
