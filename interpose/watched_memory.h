// The ranges of memory that were made known to be watched, disjoint and in order of address, and which pages of a range
// no other one has. Plain data. Callers lock. At most kMaxRanges, mapped once.
#pragma once

#include <cstdint>

#include "kernel_page_watch.h"
#include "memory.h"

namespace pincheck {

enum class MemoryState : std::uint8_t {
    registered,      // writes into it are found by the kernel
    plain,           // the kernel's help is not there
    capped,          // more registrations would take too many of the process's mappings
    busy,            // the program's own userfaultfd has it
    refused,         // memory of a kind that cannot be protected page by page
    write_combined,  // rights can be taken from its pages (mprotect); the kernel does not find writes into it
};

struct MemoryRange {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    MemoryState state{};
};

class WatchedMemory {
  public:
    static constexpr std::uint32_t kMaxRanges = 32768;

    WatchedMemory() = default;
    WatchedMemory(const WatchedMemory&) = delete;
    WatchedMemory& operator=(const WatchedMemory&) = delete;
    ~WatchedMemory() { unmap_memory(ranges_, kMaxRanges * sizeof(MemoryRange)); }

    // Must not overlap one that is there. False: no room.
    bool insert(const MemoryRange& range) noexcept;
    void erase(const MemoryRange* range) noexcept;
    // The first range that has a byte of [begin, end); null: none.
    MemoryRange* overlapping(std::uintptr_t begin, std::uintptr_t end) const noexcept;

    // The pages of `range`, less those that a registered neighbour shares with it. `begin >= end`: none.
    struct Pages {
        std::uintptr_t begin;
        std::uintptr_t end;
    };
    Pages own_pages(const MemoryRange& range) const noexcept;

    std::uint32_t size() const noexcept { return count_; }
    template <class F>
    void for_each(F&& visit) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            visit(ranges_[i]);
        }
    }

  private:
    // Index of the first range that ends behind `address`.
    std::uint32_t first_behind(std::uintptr_t address) const noexcept;

    MemoryRange* ranges_ = nullptr;
    std::uint32_t count_ = 0;
};

}  // namespace pincheck
