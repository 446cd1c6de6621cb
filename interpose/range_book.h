// Which ranges of memory copies in flight use: looked up by overlap, forgotten once the copy is known complete.
//
// A range is kept at the level of its size (the smallest power of two that is not smaller), in the cell of that size in
// which it begins; so it reaches into one more cell at most, and looking for what overlaps a range means a few cells a
// level that is in use. A level with fewer ranges than the look would need cells is gone through instead. What a look
// costs therefore does not depend on how many ranges are in flight elsewhere, nor on how large they are.
//
// Uses of one range by one stream, in one way, are one entry that the newest takes over: they run in order.
//
// Thread rules: every member from any thread; one lock, held for no call but Streams::is_known_complete(). renew()
// takes none. errno may change (memory is mapped as the table grows).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>  // lock_guard

#include "report/mutex.h"
#include "stream_entry.h"
#include "streams.h"

namespace pincheck {

enum UseFlags : std::uint8_t {
    kUseWrites = 1u << 0,    // the copy writes the range; otherwise it reads it
    kUseOnDevice = 1u << 1,  // device memory
    kUseGaps = 1u << 2,      // only part of the range (rows)
    kUsePageable = 1u << 3,  // host memory that the driver stages: not used after the call returned
    kUseAnyOrder = 1u << 4,  // read at any time, even before earlier work of the stream (batch copies)
    kUseInGraph = 1u << 5,   // by the launch of a graph
};

// How a copy in flight uses a range. Of one entry the newest use counts; `first` of a run that nobody waited for.
struct RangeUse {
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
    Ticket ticket;
    std::uint32_t site = 0;
    std::uint32_t pin_site = 0;  // 0: not page-locked, or not known
    std::uint32_t thread = 0;    // report's
    std::uint64_t call_ns = 0;   // when the call began that made the copy; 0: not known, or it made several
    std::uint8_t flags = 0;      // UseFlags
    bool consumed = false;       // a later copy, ordered behind this one, read what it wrote
    std::uint64_t content = 0;   // hash of samples of a pageable source when it was copied; 0: not taken

    bool writes() const noexcept { return (flags & kUseWrites) != 0; }
    bool is_on_device() const noexcept { return (flags & kUseOnDevice) != 0; }
    // The same range, stream and way.
    bool is_like(const RangeUse& other) const noexcept {
        return address == other.address && bytes == other.bytes && flags == other.flags &&
               ticket.stream == other.ticket.stream;
    }
};

// One entry, for RangeBook::renew(): whoever added it last may add the same again (range, stream, way and site) without
// a lock, as long as nothing else overlaps it.
struct RangeEntry;
struct KnownUse {
    RangeEntry* entry = nullptr;  // null: none
    std::uint64_t word = 0;       // of the entry when it was added
};

struct RangeEntry {
    std::atomic<std::uint64_t> word{0};  // which life of the entry, and the sequence number of its ticket
    std::atomic<bool> alone{false};      // nothing overlaps it that writes, or that it writes
    bool used = false;
    std::uint8_t level = 0;
    std::uint32_t index = 0;
    std::uint32_t next_in_bucket = 0;
    std::uint32_t next_in_level = 0;
    std::uint32_t previous_in_level = 0;
    RangeUse use;  // as it was added; renewed since, where its ticket's sequence number is not the one in `word`
};

class RangeBook {
  public:
    static constexpr std::uint32_t kMaxRanges = 32768;
    static constexpr std::uint32_t kMaxFound = 32;

    explicit RangeBook(const Streams& streams) noexcept : streams_(streams) {}
    ~RangeBook();
    RangeBook(const RangeBook&) = delete;
    RangeBook& operator=(const RangeBook&) = delete;

    // What was found to overlap a range, not known complete. More than there is room for are left out, but for the use
    // of the same range, stream and way.
    struct Found {
        std::uint32_t count = 0;
        bool all = true;
        RangeUse uses[kMaxFound];
    };

    // Adds a use, and says what is in flight there: of the same range, stream and way too, as it was before.
    void add(const RangeUse& use, Found& found, KnownUse& known) noexcept;
    // The same where nothing else overlaps the entry: true, and it has the new ticket.
    __attribute__((always_inline)) static bool renew(KnownUse& known, std::uint64_t sequence) noexcept {
        RangeEntry& entry = *known.entry;
        const std::uint64_t word = (known.word & ~kSequenceMask) | sequence;
        if (!entry.alone.load(std::memory_order_acquire) ||
            !entry.word.compare_exchange_strong(known.word, word, std::memory_order_acq_rel)) {
            return false;
        }
        known.word = word;
        return true;
    }
    static constexpr std::uint64_t sequence_of(const KnownUse& known) noexcept { return known.word & kSequenceMask; }
    void find(std::uintptr_t address, std::uint64_t bytes, Found& found) noexcept;
    // The use is not asked about any more: what it wrote was read in order.
    void set_consumed(const RangeUse& use) noexcept;
    // Forgets all that overlaps the range.
    void forget(std::uintptr_t address, std::uint64_t bytes) noexcept;
    void forget_all() noexcept { forget(0, UINT64_MAX); }
    // All that is not known complete, one after the other: call with `next` 0 first, until it is 0 again. What is added
    // meanwhile may be left out.
    bool next(std::uint32_t& next, RangeUse& use) noexcept;
    // The same of what overlaps a range.
    bool next_in(std::uintptr_t address, std::uint64_t bytes, std::uint32_t& next, RangeUse& use) noexcept;
    template <class F>
    void forget_if(F&& is_one) noexcept {
        const std::lock_guard lock(mutex_);
        for (std::uint32_t index = 1; index <= entries_.used(); ++index) {
            Entry& entry = entries_.at(index);
            if (entry.used && is_one(use_of(entry))) {
                remove(entry);
            }
        }
    }

    std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  private:
    static constexpr unsigned kLowestLevel = 12;  // 4 KiB
    static constexpr unsigned kLevels = 64 - kLowestLevel;
    static constexpr std::size_t kBuckets = 8192;
    // Which life of an entry, and the sequence number of its ticket, in one word.
    static constexpr unsigned kSequenceBits = 48;
    static constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << kSequenceBits) - 1;
    static constexpr std::uint64_t word_of(std::uint64_t life, std::uint64_t sequence) noexcept {
        return life << kSequenceBits | (sequence & kSequenceMask);
    }

    using Entry = RangeEntry;

    static unsigned level_of(std::uint64_t bytes) noexcept;
    std::uint32_t& bucket(unsigned level, std::uintptr_t cell) noexcept;
    static RangeUse use_of(const Entry& entry) noexcept;
    bool is_over(const Entry& entry) const noexcept;
    static void note(Found& found, const Entry& entry, bool is_same) noexcept;
    template <class F>
    void each_overlapping(std::uintptr_t address, std::uint64_t bytes, F&& look) noexcept;
    template <class F>
    void each_in_bucket(std::uint32_t& head, std::uintptr_t address, std::uint64_t bytes, F&& look) noexcept;
    Entry* fresh() noexcept;
    void insert(Entry& entry) noexcept;
    void remove(Entry& entry) noexcept;
    void sweep() noexcept;

    const Streams& streams_;
    Mutex mutex_;
    ChunkArray<Entry, 256, kMaxRanges> entries_;
    std::uint32_t* buckets_ = nullptr;
    std::uint32_t first_in_level_[kLevels] = {};
    std::uint32_t count_in_level_[kLevels] = {};
    std::uint64_t levels_ = 0;  // bit per level that has entries
    std::uint32_t free_ = 0;
    std::uint32_t swept_at_ = 0;
    std::atomic<std::uint64_t> lost_{0};
};

}  // namespace pincheck
