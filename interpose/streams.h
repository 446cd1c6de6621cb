// Work in streams: what was issued, in which order it runs, and what of it the host knows to be complete.
//
// Pure: no CUDA call, no heap; handles are numbers. Time is not looked at, only order: the answers are the same on a
// slow and on a fast device.
//
// A stream counts the operations that are put into it (its sequence numbers) and has one mark up to which they are
// known complete: they run in order, so one mark is enough. Edges between streams (an event waited for, the legacy
// default stream) are kept in a queue of the stream that waits, and followed only when the host learns that the waiting
// operation is complete; each is followed once. An operation therefore costs the same with ten streams and with ten
// thousand. What a host's wait costs is proportional to what it completes.
//
// A call goes through two steps, because calls of several threads overlap: begin() (or look(), begin_record(), ...)
// before the real call, and after it, where it succeeded, what came of it: issued(), recorded(), waited(), learned().
// An operation counts as issued from the moment its call has returned: only then is it sure that a wait which begins
// now covers it. So a wait completes what was issued before the wait *began*, and never what another thread was issuing
// meanwhile. Order between host threads is not modelled: what one thread has learned, the process knows.
//
// Where the tables are full, knowledge is lost, never invented: an operation stays "not known complete" longer than it
// had to. losses() counts it. The caps are kMaxStreams, kMaxContexts, kMaxEvents, kMaxEdges.
//
// Thread rules: every member may be called from any thread at any time. errno may change (memory is mapped as tables
// grow).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "event_book.h"
#include "report/records.h"
#include "stream_entry.h"

namespace pincheck {

// A stream of one life: a handle that was destroyed and made again is another stream. Null: a stream nobody saw.
struct StreamRef {
    StreamEntry* entry = nullptr;
    std::uint32_t number = 0;
    explicit operator bool() const noexcept { return entry != nullptr; }
};

// One piece of issued work. Never reused. The empty ticket is work that was complete when its call returned.
struct Ticket {
    std::uint32_t stream = 0;  // StreamInfo::number
    std::uint32_t slot = 0;    // where the stream is kept
    std::uint64_t sequence = 0;
    std::uint64_t epoch = 0;  // which action of the legacy stream it was; 0 elsewhere
    explicit operator bool() const noexcept { return stream != 0; }
};

struct StreamInfo {
    std::uint32_t number = 0;  // from 1, in the order in which the tool met the streams: the same for the whole report
    std::uint32_t site = 0;    // that created it; 0: a default stream, or not seen
    report::StreamKind kind{};
    bool non_blocking = false;
    std::uintptr_t handle = 0;  // 1 and 2: the legacy and a thread's default stream
    std::uintptr_t context = 0;
    std::uint32_t context_number = 0;  // from 1, in the order in which they were met
    int device = -1;
};

// A call that puts something into a stream, or waits for one, from before the real call on.
struct Operation {
    StreamEntry* entry =
        nullptr;  // null: of a stream nobody saw; everything below ignores it, and the rest says nothing
    std::uint32_t number;
    std::uint64_t legacy_changes;  // of the context, of a blocking stream
    std::uint64_t legacy_ended;
    StreamPoint before;
};

// What a call that is about to wait for a stream would find there.
struct Pending {
    bool work = false;         // something in the stream is not known complete
    bool behind = false;       // something else that the next operation of the stream is ordered behind is not: for the
                               // legacy stream work in blocking streams, for those the legacy stream's
    std::uint32_t items = 0;   // copies, fills and launches issued since the stream was last known complete
    Ticket newest;             // of them
    std::uint32_t site = 0;    // of the newest work that has one (see name_work()); 0: none
    std::uint32_t stream = 0;  // report id of the stream that `newest` is in; 0: it has none
    // Of one stream that `behind` is about; of pending_then() one whose work is newer than this stream's.
    std::uint32_t behind_site = 0;
    std::uint32_t behind_stream = 0;
};

// What was pending in a stream at some moment, kept as cheaply as can be; see pending_then().
struct PendingThen {
    StreamEntry* entry = nullptr;  // null: of a stream nobody saw, and the rest says nothing
    std::uint32_t number = 0;
    std::uint32_t other_operations = 0;
    std::uint64_t issued = 0;
    std::uint64_t complete = 0;
    std::uint64_t named_work = 0;
    // Another stream with work that the call is behind and that was put in after everything in this stream: of the
    // legacy stream a blocking one, of a blocking one the legacy stream. Null: none.
    StreamEntry* behind = nullptr;
    std::uint32_t behind_site = 0;

    bool is_idle() const noexcept { return entry != nullptr && issued <= complete && behind == nullptr; }
};

// The stream that a thread used last. One a thread, passed to find().
struct LastStream {
    std::uintptr_t context = 0;
    std::uintptr_t identity = 0;
    std::uint64_t version = 0;
    StreamRef stream;
};

// The streams of a context at the moment a wait for all of them begins.
struct ContextWait {
    void* snapshot = nullptr;
};

class Streams {
  public:
    static constexpr std::uint32_t kMaxStreams = 32768;
    static constexpr std::uint32_t kMaxContexts = 64;
    static constexpr std::uint32_t kMaxEvents = EventBook::kMaxEvents;
    static constexpr std::uint32_t kMaxEdges = 65536;

    struct Losses {
        std::uint64_t streams = 0;  // not followed: no room
        std::uint64_t events = 0;   // records not remembered
        std::uint64_t edges = 0;    // not remembered, or remembered as later than they were
    };

    Streams() noexcept;
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    ~Streams();

    // ---- Streams and contexts

    // The stream behind a handle of a created stream, or the default stream of a context: identity 1 the legacy one, 2
    // the per-thread one of `thread`. `context` and `thread` matter for those only. Null where it was never added.
    StreamRef find(std::uintptr_t context, std::uintptr_t identity, std::uint32_t thread) const noexcept;
    StreamRef find(LastStream& last, std::uintptr_t context, std::uintptr_t identity,
                   std::uint32_t thread) const noexcept {
        if (last.context == context && is_last(last, identity)) {
            return last.stream;
        }
        return find_anew(last, context, identity, thread);
    }
    // The stream that the thread used last is the created one behind that handle (or the default stream of the context
    // that was current then), and still is.
    bool is_last(const LastStream& last, std::uintptr_t identity) const noexcept {
        return last.identity == identity && last.version == version_.load(std::memory_order_acquire);
    }
    // Adds a stream that came to be (identity > 2: replaces an older one of that handle, whose end was not seen), or
    // that is seen for the first time. Returns the one that is there already for a default stream.
    StreamRef add(std::uintptr_t context, int device, std::uintptr_t identity, std::uint32_t thread, bool non_blocking,
                  std::uint32_t site) noexcept;
    // The handle ends; its work goes on (CUDA Driver API, cuStreamDestroy: resources are released once the device has
    // completed all work) and is learned of through events and context waits. Call before the real call: another thread
    // may be given the same handle right after it.
    void stream_destroyed(std::uintptr_t handle) noexcept;
    // The thread's default streams end with it, in the same way.
    void thread_ended(std::uint32_t thread) noexcept;
    // Nothing of its work is ever learned any more.
    void context_destroyed(std::uintptr_t context) noexcept;
    // The device is reset: all its contexts are destroyed.
    void device_reset(int device) noexcept;
    StreamInfo info(StreamRef stream) const noexcept;
    // The id that a report knows the stream by: 0 until set. The first caller of claim_report() is told to make the
    // record.
    static bool is_reported(const Operation& operation) noexcept {
        return operation.entry->report_id.load(std::memory_order_relaxed) != 0;
    }
    static bool claim_report(StreamRef stream) noexcept;
    static std::uint32_t report_id(const StreamEntry& entry) noexcept;
    std::uint32_t report_id(const Ticket& ticket) const noexcept { return report_id(*at(ticket.slot)); }
    // Whether the work is of that context (0: any) and device (-1: any).
    bool is_in(const Ticket& ticket, std::uintptr_t context, int device) const noexcept;
    static void set_report_id(StreamRef stream, std::uint32_t id) noexcept;

    // ---- Putting operations into streams

    // Before the real call of anything that goes into a stream: work, event record, wait, host function, synchronous
    // copy. In the legacy stream this is an action (CUDA Driver API, "Stream synchronization behavior").
    __attribute__((always_inline)) void begin(StreamRef stream, Operation& operation) noexcept {
        StreamEntry* entry = stream.entry;
        start(stream, operation);
        if (entry != nullptr && !entry->is_non_blocking()) {
            operation.legacy_changes = entry->owner().legacy_changes.load(std::memory_order_acquire);
            if (operation.legacy_changes != entry->seen_changes.load(std::memory_order_acquire)) [[unlikely]] {
                begin_blocking(*entry, operation);
            }
        }
    }
    Operation begin(StreamRef stream) noexcept {
        Operation operation;
        begin(stream, operation);
        return operation;
    }
    // A copy, fill, launch or graph launch went in.
    __attribute__((always_inline)) Ticket issued(const Operation& operation) noexcept {
        StreamEntry* entry = operation.entry;
        if (entry == nullptr || entry->number.load(std::memory_order_relaxed) != operation.number) {
            return {};
        }
        if (!entry->is_non_blocking() && entry->owner().legacy_changes.load(std::memory_order_acquire) !=
                                             entry->seen_changes.load(std::memory_order_acquire)) [[unlikely]] {
            return issued_blocking(operation);
        }
        const std::uint64_t sequence = entry->issued.fetch_add(1) + 1;
        if (entry->listed.load() == 0) [[unlikely]] {
            list(*entry);
        }
        return {operation.number, entry->slot, sequence, 0};
    }
    // Something that may hold the stream until the host acts went in: a host function, a wait for a value or for an
    // external semaphore, a graph with such a node. Work behind it is not armed until it is known to have run.
    Ticket issued_gate(const Operation& operation, std::uint64_t gate = 0) noexcept;
    // A synchronous action that left nothing behind (a synchronous copy that is complete on return).
    void acted(const Operation& operation) noexcept;
    // The site of that work, which this thread has just put in there, for Pending::site.
    static void name_work(const Operation& operation, const Ticket& ticket, std::uint32_t site) noexcept {
        if (ticket) {
            operation.entry->named_work.store(NamedWork::of(site, ticket.sequence), std::memory_order_relaxed);
        }
    }

    // Names a gate that tells when it has run: a host function. gate_opened() when the function returned; before
    // issued_gate() it has no effect, so call it again after that when the function was faster.
    std::uint64_t new_gate() noexcept { return last_gate_.fetch_add(1, std::memory_order_relaxed) + 1; }
    void gate_opened(const Operation& operation, std::uint64_t gate) noexcept;

    // ---- Events

    void event_created(std::uintptr_t event) noexcept { events_.forget(event); }
    void event_destroyed(std::uintptr_t event) noexcept { events_.forget(event); }
    // Others record it too: another process (IPC), or a graph's node. Its completion tells nothing, and work that waits
    // for it is not armed.
    void event_is_foreign(std::uintptr_t event) noexcept { events_.set_foreign(event); }
    // Around cuEventRecord: begin() of the stream, begin_record(), the real call, end_record().
    EventUse begin_record(std::uintptr_t event) noexcept { return events_.begin_record(event); }
    void end_record(const EventUse& use, const Operation& operation, bool recorded) noexcept;
    // A record that became part of a capture: the event stands for nothing outside it.
    void recorded_in_capture(std::uintptr_t event) noexcept { events_.clear(event); }
    // Before a wait for the event, or a query.
    EventUse look(std::uintptr_t event) noexcept { return events_.look(event); }
    // The operation was a wait for the event, and succeeded.
    void waited(const Operation& operation, const EventUse& use) noexcept;

    // ---- What the host learns

    // Before a synchronisation or query of the stream.
    __attribute__((always_inline)) void begin_wait(StreamRef stream, Operation& operation) noexcept {
        start(stream, operation);
        // A wait for the legacy stream covers the blocking streams, as if it were an action there.
        if (stream.entry != nullptr && stream.entry->is_legacy()) [[unlikely]] {
            operation.before.own.epoch = begin_legacy_action(stream.entry->owner());
        }
    }
    Operation begin_wait(StreamRef stream) noexcept {
        Operation operation;
        begin_wait(stream, operation);
        return operation;
    }
    // Everything that was in the stream when the operation began is complete: a synchronisation or successful query, a
    // synchronous copy, the start of a host function.
    void learned(const Operation& operation) noexcept {
        const StreamEntry* entry = operation.entry;
        if (entry != nullptr && (entry->complete.load(std::memory_order_acquire) < operation.before.own.sequence ||
                                 (operation.before.own.epoch | operation.before.legacy.stream) != 0)) {
            learn_anew(operation);
        }
    }
    // The event's last record is complete: a synchronisation or successful query.
    void learned(const EventUse& use) noexcept;
    // After that, and after everybody who asks about work that is complete by it was told: see has_early_event().
    void note_event(const EventUse& use) noexcept;
    // Around cuCtxSynchronize. Exactly one of learned() and forget() follows.
    ContextWait begin_context_wait(std::uintptr_t context) noexcept;
    void learned(const ContextWait& wait) noexcept;
    void forget(const ContextWait& wait) noexcept;
    // The work itself is complete too: a synchronous copy that is on return. Of what other threads put in meanwhile it
    // tells nothing; where there was such, it waits for later: complete_place() is what the work's ranges go by.
    void completed(const Operation& operation, const Ticket& ticket) noexcept;
    // The work, or, where others put something in meanwhile, what was in the stream before: known complete after
    // learned(operation) and completed().
    static Ticket complete_place(const Operation& operation, const Ticket& ticket) noexcept {
        const std::uint64_t before = operation.before.own.sequence;
        return ticket && ticket.sequence != before + 1 ? Ticket{ticket.stream, ticket.slot, before, 0} : ticket;
    }

    // ---- Questions

    bool is_known_complete(const Ticket& ticket) const noexcept;
    // The host's newest wait for an event of the work's stream, that left some of it, returned after the work had been
    // issued; and the event had been recorded before that.
    bool has_early_event(const Ticket& ticket) noexcept;
    // False: the past of the work holds a gate that is not known to have run.
    bool is_armed(const Ticket& ticket) noexcept;
    // False: is_armed() is true. A cheap first look.
    bool may_be_gated(const Ticket& ticket) const noexcept { return at(ticket.slot)->maybe_gated.load(); }
    // Whether what is put into the stream next, behind what was pending there, would be armed as far as is known now.
    bool is_next_armed(const PendingThen& pending) noexcept;
    // Whether the operation comes after that work in whatever runs them: in one stream, through events, through the
    // legacy default stream; so that work in the legacy stream and in a blocking one are never beside each other. True
    // as well where the past of the operation is too wide to be searched, and for a stream that nobody saw.
    bool is_behind(const Operation& later, const Ticket& earlier) noexcept;
    // Something that is_behind() would have to know was forgotten: edges for which there was no room, order that went
    // through a context that is gone, events recorded and waited for at the same time.
    bool may_have_forgotten_order() const noexcept {
        return forgot_order_.load(std::memory_order_relaxed) || lost_edges_.load(std::memory_order_relaxed) != 0 ||
               events_.lost() != 0;
    }
    Pending pending(StreamRef stream) noexcept;
    // What is pending now, to be asked about after a call that may learn of it. A wait for a blocking stream is behind
    // that stream only (measured: H200, driver 580.159.04).
    __attribute__((always_inline)) void look_at_pending(const Operation& operation, PendingThen& then,
                                                        bool is_wait = false) noexcept {
        StreamEntry* entry = operation.entry;
        then.entry = entry;
        if (entry == nullptr) {
            return;
        }
        then.number = operation.number;
        then.other_operations = entry->other_operations.load(std::memory_order_relaxed);
        then.issued = operation.before.own.sequence;
        then.complete = entry->complete.load(std::memory_order_relaxed);
        then.named_work = entry->named_work.load(std::memory_order_relaxed);
        then.behind = nullptr;
        if (!entry->is_non_blocking()) {
            const ContextEntry& context = entry->owner();
            StreamEntry* legacy = context.legacy.load(std::memory_order_acquire);
            if (legacy == entry ? context.listed_blocking.load(std::memory_order_relaxed) != 0
                                : !is_wait && legacy != nullptr &&
                                      legacy->issued.load(std::memory_order_relaxed) >
                                          legacy->complete.load(std::memory_order_relaxed)) [[unlikely]] {
                look_behind(operation, then);
            }
        }
    }
    PendingThen look_at_pending(const EventUse& use) const noexcept;
    static Pending pending_then(const PendingThen& then) noexcept;
    Pending pending_in_context(std::uintptr_t context) noexcept;
    Losses losses() const noexcept;

  private:
    friend class StreamSearch;
    struct Snapshot;
    class EdgeList;
    static constexpr std::size_t kBuckets = 16384;
    static constexpr std::uint32_t kMaxSnapshots = 64;

    StreamRef find_anew(LastStream& last, std::uintptr_t context, std::uintptr_t identity,
                        std::uint32_t thread) const noexcept;
    StreamEntry* in_chain(std::uintptr_t context, std::uintptr_t identity, std::uint32_t thread) const noexcept;
    std::atomic<StreamEntry*>* bucket(std::uintptr_t context, std::uintptr_t identity,
                                      std::uint32_t thread) const noexcept;
    bool make_tables() noexcept;
    StreamEntry* free_slot() noexcept;
    void unchain(StreamEntry& entry) noexcept;
    void retire(StreamEntry& entry) noexcept;
    void release_if_over(StreamEntry& entry, std::uint32_t number) noexcept;
    void release(StreamEntry& entry) noexcept;
    ContextEntry* context_of(std::uintptr_t handle) const noexcept;
    ContextEntry* context_or_add(std::uintptr_t handle, int device) noexcept;
    StreamEntry* at(std::uint32_t slot) const noexcept { return &entries_.at(slot); }

    __attribute__((always_inline)) static void start(StreamRef stream, Operation& operation) noexcept {
        StreamEntry* entry = stream.entry;
        operation.entry = entry;
        if (entry != nullptr) {
            operation.number = stream.number;
            operation.legacy_ended = 0;
            operation.before.own = {stream.number, entry->slot, entry->issued.load(std::memory_order_acquire), 0};
            operation.before.legacy.stream = 0;
        }
    }

    // stream_order.cpp
    void begin_blocking(StreamEntry& entry, Operation& operation) noexcept;
    Ticket issued_blocking(const Operation& operation) noexcept;
    StreamPlace legacy_place(const StreamEntry& entry, std::uint64_t ended) const noexcept;
    std::uint64_t put_in(const Operation& operation, const OrderEdge* edges, std::uint32_t count, bool work) noexcept;
    bool see_legacy(StreamEntry& entry, const Operation& operation, std::uint64_t sequence,
                    std::uint16_t weight) noexcept;
    bool push(StreamEntry& entry, const OrderEdge& edge) noexcept;
    void compact(StreamEntry& entry) noexcept;
    OrderEdge* edge(std::uint32_t index) const noexcept { return index != 0 ? &edges_.at(index) : nullptr; }
    OrderEdge* new_edge() noexcept;
    void free_edge(OrderEdge& edge) noexcept;
    void free_edges(StreamEntry& entry) noexcept;
    static void mark_gated(StreamEntry& entry) noexcept;

    // stream_knowledge.cpp
    void learn_anew(const Operation& operation) noexcept;
    bool is_complete(const StreamPlace& place) const noexcept;
    void learn(const StreamPlace& place) noexcept;
    void follow(EdgeList& reached) noexcept;
    void advance(const StreamPlace& place, EdgeList& reached) noexcept;
    void complete_to(StreamEntry& entry, std::uint64_t sequence, EdgeList& reached) noexcept;
    void complete_blocking(ContextEntry& context, std::uint64_t epoch, EdgeList& reached) noexcept;
    std::uint64_t issued_before(const StreamEntry& entry, std::uint64_t epoch) const noexcept;
    static void list(StreamEntry& entry) noexcept;
    static void link_into(ContextEntry& context, StreamEntry& entry) noexcept;
    static void unlist(ContextEntry& context, StreamEntry& entry) noexcept;
    void unlist_if_idle(ContextEntry& context, StreamEntry& entry) noexcept;
    Snapshot* take_snapshot() noexcept;
    static bool grow(Snapshot& snapshot) noexcept;
    void free_snapshots() noexcept;

    // stream_questions.cpp
    static void add_pending(const StreamEntry& entry, Pending& pending) noexcept;
    static std::uint32_t pending_site(const StreamEntry& entry) noexcept;
    StreamEntry* blocking_work_beside(ContextEntry& context, const StreamEntry& legacy,
                                      std::uint64_t since_action) noexcept;
    template <class Find>
    bool search(Find&& find) noexcept;
    void free_search_room() noexcept;
    bool finds_gate(const StreamPlace& place) noexcept;
    void look_behind(const Operation& operation, PendingThen& then) noexcept;
    void destroy(ContextEntry& context) noexcept;
    void pending_in(ContextEntry& context, Pending& pending) noexcept;

    // Changes when a handle stops meaning what it meant; no two objects have the same one.
    std::atomic<std::uint64_t> version_;
    std::atomic<std::uint64_t> last_gate_{0};
    // Order of the mutexes: the table's, a context's, a stream's, and one of the rest.
    mutable Mutex table_mutex_;
    std::atomic<std::atomic<StreamEntry*>*> buckets_{nullptr};
    std::uint32_t last_number_ = 0;
    std::uint32_t last_context_ = 0;
    mutable ContextEntry contexts_[kMaxContexts];
    std::atomic<std::uint32_t> context_count_{0};
    Mutex slots_mutex_;
    ChunkArray<StreamEntry, 256, kMaxStreams> entries_;
    SlotQueue free_;
    SlotQueue dead_;  // of contexts that are gone: used again when nothing else is left
    EventBook events_;
    Mutex edges_mutex_;
    ChunkArray<OrderEdge, 512, kMaxEdges> edges_;
    std::uint32_t free_edge_ = 0;
    Mutex search_mutex_;  // before any other but none at the same time as the table's
    void* search_room_ = nullptr;
    Mutex snapshots_mutex_;
    Snapshot* snapshots_ = nullptr;
    Snapshot* free_snapshots_ = nullptr;
    std::atomic<std::uint64_t> lost_streams_{0};
    std::atomic<std::uint64_t> lost_edges_{0};
    std::atomic<bool> forgot_order_{false};
};

}  // namespace pincheck
