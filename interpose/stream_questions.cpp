// What is asked about streams.
#include <algorithm>  // min
#include <mutex>      // lock_guard
#include <new>

#include "streams.h"

namespace pincheck {

// ---- Known complete

bool Streams::is_known_complete(const Ticket& ticket) const noexcept {
    return is_complete({ticket.stream, ticket.slot, ticket.sequence, 0});
}

bool Streams::has_early_event(const Ticket& ticket) noexcept {
    if (!ticket) {
        return false;
    }
    StreamEntry& entry = *at(ticket.slot);
    const std::lock_guard lock(entry.mutex);
    return entry.number.load(std::memory_order_relaxed) == ticket.stream && entry.early_event_from < ticket.sequence &&
           ticket.sequence <= entry.early_event_to;
}

Streams::Losses Streams::losses() const noexcept {
    return {lost_streams_.load(std::memory_order_relaxed), events_.lost(), lost_edges_.load(std::memory_order_relaxed)};
}

// ---- Armed

// Looks in the past of a place for a gate that is not known to have run, or for one piece of work. What is known
// complete is not in the queues any more. Bounded: where the past is wider than this, it says that it found it.
class StreamSearch {
  public:
    explicit StreamSearch(Streams& streams) noexcept : streams_(streams) {}

    bool finds_gate(const StreamPlace& start) noexcept {
        add(start);
        return run();
    }
    bool finds(const Ticket& work, const StreamPoint& start) noexcept {
        work_ = work;
        add(start.own);
        add(start.legacy);
        return run();
    }

  private:
    static constexpr std::size_t kPlaces = 128;
    static constexpr std::size_t kSeen = 512;

    bool run() noexcept {
        while (count_ != 0 && !found_) {
            const StreamPlace place = places_[--count_];  // its room is used again meanwhile
            look_at(place);
        }
        return found_;
    }

    void add(const StreamPlace& place) noexcept {
        if (streams_.is_complete(place)) {
            return;
        }
        if (work_ && place.stream == work_.stream && place.sequence >= work_.sequence) {
            found_ = true;
            return;
        }
        // Places that were there already, with as much before them.
        std::size_t i = place.stream % kSeen;
        for (; seen_[i].stream != 0; i = (i + 1) % kSeen) {
            if (seen_[i].stream == place.stream) {
                if (seen_[i].sequence >= place.sequence && seen_[i].epoch >= place.epoch) {
                    return;
                }
                break;
            }
        }
        if (seen_[i].stream == 0 && ++seen_count_ > kSeen / 2) {
            found_ = true;
            return;
        }
        StreamPlace& seen = seen_[i];
        seen = {place.stream, place.slot, std::max(seen.sequence, place.sequence), std::max(seen.epoch, place.epoch)};
        if (count_ == kPlaces) {
            found_ = true;
            return;
        }
        places_[count_++] = seen;
    }

    void look_at(const StreamPlace& place) noexcept {
        StreamEntry& entry = *streams_.at(place.slot);
        {
            const std::lock_guard lock(entry.mutex);
            if (entry.number.load() != place.stream) {
                return;
            }
            if (!work_ && entry.lost_gate > entry.complete.load() && entry.lost_gate <= place.sequence) {
                found_ = true;
                return;
            }
            for (const OrderEdge* edge = streams_.edge(entry.first_edge); edge != nullptr && !found_;
                 edge = streams_.edge(edge->next)) {
                if (edge->sequence > place.sequence) {
                    break;
                }
                if (edge->kind == EdgeKind::gate) {
                    found_ = found_ || (!work_ && !edge->opened);
                } else {
                    add(edge->target);
                }
            }
        }
        if (place.epoch != 0) {
            look_at_blocking(entry.owner(), place.epoch);
        }
    }

    void look_at_blocking(ContextEntry& context, std::uint64_t epoch) noexcept {
        const std::lock_guard context_lock(context.mutex);
        for (StreamEntry* entry = context.listed[1]; entry != nullptr && !found_; entry = entry->next_listed) {
            if (!entry->is_legacy()) {
                const std::lock_guard lock(entry->mutex);
                add({entry->number.load(), entry->slot, streams_.issued_before(*entry, epoch), 0});
            }
        }
    }

    Streams& streams_;
    Ticket work_;  // empty: a gate is looked for
    StreamPlace places_[kPlaces];
    std::size_t count_ = 0;
    StreamPlace seen_[kSeen] = {};
    std::size_t seen_count_ = 0;
    bool found_ = false;
};

// A search is too large for the stack of whoever calls, and rare.
template <class Find>
bool Streams::search(Find&& find) noexcept {
    const std::lock_guard lock(search_mutex_);
    if (search_room_ == nullptr) {
        search_room_ = map_memory(sizeof(StreamSearch));
    }
    return search_room_ == nullptr || find(*new (search_room_) StreamSearch(*this));
}

void Streams::free_search_room() noexcept {
    unmap_memory(search_room_, sizeof(StreamSearch));
}

bool Streams::finds_gate(const StreamPlace& place) noexcept {
    return search([&](StreamSearch& search) { return search.finds_gate(place); });
}

bool Streams::is_behind(const Operation& later, const Ticket& earlier) noexcept {
    const StreamEntry* entry = later.entry;
    if (entry == nullptr || later.number == earlier.stream || is_known_complete(earlier)) {
        return true;
    }
    const StreamEntry& other = *at(earlier.slot);
    const bool blocking = !entry->is_non_blocking() && !other.is_non_blocking();
    if (blocking && &entry->owner() == &other.owner() && (entry->is_legacy() || other.is_legacy())) {
        return true;  // or the other way round: they never run at the same time
    }
    // What has become known complete meanwhile is not searched through: then the way to the work may have been missed.
    return search([&](StreamSearch& search) { return search.finds(earlier, later.before); }) ||
           is_known_complete(earlier);
}

bool Streams::is_armed(const Ticket& ticket) noexcept {
    if (is_known_complete(ticket)) {
        return true;
    }
    StreamEntry& entry = *at(ticket.slot);
    if (!entry.maybe_gated.load()) {
        return true;
    }
    const StreamPlace place{ticket.stream, ticket.slot, ticket.sequence, ticket.epoch};
    if (ticket.sequence != entry.issued.load()) {
        return !finds_gate(place);
    }
    // Where nothing that is in the stream now is behind a gate, the mark goes. It is taken back before the search: what
    // is put in meanwhile sets it again.
    StreamPlace now = place;
    entry.maybe_gated.store(false);
    if (entry.is_legacy()) {
        now.epoch = entry.owner().begun.load() + 1;
        entry.owner().maybe_gated.store(false);
    }
    if (!finds_gate(now)) {
        return true;
    }
    mark_gated(entry);
    return entry.is_legacy() && !finds_gate(place);
}

bool Streams::is_next_armed(const PendingThen& pending) noexcept {
    const StreamEntry* entry = pending.entry;
    if (entry == nullptr || !is_armed({pending.number, entry->slot, pending.issued, 0})) {
        return false;
    }
    ContextEntry& context = entry->owner();
    const StreamEntry* legacy = context.legacy.load(std::memory_order_acquire);
    if (entry->is_non_blocking() || legacy == nullptr || !context.maybe_gated.load()) {
        return true;
    }
    // Behind the legacy stream's work; in that stream, behind what is in the blocking ones.
    const std::uint64_t epoch = entry == legacy ? context.begun.load() : context.ended.load();
    return !finds_gate({legacy->number.load(std::memory_order_acquire), legacy->slot, legacy->issued.load(), epoch});
}

// The host function behind that gate has returned. It was the last of what is known complete with it where nothing else
// was put in by other threads at the same time.
void Streams::gate_opened(const Operation& operation, std::uint64_t gate) noexcept {
    if (operation.entry == nullptr) {
        return;
    }
    StreamEntry& entry = *operation.entry;
    std::uint64_t sequence = 0;
    {
        const std::lock_guard lock(entry.mutex);
        if (entry.number.load() != operation.number) {
            return;
        }
        for (OrderEdge* at = edge(entry.first_edge); at != nullptr; at = edge(at->next)) {
            if (at->kind == EdgeKind::gate && at->gate == gate) {
                at->opened = true;
                sequence = at->sequence;
                break;
            }
        }
    }
    if (sequence != 0 && sequence == operation.before.own.sequence + 1) {
        learn({operation.number, entry.slot, sequence, 0});
    }
}

// ---- Pending work

std::uint32_t Streams::pending_site(const StreamEntry& entry) noexcept {
    const std::uint64_t complete = entry.complete.load(std::memory_order_relaxed);
    return NamedWork::site_within(entry.named_work.load(std::memory_order_relaxed), complete,
                                  std::max(entry.issued.load(std::memory_order_relaxed), complete));
}

void Streams::add_pending(const StreamEntry& entry, Pending& pending) noexcept {
    const std::uint64_t issued = entry.issued.load(std::memory_order_acquire);
    const std::uint64_t complete = entry.complete.load(std::memory_order_acquire);
    if (issued <= complete) {
        return;
    }
    const std::uint64_t others = entry.other_operations.load(std::memory_order_relaxed);
    const std::uint64_t operations = issued - complete;
    const std::uint64_t items = operations > others ? operations - others : 0;
    pending.items = static_cast<std::uint32_t>(std::min<std::uint64_t>(pending.items + items, UINT32_MAX));
    const std::uint32_t site = pending_site(entry);
    if (!pending.work || (pending.site == 0 && site != 0)) {
        pending.newest = {entry.number.load(std::memory_order_relaxed), entry.slot, issued, 0};
        pending.site = site;
        pending.stream = report_id(entry);
    }
    pending.work = true;
}

Pending Streams::pending(StreamRef stream) noexcept {
    Operation next{};
    next.entry = stream.entry;
    if (next.entry != nullptr) {
        next.number = stream.number;
        next.before.own.sequence = next.entry->issued.load(std::memory_order_acquire);
        next.before.own.epoch = next.entry->owner().begun.load(std::memory_order_acquire) + 1;
    }
    PendingThen now;
    look_at_pending(next, now);
    return pending_then(now);
}

// A blocking stream of the context in which something is not known complete, and was put in since that action of the
// legacy stream had begun.
StreamEntry* Streams::blocking_work_beside(ContextEntry& context, const StreamEntry& legacy,
                                           std::uint64_t since_action) noexcept {
    StreamEntry* found = nullptr;
    const std::lock_guard context_lock(context.mutex);
    StreamEntry* next = nullptr;
    for (StreamEntry* other = context.listed[1]; other != nullptr && found == nullptr; other = next) {
        next = other->next_listed;
        const std::lock_guard lock(other->mutex);
        found = other != &legacy && other->issued.load() > other->complete.load() &&
                        other->seen_begun.load(std::memory_order_relaxed) >= since_action
                    ? other
                    : nullptr;
        unlist_if_idle(context, *other);
    }
    return found;
}

// A stream notes how many actions of the legacy stream had begun when something was put into it last, so that of two
// that have work the one is known into which something was put last.
__attribute__((noinline)) void Streams::look_behind(const Operation& operation, PendingThen& then) noexcept {
    StreamEntry& entry = *operation.entry;
    ContextEntry& context = entry.owner();
    const bool is_idle = then.issued <= then.complete;
    if (entry.is_legacy()) {
        // The operation itself is the last action.
        then.behind = blocking_work_beside(context, entry, is_idle ? 0 : operation.before.own.epoch - 1);
    } else if (is_idle || entry.seen_begun.load(std::memory_order_relaxed) < context.begun.load()) {
        then.behind = context.legacy.load(std::memory_order_acquire);
    }
    then.behind_site = then.behind != nullptr ? pending_site(*then.behind) : 0;
}

PendingThen Streams::look_at_pending(const EventUse& use) const noexcept {
    PendingThen then;
    const StreamPlace& place = use.point.own;
    if (!use.recorded || use.foreign || place.stream == 0) {
        return then;
    }
    then.entry = at(place.slot);
    then.number = place.stream;
    then.issued = place.sequence;
    then.complete = place.sequence;
    if (then.entry->number.load(std::memory_order_acquire) == place.stream) {
        then.complete = std::min(then.entry->complete.load(std::memory_order_relaxed), place.sequence);
        then.named_work = then.entry->named_work.load(std::memory_order_relaxed);
        then.other_operations = then.entry->other_operations.load(std::memory_order_relaxed);
    }
    const StreamPlace& legacy = use.point.legacy;
    if (!is_complete(legacy)) {
        then.behind = at(legacy.slot);
        then.behind_site = pending_site(*then.behind);
    }
    return then;
}

Pending Streams::pending_then(const PendingThen& then) noexcept {
    Pending pending;
    if (then.entry == nullptr) {
        return pending;
    }
    pending.behind = then.behind != nullptr;
    if (pending.behind) {
        pending.behind_site = then.behind_site;
        pending.behind_stream = report_id(*then.behind);
    }
    if (then.issued > then.complete) {
        const std::uint64_t operations = then.issued - then.complete;
        pending.work = true;
        pending.items =
            operations > then.other_operations
                ? static_cast<std::uint32_t>(std::min<std::uint64_t>(operations - then.other_operations, UINT32_MAX))
                : 0;
        pending.newest = {then.number, then.entry->slot, then.issued, 0};
        pending.site = NamedWork::site_within(then.named_work, then.complete, then.issued);
    }
    pending.stream = report_id(*then.entry);
    return pending;
}

// Looks at no more than a few streams with work: whether there is any is the question.
void Streams::pending_in(ContextEntry& context, Pending& pending) noexcept {
    constexpr int kEnough = 16;
    int with_work = 0;
    const std::lock_guard context_lock(context.mutex);
    for (StreamEntry* first : context.listed) {
        StreamEntry* next = nullptr;
        for (StreamEntry* entry = first; entry != nullptr && with_work < kEnough; entry = next) {
            next = entry->next_listed;
            const std::lock_guard lock(entry->mutex);
            add_pending(*entry, pending);
            with_work += entry->issued.load() > entry->complete.load() ? 1 : 0;
            unlist_if_idle(context, *entry);
        }
    }
}

Pending Streams::pending_in_context(std::uintptr_t context) noexcept {
    Pending pending;
    if (ContextEntry* entry = context_of(context)) {
        pending_in(*entry, pending);
    }
    return pending;
}

}  // namespace pincheck
