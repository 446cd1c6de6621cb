// The page-locked ranges that the program made, by start address: what it asked for and where. The driver says *that* a
// pointer is page-locked and where its range starts (exact, also for unaligned registrations; measured: H200, driver
// 580.159.04); this map adds what queries cannot tell.
//
// Lookups take no lock (a sequence counter; a reader that keeps meeting writers takes the mutex). Writers take the
// mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>  // lock_guard

#include "report/mutex.h"
#include "report/slots.h"

namespace pincheck {

struct PinnedRange {
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
    report::RangeKind kind = report::RangeKind::pinned;
    std::uint16_t memory_flags = 0;  // report::MemoryFlags
    std::uint32_t site = 0;
    report::RangeSlot* slot = nullptr;
};

class PinnedMap {
  public:
    PinnedMap() = default;
    ~PinnedMap();
    PinnedMap(const PinnedMap&) = delete;
    PinnedMap& operator=(const PinnedMap&) = delete;

    // Replaces an entry with the same address (its release was not seen). False when memory is refused.
    bool insert(const PinnedRange& range) noexcept;
    // Takes the entry out and returns it in `range`; false when there is none.
    bool remove(std::uintptr_t address, PinnedRange& range) noexcept;
    // By start address.
    bool find(std::uintptr_t address, PinnedRange& range) const noexcept;
    // By any address in the range: a scan, for the rare times when the driver may not be asked.
    bool find_containing(std::uintptr_t address, PinnedRange& range) const noexcept;

    // Even, and another one after every change: what find() said holds as long as this stays the same.
    std::uint32_t version() const noexcept { return sequence_.load(std::memory_order_acquire); }

    std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

  private:
    struct Entry {
        std::atomic<std::uintptr_t> address;
        std::atomic<std::uint64_t> bytes;
        std::atomic<std::uint64_t> what;  // kind, flags, site
        std::atomic<report::RangeSlot*> slot;
    };
    struct Table {
        std::size_t bytes;  // of this mapping
        std::size_t capacity;
        Table* previous;  // outgrown; readers may still be in it, so it stays mapped
        Entry* entries() noexcept { return reinterpret_cast<Entry*>(this + 1); }
    };

    static void load(const Entry& entry, PinnedRange& range) noexcept;
    static void save(Entry& entry, const PinnedRange& range) noexcept;
    static std::size_t home(const Table& table, std::uintptr_t address) noexcept;
    static Table* make_table(std::size_t capacity) noexcept;
    bool grow() noexcept;
    template <class F>
    bool read(F&& look) const noexcept;

    mutable Mutex mutex_;
    mutable std::atomic<std::uint32_t> sequence_{0};  // odd while a writer changes entries
    std::atomic<Table*> table_{nullptr};
    std::atomic<std::size_t> count_{0};
};

}  // namespace pincheck
