// What is put into streams, and the order it runs in.
//
// How the legacy default stream is kept flat. Its actions are numbered (`epoch`) per context. A blocking stream notes
// in its own queue, when something is put into it, how many actions had begun (ContextEntry::begun) wherever that
// number changed: all that was issued while fewer than N had begun is before action N. In the other direction it joins,
// like an event, what the legacy stream's calls had issued (ContextEntry::ended) before its own call began. Both
// numbers are read where they err to the safe side when calls of several threads overlap: `ended` before the real call,
// `begun` after it.
#include <algorithm>  // max, min
#include <mutex>      // lock_guard

#include "streams.h"

namespace pincheck {

// ---- Putting operations in

StreamPlace Streams::legacy_place(const StreamEntry& entry, std::uint64_t ended) const noexcept {
    const StreamEntry* legacy = entry.owner().legacy.load(std::memory_order_acquire);
    if (legacy == nullptr) {
        return {};
    }
    return {legacy->number.load(std::memory_order_acquire), legacy->slot,
            legacy->issued.load(std::memory_order_acquire), ended};
}

void Streams::begin_blocking(StreamEntry& entry, Operation& operation) noexcept {
    ContextEntry& context = entry.owner();
    if (entry.is_legacy()) {
        operation.before.own.epoch = begin_legacy_action(context);
        if (context.maybe_gated.load()) {
            entry.maybe_gated.store(true);
        }
        return;
    }
    operation.legacy_ended = context.ended.load(std::memory_order_acquire);
    if (operation.legacy_ended > entry.seen_ended.load(std::memory_order_acquire)) {
        operation.before.legacy = legacy_place(entry, operation.legacy_ended);
    }
}

Ticket Streams::issued_blocking(const Operation& operation) noexcept {
    StreamEntry* entry = operation.entry;
    if (!entry->is_legacy()) {
        return {operation.number, entry->slot, put_in(operation, nullptr, 0, true), 0};
    }
    const std::uint64_t sequence = entry->issued.fetch_add(1) + 1;
    end_legacy_action(entry->owner(), operation.before.own.epoch);
    if (entry->listed.load() == 0) [[unlikely]] {
        list(*entry);
    }
    return {operation.number, entry->slot, sequence, operation.before.own.epoch};
}

Ticket Streams::issued_gate(const Operation& operation, std::uint64_t gate) noexcept {
    StreamEntry* entry = operation.entry;
    if (entry == nullptr || entry->number.load(std::memory_order_relaxed) != operation.number) {
        return {};
    }
    OrderEdge edge;
    edge.kind = EdgeKind::gate;
    edge.gate = gate;
    return {operation.number, entry->slot, put_in(operation, &edge, 1, false), operation.before.own.epoch};
}

void Streams::acted(const Operation& operation) noexcept {
    if (operation.entry != nullptr && operation.before.own.epoch != 0) {
        end_legacy_action(operation.entry->owner(), operation.before.own.epoch);
    }
}

// One operation that has reasons to wait, or is the first to see an action of the legacy stream. Returns its number.
std::uint64_t Streams::put_in(const Operation& operation, const OrderEdge* edges, std::uint32_t count,
                              bool work) noexcept {
    StreamEntry& entry = *operation.entry;
    std::uint64_t sequence = 0;
    bool overtaken = false;
    {
        const std::lock_guard lock(entry.mutex);
        if (entry.dead || entry.number.load(std::memory_order_relaxed) != operation.number) {
            return 0;
        }
        sequence = entry.issued.fetch_add(1) + 1;
        std::uint16_t weight = work ? 0 : 1;
        if (!entry.is_non_blocking() && !entry.is_legacy() && see_legacy(entry, operation, sequence, weight)) {
            weight = 0;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            OrderEdge edge = edges[i];
            edge.sequence = sequence;
            edge.operation = weight;
            if (push(entry, edge)) {
                weight = 0;
            }
        }
        overtaken = entry.complete.load() >= sequence;
    }
    acted(operation);
    if (entry.listed.load() == 0) {
        list(entry);
    }
    if (overtaken) {  // by a wait of another thread, which found the queue empty
        learn({operation.number, entry.slot, sequence, 0});
    }
    return sequence;
}

// Notes what the operation is behind and in front of in the legacy stream. True: an edge was added.
bool Streams::see_legacy(StreamEntry& entry, const Operation& operation, std::uint64_t sequence,
                         std::uint16_t weight) noexcept {
    OrderEdge edge;
    edge.kind = EdgeKind::legacy;
    edge.operation = weight;
    edge.sequence = sequence;
    edge.from = sequence;
    edge.epoch = entry.owner().begun.load();
    bool wanted = false;
    if (operation.legacy_ended > entry.seen_ended.load(std::memory_order_relaxed)) {
        if (!is_complete(operation.before.legacy)) {
            wanted = true;
            edge.target = operation.before.legacy;
            const StreamEntry* legacy = entry.owner().legacy.load(std::memory_order_acquire);
            if (legacy != nullptr && legacy->maybe_gated.load()) {
                mark_gated(entry);
            }
        }
    }
    const bool newer = edge.epoch > entry.seen_begun.load(std::memory_order_relaxed);
    if (newer && entry.first_edge == 0 && entry.complete.load() >= sequence - 1) {
        entry.base_epoch = edge.epoch;  // nothing is left that was issued before
    } else if (newer) {
        wanted = true;
    }
    const bool added = wanted && push(entry, edge);
    if (wanted && !added) {
        // Without room what came before counts as issued later than it was.
        OrderEdge* last = nullptr;
        for (OrderEdge* at = this->edge(entry.first_edge); at != nullptr; at = this->edge(at->next)) {
            last = at->kind == EdgeKind::legacy ? at : last;
        }
        std::uint64_t& epoch = last != nullptr ? last->epoch : entry.base_epoch;
        epoch = std::max(epoch, edge.epoch);
    }
    if (operation.legacy_ended > entry.seen_ended.load(std::memory_order_relaxed)) {
        entry.seen_ended.store(operation.legacy_ended, std::memory_order_release);
    }
    if (newer) {
        entry.seen_begun.store(edge.epoch, std::memory_order_release);
    }
    entry.seen_changes.store(operation.legacy_changes, std::memory_order_release);
    return added;
}

void Streams::waited(const Operation& operation, const EventUse& use) noexcept {
    StreamEntry* entry = operation.entry;
    if (entry == nullptr || entry->number.load(std::memory_order_relaxed) != operation.number) {
        return;
    }
    OrderEdge edges[2];
    std::uint32_t count = 0;
    // An event that there was no room for may have been anything.
    if (use.foreign || (use.entry == nullptr && events_.lost() != 0)) {
        edges[count++].kind = EdgeKind::gate;
    } else if (!use.recorded || !events_.is_still(use)) {
        if (use.entry != nullptr && (use.recorded || !use.alone)) {
            // Another thread records it meanwhile: which record is waited for is not known.
            forgot_order_.store(true, std::memory_order_relaxed);
        }
        return;
    } else {
        for (const StreamPlace& place : {use.point.own, use.point.legacy}) {
            if (!is_complete(place)) {
                edges[count++].target = place;
            }
        }
        if (use.maybe_gated) {
            mark_gated(*entry);
        }
    }
    if (count == 0 && is_complete(operation.before.legacy)) {
        acted(operation);
        return;
    }
    put_in(operation, edges, count, false);
}

void Streams::end_record(const EventUse& use, const Operation& operation, bool recorded) noexcept {
    StreamEntry* entry = operation.entry;
    if (!recorded || entry == nullptr) {
        events_.end_record(use, recorded, StreamPoint{}, false);
        return;
    }
    bool gated = entry->maybe_gated.load();
    if (!is_complete(operation.before.legacy)) {
        const StreamEntry* legacy = entry->owner().legacy.load(std::memory_order_acquire);
        gated = gated || (legacy != nullptr && legacy->maybe_gated.load());
        put_in(operation, nullptr, 0, false);
    } else {
        acted(operation);
    }
    events_.end_record(use, true, operation.before, gated);
}

// ---- Edges

bool Streams::push(StreamEntry& entry, const OrderEdge& edge) noexcept {
    constexpr std::uint32_t kCompactFrom = 1024;
    if (edge.kind == EdgeKind::gate) {
        mark_gated(entry);
    }
    const std::uint32_t count = entry.edges.load(std::memory_order_relaxed);
    if (count >= std::max(entry.compact_at, kCompactFrom)) {
        compact(entry);
        entry.compact_at = 2 * entry.edges.load(std::memory_order_relaxed);
    }
    OrderEdge* fresh = new_edge();
    if (fresh == nullptr) {
        compact(entry);
        fresh = new_edge();
    }
    if (fresh == nullptr) {
        lost_edges_.fetch_add(1, std::memory_order_relaxed);
        if (edge.kind == EdgeKind::gate) {
            entry.lost_gate = edge.sequence;
        }
        return false;
    }
    const std::uint32_t index = fresh->index;
    *fresh = edge;
    fresh->index = index;
    fresh->next = 0;
    if (entry.first_edge == 0) {
        entry.first_edge = index;
    } else {
        this->edge(entry.last_edge)->next = index;
    }
    entry.last_edge = index;
    entry.other_operations.fetch_add(edge.operation, std::memory_order_relaxed);
    entry.edges.store(entry.edges.load(std::memory_order_relaxed) + 1);
    return true;
}

// Drops edges that a later one of the same stream supersedes: what they lead to is learned of later than it could be.
// Marks of the legacy stream are drawn together to the side on which work counts as issued later.
void Streams::compact(StreamEntry& entry) noexcept {
    constexpr std::size_t kTargets = 256;
    OrderEdge* newest[kTargets] = {};
    bool superseded = false;
    for (OrderEdge* at = edge(entry.first_edge); at != nullptr; at = edge(at->next)) {
        if (at->kind == EdgeKind::gate) {
            continue;
        }
        OrderEdge*& older = newest[at->kind == EdgeKind::legacy ? 0 : 1 + at->target.stream % (kTargets - 1)];
        const bool covered = older != nullptr && (at->target.stream == older->target.stream
                                                      ? at->target.sequence >= older->target.sequence &&
                                                            at->target.epoch >= older->target.epoch
                                                      : older->target.stream == 0);
        if (covered) {
            at->from = at->kind == EdgeKind::legacy ? older->from : 0;
            at->operation = static_cast<std::uint16_t>(std::min(at->operation + older->operation, 0xffff));
            older->sequence = 0;  // to be dropped
            superseded = true;
        }
        older = at;
    }
    if (!superseded) {
        return;
    }
    std::uint32_t* link = &entry.first_edge;
    std::uint32_t last = 0;
    std::uint32_t count = 0;
    while (OrderEdge* at = edge(*link)) {
        if (at->sequence == 0) {
            *link = at->next;
            free_edge(*at);
            lost_edges_.fetch_add(1, std::memory_order_relaxed);
        } else {
            last = at->index;
            ++count;
            link = &at->next;
        }
    }
    entry.last_edge = last;
    entry.edges.store(count);
}

OrderEdge* Streams::new_edge() noexcept {
    const std::lock_guard lock(edges_mutex_);
    if (OrderEdge* free = edge(free_edge_)) {
        free_edge_ = free->next;
        return free;
    }
    OrderEdge* fresh = edges_.fresh();
    if (fresh != nullptr) {
        fresh->index = edges_.used();
    }
    return fresh;
}

void Streams::free_edge(OrderEdge& edge) noexcept {
    const std::lock_guard lock(edges_mutex_);
    edge.next = free_edge_;
    free_edge_ = edge.index;
}

void Streams::free_edges(StreamEntry& entry) noexcept {
    while (OrderEdge* at = edge(entry.first_edge)) {
        entry.first_edge = at->next;
        free_edge(*at);
    }
    entry.last_edge = 0;
    entry.edges.store(0);
}

// Later operations may be behind a gate; whether one is left is asked when somebody wants to know.
void Streams::mark_gated(StreamEntry& entry) noexcept {
    entry.maybe_gated.store(true);
    if (!entry.is_non_blocking()) {
        entry.owner().maybe_gated.store(true);
    }
}

}  // namespace pincheck
