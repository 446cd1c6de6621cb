// Copies whose ranges are used again before the host knows that they are complete, as far as the order of calls shows
// it (option races, level order): what is looked for, and the slots of what was found.
//
// Whoever follows the driver's calls (hook_stream.h) says what each copy uses; whoever releases memory says so before
// the real call. Nothing here calls CUDA.
//
// Thread rules: every member from any thread. errno is kept.
#pragma once

#include <atomic>
#include <cstdint>

#include "hash_table.h"
#include "later_looks.h"
#include "race_rules.h"
#include "range_book.h"
#include "report/image.h"
#include "report/mutex.h"
#include "staged_sources.h"
#include "streams.h"

namespace pincheck {

// What a copy or fill uses, as its call said it. `bytes` 0: nothing that is followed.
struct CopyRanges {
    std::uintptr_t destination = 0;
    std::uintptr_t source = 0;
    std::uint64_t bytes = 0;             // moved
    std::uint64_t call_ns = 0;           // as RangeUse has it
    std::uint64_t destination_span = 0;  // with gaps; 0: `bytes`
    std::uint64_t source_span = 0;
    std::uint32_t site = 0;
    std::uint32_t pin_site = 0;  // that page-locked the host's side; 0: none, or not known
    report::MemoryClass destination_is{};
    report::MemoryClass source_is{};
    report::SourceOrder order{};
    bool is_batch = false;
    bool in_graph = false;
};

// One found race. `copy` was in flight; the rest is the other party.
struct FoundRace {
    report::RaceRule rule{};
    report::RaceLevel level = report::RaceLevel::order;
    std::uint16_t flags = 0;  // report::RaceFlags
    RangeUse copy;
    std::uint32_t other_site = 0;
    std::uint32_t other_thread = 0;
    std::uint32_t other_stream = 0;  // StreamRecord id
    std::uint32_t wait_site = 0;
    std::uint32_t after_site = 0;
    std::uint32_t before_site = 0;
    std::uint32_t call = 0;   // string id
    std::uint64_t begin = 0;  // of the part that both use, in the copy's range
    std::uint64_t end = 0;
    std::uint64_t graph_launches = 0;
    // The other party, where it is a copy: when its call began. Else: when it used the memory, not before and not
    // after. 0: not known.
    std::uint64_t other_call_ns = 0;
    std::uint64_t access_begin_ns = 0;
    std::uint64_t access_end_ns = 0;
};

// What a call that makes many copies uses.
struct BatchRanges {
    static constexpr std::uint32_t kMax = 64;
    std::uint32_t count = 0;
    CopyRanges ranges[kMax];
};

// A copy that a thread made lately between two page-locked or device ranges, and its entries: a copy like it needs no
// more than a look at them.
struct KnownPair {
    std::uintptr_t destination = 0;
    std::uintptr_t source = 0;
    std::uint64_t bytes = 0;
    const report::CounterSlot* counters = nullptr;  // of its site
    std::uint32_t stream = 0;
    bool downloads = false;  // to the host
    KnownUse read;
    KnownUse written;
};

// What a thread remembers of its own last copies (of the shard; only the owning thread touches it).
struct KnownUses {
    static constexpr std::uint32_t kMany = 64;
    KnownPair pairs[kMany];
    RangeBook::Found found;

    KnownPair& pair(std::uintptr_t destination, std::uintptr_t source) noexcept {
        return pairs[((destination ^ destination >> 12 ^ source >> 6) * 0x9e3779b97f4a7c15ull) >> 58];
    }
};
static_assert(KnownUses::kMany == 64);

class Races {
  public:
    Races(report::Image& image, Streams& streams) noexcept : image_(image), streams_(streams), book_(streams) {}
    Races(const Races&) = delete;
    Races& operator=(const Races&) = delete;

    // The same copy as `pair` went into its stream again. True: that is all; false: copied() has to be told.
    __attribute__((always_inline)) bool copied_again(KnownPair& pair, const Ticket& ticket) noexcept {
        if (pair.downloads && !streams_.is_known_complete({pair.stream, ticket.slot, sequence_of(pair.written), 0})) {
            return false;  // the result before this one was not awaited
        }
        return (pair.read.entry == nullptr || RangeBook::renew(pair.read, ticket.sequence)) &&
               (pair.written.entry == nullptr || RangeBook::renew(pair.written, ticket.sequence));
    }
    // A copy went into a stream: `operation` and `ticket` are the driver call's, `thread` the report's number.
    // A synchronous one too, before it is noted as complete.
    // `pair` becomes what copied_again() may be asked for; null: it is not wanted.
    void copied(KnownUses& known, KnownPair* pair, std::uint32_t thread, const Operation& operation,
                const Ticket& ticket, const CopyRanges& ranges) noexcept;

    // Before page-locked memory is released (its uses are forgotten), and after it was. More uses than there is room
    // for are counted as lost.
    void look_at_release(std::uintptr_t address, std::uint64_t bytes, RangeBook::Found& uses) noexcept;
    void released(const RangeBook::Found& uses, std::uint32_t site, std::uint32_t thread) noexcept;
    // Device memory was freed, which waits for the device: what used device memory is past. Or one range came to be,
    // behind whatever used it before.
    void device_memory_freed() noexcept;
    void device_range_made(std::uintptr_t address, std::uint64_t bytes) noexcept { book_.forget(address, bytes); }
    // The process ends, or contexts do (`context` and `device`: of which; 0 and -1: any): nobody will wait for what is
    // in flight.
    void ended(std::uintptr_t context, int device) noexcept;

    // Nothing may be read through the kernel (a seccomp filter): host functions are not looked behind.
    void read_nothing() noexcept { reads_.store(false, std::memory_order_relaxed); }
    // A host function that was put in by that operation has returned. Makes no CUDA call.
    void host_function_ended(const Operation& operation, std::uint32_t thread) noexcept;

    // From now on streams of this process signal through memory.
    void set_signals() noexcept {
        if (!signals_.load(std::memory_order_relaxed)) {
            signals_.store(true, std::memory_order_relaxed);
        }
    }

    // From now on kernels may tell the host through a flag in page-locked memory what is complete.
    void set_flags() noexcept { flags_.store(true, std::memory_order_relaxed); }

    void add(const FoundRace& found) noexcept;
    // The host may have learned of the copy's completion in ways that are not seen: through memory.
    bool may_be_awaited(const RangeUse& copy) const noexcept;
    // Of races whose time is known, for whoever learns when the copies ended.
    LaterLooks<TimedAccess>& accesses() noexcept { return accesses_; }
    std::uint64_t lost_ranges() const noexcept { return book_.lost(); }

  private:
    static std::uint64_t sequence_of(const KnownUse& known) noexcept { return RangeBook::sequence_of(known); }
    // `raced`: set where a race was found.
    KnownUse use(RangeBook::Found& found, const Operation& operation, const RangeUse& use, bool& raced) noexcept;
    void look_at_gate(const RangeUse& use) noexcept;
    void look_at_order(const RangeUse& use, const Operation& operation) noexcept;
    bool judge_all(const RangeBook::Found& found, const Operation& operation, const RangeUse& later) noexcept;
    bool judge_one(const RangeUse& earlier, const Operation& operation, const RangeUse& later) noexcept;
    Order order_of(const RangeUse& earlier, const Operation& operation, const RangeUse& later) noexcept;
    bool waited_for_early_event(const FoundRace& race) noexcept;
    std::uint32_t stream_id(const Ticket& ticket) const noexcept;
    report::RaceSlot* slot_of(const FoundRace& race) noexcept;

    report::Image& image_;
    Streams& streams_;
    RangeBook book_;
    StagedSources staged_;
    LaterLooks<TimedAccess> accesses_;
    std::atomic<bool> reads_{true};
    std::atomic<bool> signals_{false};
    std::atomic<bool> flags_{false};
    Mutex mutex_;  // of what follows
    HashTable<report::RaceSlot*> slots_;
};

}  // namespace pincheck
