// What is kept of a stream, of a context, and of the order between streams. The parts of streams.h that others do not
// look into.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "chunk_array.h"
#include "report/mutex.h"
#include "report/records.h"

namespace pincheck {

// A place in a stream: everything up to `sequence`. For the legacy default stream also everything that was issued to
// the context's blocking streams before its action number `epoch` began.
struct StreamPlace {
    std::uint32_t stream;  // number of the stream; 0: nowhere, and the rest says nothing
    std::uint32_t slot;    // where it is kept
    std::uint64_t sequence;
    std::uint64_t epoch;
};

// What an operation is ordered behind: its stream's earlier work, and, in a blocking stream, the legacy stream's.
struct StreamPoint {
    StreamPlace own;
    StreamPlace legacy;
};

enum class EdgeKind : std::uint8_t {
    join,    // operation `sequence` waits for `target`
    legacy,  // the same, because `target` is in the legacy stream; and from operation `from` on, `epoch` of its actions
             // had begun
    gate,    // operation `sequence` may be waiting for the host
};

// One reason why an operation of a stream waits, in that stream's queue.
struct OrderEdge {
    std::uint32_t next = 0;  // index in the pool
    std::uint32_t index = 0;
    EdgeKind kind{};
    bool opened = false;          // gate: it is known to have run
    std::uint16_t operation = 0;  // 1: stands for an operation that is no work (see Pending::items)
    StreamPlace target{};
    std::uint64_t sequence = 0;
    std::uint64_t from = 0;
    std::uint64_t epoch = 0;
    std::uint64_t gate = 0;
};

// Where an operation came from, in one word: the site, and the low half of the operation's sequence number.
struct NamedWork {
    static constexpr std::uint64_t of(std::uint32_t site, std::uint64_t sequence) noexcept {
        return std::uint64_t{site} << 32 | static_cast<std::uint32_t>(sequence);
    }
    // The site, where the operation is one of those after `complete`, up to `issued`; else 0.
    static constexpr std::uint32_t site_within(std::uint64_t word, std::uint64_t complete,
                                               std::uint64_t issued) noexcept {
        const auto behind_complete = static_cast<std::uint32_t>(word) - static_cast<std::uint32_t>(complete);
        return behind_complete - 1 < issued - complete ? static_cast<std::uint32_t>(word >> 32) : 0;
    }
};

struct ContextEntry;

// Entries are never unmapped, so that one may be read without a lock; `number` tells which life it is in.
struct alignas(64) StreamEntry {
    // What every operation changes, apart from what it only looks at: threads that share a stream pass it around.
    std::atomic<std::uint64_t> issued{0};
    std::atomic<std::uint64_t> named_work{0};  // NamedWork, of the newest

    // What every operation looks at.
    alignas(64) std::atomic<std::uint64_t> complete{0};
    std::atomic<ContextEntry*> context{nullptr};
    // ContextEntry::legacy_changes when an operation looked at the legacy stream last: as long as that is so, another
    // has nothing to do with it.
    std::atomic<std::uint64_t> seen_changes{0};
    std::atomic<std::uint32_t> number{0};            // 0: free
    std::atomic<std::uint32_t> listed{0};            // in the context's list of streams with work
    std::atomic<std::uint32_t> report_id{0};         // StreamRecord; 0: it has none yet
    std::atomic<std::uint32_t> other_operations{0};  // no work, and not known complete
    std::uint32_t slot = 0;
    std::atomic<report::StreamKind> kind{};
    std::atomic<bool> non_blocking{false};
    std::atomic<bool> maybe_gated{false};

    alignas(64) Mutex mutex;  // what follows, up to the keys; after the context's where both are held
    std::uint32_t first_edge = 0;
    std::uint32_t last_edge = 0;
    std::atomic<std::uint32_t> edges{0};
    std::uint32_t compact_at = 0;
    std::atomic<std::uint64_t> seen_ended{0};  // actions of the legacy stream that this stream's order has in it
    std::atomic<std::uint64_t> seen_begun{0};  // and that had begun when this stream was looked at last
    std::uint64_t base_epoch = 0;  // actions of the legacy stream begun when the operations before the first edge came
    std::uint64_t lost_gate = 0;   // a gate for which there was no edge
    bool retired = false;          // the handle is gone, work is left
    bool dead = false;             // the context is gone
    // The host's newest wait for an event of this stream that did not cover all of it: what the event stood for ended
    // here, and what had been issued by the time that the wait returned there.
    std::uint64_t early_event_from = 0;
    std::uint64_t early_event_to = 0;

    // Written under the table's mutex.
    std::atomic<std::uintptr_t> identity{0};
    std::atomic<std::uintptr_t> key_context{0};
    std::atomic<std::uint32_t> thread{0};
    std::atomic<std::uint32_t> site{0};
    std::atomic<StreamEntry*> next_in_bucket{nullptr};
    StreamEntry* next_free = nullptr;

    // Under the context's mutex.
    StreamEntry* next_listed = nullptr;
    StreamEntry* previous_listed = nullptr;

    bool is_non_blocking() const noexcept { return non_blocking.load(std::memory_order_relaxed); }
    ContextEntry& owner() const noexcept { return *context.load(std::memory_order_relaxed); }
    bool is_legacy() const noexcept {
        return kind.load(std::memory_order_relaxed) == report::StreamKind::legacy_default;
    }
};

struct ContextEntry {
    std::atomic<std::uintptr_t> handle{0};  // 0: free
    std::atomic<int> device{-1};
    std::atomic<std::uint32_t> number{0};  // in the order in which they were met
    Mutex mutex;
    StreamEntry* listed[2] = {nullptr, nullptr};    // streams that may have work: non-blocking ones, and the others
    std::atomic<std::uint32_t> listed_blocking{0};  // of the others, without the legacy stream
    std::atomic<StreamEntry*> legacy{nullptr};
    // Actions of the legacy stream: begun, and the newest whose call has returned.
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> legacy_changes{0};  // counts up after every change of these two
    std::atomic<std::uint64_t> complete_epoch{0};  // newest action whose past is known complete
    std::atomic<bool> maybe_gated{false};          // a blocking stream may be behind a gate
};

// Raises a mark that never goes back.
inline void raise(std::atomic<std::uint64_t>& mark, std::uint64_t value) noexcept {
    std::uint64_t now = mark.load(std::memory_order_relaxed);
    while (now < value && !mark.compare_exchange_weak(now, value)) {
    }
}

// Around an action of the legacy stream. Returns its number.
inline std::uint64_t begin_legacy_action(ContextEntry& context) noexcept {
    const std::uint64_t epoch = context.begun.fetch_add(1) + 1;
    context.legacy_changes.fetch_add(1);
    return epoch;
}
inline void end_legacy_action(ContextEntry& context, std::uint64_t epoch) noexcept {
    raise(context.ended, epoch);
    context.legacy_changes.fetch_add(1);
}

// Streams that are not in use, oldest first: what still names them has most time to go.
class SlotQueue {
  public:
    void put(StreamEntry& entry) noexcept {
        entry.next_free = nullptr;
        (last_ != nullptr ? last_->next_free : first_) = &entry;
        last_ = &entry;
    }
    StreamEntry* take() noexcept {
        StreamEntry* entry = first_;
        if (entry != nullptr) {
            first_ = entry->next_free;
            last_ = first_ != nullptr ? last_ : nullptr;
        }
        return entry;
    }

  private:
    StreamEntry* first_ = nullptr;
    StreamEntry* last_ = nullptr;
};

}  // namespace pincheck
