// What the host learns, and how that spreads along the order of streams: what a completed operation waited for is
// complete too.
#include <algorithm>  // copy, max
#include <mutex>      // lock_guard

#include "streams.h"

namespace pincheck {

// Edges taken out of the queues of streams, because the operation that waited is complete, and so is what it waited
// for.
class Streams::EdgeList {
  public:
    void add(OrderEdge& edge) noexcept {
        edge.next = 0;
        (last_ != nullptr ? last_->next : first_) = edge.index;
        last_ = &edge;
    }
    std::uint32_t take(const Streams& streams) noexcept {
        const std::uint32_t index = first_;
        if (index != 0) {
            first_ = streams.edge(index)->next;
            last_ = first_ != 0 ? last_ : nullptr;
        }
        return index;
    }

  private:
    std::uint32_t first_ = 0;
    OrderEdge* last_ = nullptr;
};

// ---- Learning

bool Streams::is_complete(const StreamPlace& place) const noexcept {
    if (place.stream == 0) {
        return true;
    }
    const StreamEntry& entry = *at(place.slot);
    const std::uint64_t complete = entry.complete.load(std::memory_order_acquire);
    const std::uint64_t epoch = place.epoch != 0 ? entry.owner().complete_epoch.load(std::memory_order_acquire) : 0;
    return entry.number.load(std::memory_order_acquire) != place.stream ||
           (complete >= place.sequence && epoch >= place.epoch);
}

void Streams::learn_anew(const Operation& operation) noexcept {
    StreamEntry* entry = operation.entry;
    if (entry == nullptr || entry->number.load(std::memory_order_relaxed) != operation.number) {
        return;
    }
    const StreamPlace& own = operation.before.own;
    raise(entry->complete, own.sequence);
    if (entry->edges.load() != 0 || own.epoch != 0) {
        learn(own);
    }
    if (operation.before.legacy.stream != 0) {
        learn(operation.before.legacy);
    }
}

void Streams::completed(const Operation& operation, const Ticket& ticket) noexcept {
    if (ticket && ticket.sequence == operation.before.own.sequence + 1) {
        learn({ticket.stream, ticket.slot, ticket.sequence, 0});
    }
}

void Streams::learned(const EventUse& use) noexcept {
    if (use.recorded && !use.foreign && events_.is_still(use)) {
        learn(use.point.own);
        learn(use.point.legacy);
    }
}

void Streams::note_event(const EventUse& use) noexcept {
    const StreamPlace& place = use.point.own;
    if (!use.recorded || use.foreign || place.stream == 0) {
        return;
    }
    StreamEntry& entry = *at(place.slot);
    if (entry.issued.load(std::memory_order_relaxed) <= place.sequence || !events_.is_still(use)) {
        return;
    }
    const std::lock_guard lock(entry.mutex);
    if (entry.number.load(std::memory_order_relaxed) == place.stream) {
        entry.early_event_from = place.sequence;
        entry.early_event_to = entry.issued.load(std::memory_order_relaxed);
    }
}

void Streams::learn(const StreamPlace& place) noexcept {
    EdgeList reached;
    advance(place, reached);
    follow(reached);
}

void Streams::follow(EdgeList& reached) noexcept {
    while (const std::uint32_t index = reached.take(*this)) {
        OrderEdge& edge = edges_.at(index);
        const StreamPlace target = edge.target;
        free_edge(edge);
        advance(target, reached);
    }
}

void Streams::advance(const StreamPlace& place, EdgeList& reached) noexcept {
    if (place.stream == 0) {
        return;
    }
    StreamEntry& entry = *at(place.slot);
    bool over = false;
    ContextEntry* context = nullptr;
    {
        const std::lock_guard lock(entry.mutex);
        if (entry.dead || entry.number.load(std::memory_order_relaxed) != place.stream) {
            return;
        }
        complete_to(entry, place.sequence, reached);
        over = entry.retired && entry.complete.load() >= entry.issued.load();
        context = &entry.owner();
    }
    if (place.epoch != 0) {
        complete_blocking(*context, place.epoch, reached);
    }
    if (over) {
        release_if_over(entry, place.stream);
    }
}

// With the stream's lock held.
void Streams::complete_to(StreamEntry& entry, std::uint64_t sequence, EdgeList& reached) noexcept {
    raise(entry.complete, sequence);
    const std::uint64_t complete = entry.complete.load();
    std::uint32_t count = entry.edges.load(std::memory_order_relaxed);
    while (OrderEdge* first = edge(entry.first_edge)) {
        if (first->sequence > complete) {
            break;
        }
        entry.first_edge = first->next;
        --count;
        if (first->kind == EdgeKind::legacy) {
            entry.base_epoch = std::max(entry.base_epoch, first->epoch);
        }
        entry.other_operations.fetch_sub(first->operation, std::memory_order_relaxed);
        reached.add(*first);
    }
    if (entry.first_edge == 0) {
        entry.last_edge = 0;
    }
    entry.edges.store(count);
}

// The last operation that was issued before the legacy stream's action `epoch` began. With the stream's lock held.
std::uint64_t Streams::issued_before(const StreamEntry& entry, std::uint64_t epoch) const noexcept {
    if (entry.base_epoch >= epoch) {
        return 0;
    }
    const std::uint64_t issued = entry.issued.load();
    for (const OrderEdge* at = edge(entry.first_edge); at != nullptr; at = edge(at->next)) {
        if (at->kind == EdgeKind::legacy && at->epoch >= epoch) {
            return at->from - 1;
        }
    }
    return issued;
}

// The past of an action of the legacy stream is complete.
void Streams::complete_blocking(ContextEntry& context, std::uint64_t epoch, EdgeList& reached) noexcept {
    if (context.complete_epoch.load(std::memory_order_acquire) >= epoch) {
        return;
    }
    const std::lock_guard context_lock(context.mutex);
    StreamEntry* next = nullptr;
    for (StreamEntry* entry = context.listed[1]; entry != nullptr; entry = next) {
        next = entry->next_listed;
        const std::lock_guard lock(entry->mutex);
        if (!entry->is_legacy()) {
            complete_to(*entry, issued_before(*entry, epoch), reached);
        }
        unlist_if_idle(context, *entry);
    }
    raise(context.complete_epoch, epoch);
}

// ---- Streams with work, by context

void Streams::list(StreamEntry& entry) noexcept {
    ContextEntry& context = entry.owner();
    const std::lock_guard lock(context.mutex);
    if (entry.listed.load(std::memory_order_relaxed) != 0 || entry.dead ||
        entry.number.load(std::memory_order_relaxed) == 0) {
        return;
    }
    link_into(context, entry);
}

// With both locks held, as in the next two.
void Streams::link_into(ContextEntry& context, StreamEntry& entry) noexcept {
    StreamEntry*& first = context.listed[entry.is_non_blocking() ? 0 : 1];
    entry.previous_listed = nullptr;
    entry.next_listed = first;
    if (first != nullptr) {
        first->previous_listed = &entry;
    }
    first = &entry;
    context.listed_blocking.fetch_add(entry.is_non_blocking() || entry.is_legacy() ? 0 : 1);
    entry.listed.store(1);
}

void Streams::unlist(ContextEntry& context, StreamEntry& entry) noexcept {
    if (entry.listed.load(std::memory_order_relaxed) == 0) {
        return;
    }
    StreamEntry*& first = context.listed[entry.is_non_blocking() ? 0 : 1];
    (entry.previous_listed != nullptr ? entry.previous_listed->next_listed : first) = entry.next_listed;
    if (entry.next_listed != nullptr) {
        entry.next_listed->previous_listed = entry.previous_listed;
    }
    context.listed_blocking.fetch_sub(entry.is_non_blocking() || entry.is_legacy() ? 0 : 1);
    entry.listed.store(0);
}

void Streams::unlist_if_idle(ContextEntry& context, StreamEntry& entry) noexcept {
    if (entry.complete.load() < entry.issued.load()) {
        return;
    }
    unlist(context, entry);
    if (entry.complete.load() < entry.issued.load()) {
        // Put in meanwhile, by a thread that may have seen it listed still.
        link_into(context, entry);
    } else if (entry.retired) {
        release(entry);
    }
}

// ---- Waits for a context

struct Streams::Snapshot {
    Snapshot* next = nullptr;
    ContextEntry* context = nullptr;
    std::uint64_t epoch = 0;
    StreamPlace* places = nullptr;
    std::uint32_t capacity = 0;
    std::uint32_t count = 0;
};

ContextWait Streams::begin_context_wait(std::uintptr_t handle) noexcept {
    ContextEntry* context = context_of(handle);
    if (context == nullptr) {
        return {};
    }
    Snapshot* snapshot = take_snapshot();
    if (snapshot == nullptr) {
        lost_edges_.fetch_add(1, std::memory_order_relaxed);
        return {};
    }
    const std::lock_guard context_lock(context->mutex);
    snapshot->context = context;
    snapshot->epoch = context->begun.load();
    snapshot->count = 0;
    for (StreamEntry* first : context->listed) {
        StreamEntry* next = nullptr;
        for (StreamEntry* entry = first; entry != nullptr; entry = next) {
            next = entry->next_listed;
            const std::lock_guard lock(entry->mutex);
            const StreamPlace place{entry->number.load(), entry->slot, entry->issued.load(), 0};
            if (snapshot->count == snapshot->capacity && !grow(*snapshot)) {
                lost_edges_.fetch_add(1, std::memory_order_relaxed);
                snapshot->epoch = 0;
                return {snapshot};
            }
            snapshot->places[snapshot->count++] = place;
            unlist_if_idle(*context, *entry);
        }
    }
    return {snapshot};
}

void Streams::learned(const ContextWait& wait) noexcept {
    auto* snapshot = static_cast<Snapshot*>(wait.snapshot);
    if (snapshot == nullptr) {
        return;
    }
    for (std::uint32_t i = 0; i < snapshot->count; ++i) {
        learn(snapshot->places[i]);
    }
    raise(snapshot->context->complete_epoch, snapshot->epoch);
    forget(wait);
}

void Streams::forget(const ContextWait& wait) noexcept {
    if (auto* snapshot = static_cast<Snapshot*>(wait.snapshot)) {
        const std::lock_guard lock(snapshots_mutex_);
        snapshot->next = free_snapshots_;
        free_snapshots_ = snapshot;
    }
}

Streams::Snapshot* Streams::take_snapshot() noexcept {
    const std::lock_guard lock(snapshots_mutex_);
    if (free_snapshots_ == nullptr && snapshots_ == 0) {
        snapshots_ = map_array<Snapshot>(kMaxSnapshots);
        for (std::uint32_t i = 0; snapshots_ != nullptr && i < kMaxSnapshots; ++i) {
            snapshots_[i].next = free_snapshots_;
            free_snapshots_ = &snapshots_[i];
        }
    }
    Snapshot* snapshot = free_snapshots_;
    if (snapshot != nullptr) {
        free_snapshots_ = snapshot->next;
    }
    return snapshot;
}

bool Streams::grow(Snapshot& snapshot) noexcept {
    const std::uint32_t capacity = snapshot.capacity == 0 ? 128 : 2 * snapshot.capacity;
    auto* places = map_array<StreamPlace>(capacity);
    if (places == nullptr) {
        return false;
    }
    std::copy(snapshot.places, snapshot.places + snapshot.count, places);
    unmap_memory(snapshot.places, snapshot.capacity * sizeof(StreamPlace));
    snapshot.places = places;
    snapshot.capacity = capacity;
    return true;
}

void Streams::free_snapshots() noexcept {
    for (std::uint32_t i = 0; snapshots_ != nullptr && i < kMaxSnapshots; ++i) {
        unmap_memory(snapshots_[i].places, snapshots_[i].capacity * sizeof(StreamPlace));
    }
    unmap_memory(snapshots_, kMaxSnapshots * sizeof(Snapshot));
}

}  // namespace pincheck
