#include "races.h"

#include <algorithm>
#include <mutex>  // lock_guard

#include "clock.h"
#include "log.h"

namespace pincheck {

using report::MemoryClass;
using report::RaceRule;
using report::store;

namespace {

// How a side of that class is used; false: not followed. Managed memory, arrays and what is not known have no range, or
// one that others move.
bool add_class(MemoryClass kind, std::uint8_t& flags) noexcept {
    switch (kind) {
        case MemoryClass::device:
        case MemoryClass::device_symbol:
            flags |= kUseOnDevice;
            return true;
        case MemoryClass::pageable:
        case MemoryClass::host_pool:
            flags |= kUsePageable;
            return true;
        case MemoryClass::pinned:
        case MemoryClass::registered:
            return true;
        default:
            return false;
    }
}

// "For transfers from device memory to pageable host memory, the function will return only once the copy has completed"
// (CUDA Driver API, "API synchronization behavior"): of its source nobody has to wait. What that says of the result is
// another matter, since the program may come to pin it.
bool is_over_on_return(const CopyRanges& ranges, const RangeUse& source) noexcept {
    return ranges.destination_is == MemoryClass::pageable && source.is_on_device() && !ranges.is_batch &&
           !ranges.in_graph;
}

// A copy between two places of the host names one; it is not a pageable one's.
std::uint32_t pin_site_of(const RangeUse& use, const CopyRanges& ranges) noexcept {
    return (use.flags & (kUseOnDevice | kUsePageable)) != 0 ? 0 : ranges.pin_site;
}

bool is_host_download(const RangeUse& use) noexcept {
    return use.writes() && !use.is_on_device() && !use.consumed;
}

}  // namespace

void Races::copied(KnownUses& known, KnownPair* pair, std::uint32_t thread, const Operation& operation,
                   const Ticket& ticket, const CopyRanges& ranges) noexcept {
    KnownUse read;
    KnownUse written;
    bool raced = false;
    bool repeats = ranges.destination_span == 0 && ranges.source_span == 0;  // as linear copies of one kind do
    RangeUse next;
    next.ticket = ticket;
    next.site = ranges.site;
    next.thread = thread;
    next.call_ns = ranges.call_ns;
    next.flags = ranges.in_graph ? std::uint8_t{kUseInGraph} : std::uint8_t{0};
    const std::uint8_t shared = next.flags;
    if (ranges.source != 0 && ranges.order != report::SourceOrder::during_call &&
        add_class(ranges.source_is, next.flags)) {
        next.address = ranges.source;
        next.bytes = ranges.source_span != 0 ? ranges.source_span : ranges.bytes;
        next.flags |= next.bytes != ranges.bytes ? kUseGaps : 0;
        next.flags |= ranges.order == report::SourceOrder::any ? kUseAnyOrder : 0;
        next.pin_site = pin_site_of(next, ranges);
        next.content =
            (next.flags & (kUsePageable | kUseInGraph)) == kUsePageable ? sample_content(next.address, next.bytes) : 0;
        if (is_over_on_return(ranges, next)) {
            const KeepErrno keep;
            book_.find(next.address, next.bytes, known.found);
            raced = judge_all(known.found, operation, next);
        } else {
            read = use(known.found, operation, next, raced);
        }
        repeats = repeats && (next.flags & kUsePageable) == 0;
        if (ranges.is_batch && !raced) [[unlikely]] {
            look_at_order(next, operation);
        } else if (next.content != 0 && streams_.may_be_gated(ticket)) {
            look_at_gate(next);
        }
        next.content = 0;
    }
    next.flags = shared | kUseWrites;
    if (ranges.destination != 0 && add_class(ranges.destination_is, next.flags)) {
        next.address = ranges.destination;
        next.bytes = ranges.destination_span != 0 ? ranges.destination_span : ranges.bytes;
        next.flags |= next.bytes != ranges.bytes ? kUseGaps : 0;
        next.pin_site = pin_site_of(next, ranges);
        written = use(known.found, operation, next, raced);
        repeats = repeats && (next.flags & kUsePageable) == 0;
    }
    if (pair != nullptr && repeats) {
        *pair = {ranges.destination,
                 ranges.source,
                 ranges.bytes,
                 pair->counters,
                 ticket.stream,
                 written.entry != nullptr && !next.is_on_device(),
                 read,
                 written};
    }
}

// Staged although a host function in front of it has not run.
void Races::look_at_gate(const RangeUse& use) noexcept {
    const KeepErrno keep;
    // Asked again after the sample was taken: until then nothing may have run.
    if (reads_.load(std::memory_order_relaxed) && !streams_.is_armed(use.ticket)) {
        staged_.add(use);
    }
}

void Races::host_function_ended(const Operation& operation, std::uint32_t thread) noexcept {
    if (operation.entry == nullptr || staged_.is_empty()) {
        return;
    }
    RangeUse use;
    std::uint64_t content = 0;
    while (staged_.take_behind(operation.number, operation.before.own.sequence, use)) {
        if (sample_content_safely(use.address, use.bytes, content) && content != use.content) {
            FoundRace race;
            race.rule = RaceRule::staged_too_early;
            race.copy = use;
            race.other_thread = thread;
            race.end = use.bytes;
            add(race);
        }
    }
}

// A batch copy may have asked for its source to be read later than others', or earlier.
void Races::look_at_order(const RangeUse& use, const Operation& operation) noexcept {
    const KeepErrno keep;
    FoundRace race;
    race.copy = use;
    race.end = use.bytes;
    if ((use.flags & kUsePageable) != 0) {
        race.rule = RaceRule::relies_on_staging;
        add(race);
    } else if (use.is_on_device() && (use.flags & kUseAnyOrder) != 0 &&
               !streams_.is_known_complete({operation.number, operation.entry->slot, operation.before.own.sequence})) {
        // What earlier work in the stream writes is not known, of launches.
        race.rule = RaceRule::unordered_copies;
        race.flags = report::kRacePresumed | report::kRaceOnDevice;
        add(race);
    }
}

KnownUse Races::use(RangeBook::Found& found, const Operation& operation, const RangeUse& use, bool& raced) noexcept {
    const KeepErrno keep;
    KnownUse known;
    book_.add(use, found, known);
    raced = judge_all(found, operation, use);
    return known;
}

__attribute__((noinline)) bool Races::judge_all(const RangeBook::Found& found, const Operation& operation,
                                                const RangeUse& later) noexcept {
    bool raced = false;
    for (std::uint32_t i = 0; i < found.count; ++i) {
        if (found.all || found.uses[i].is_like(later)) {
            raced = judge_one(found.uses[i], operation, later) || raced;
        }
    }
    // Many pieces of one range: one after the other. The use itself is in the book by now.
    std::uint32_t next = 0;
    RangeUse use;
    while (!found.all && book_.next_in(later.address, later.bytes, next, use)) {
        if (!use.is_like(later)) {
            raced = judge_one(use, operation, later) || raced;
        }
    }
    return raced;
}

Order Races::order_of(const RangeUse& earlier, const Operation& operation, const RangeUse& later) noexcept {
    const bool early = (later.flags & kUseAnyOrder) != 0 && !later.writes();
    const bool behind = !early && streams_.is_behind(operation, earlier.ticket);
    if (behind && earlier.is_on_device()) {
        return Order::behind;
    }
    // What a host function or another process decides, it may also have decided from the copy's result.
    const bool armed = streams_.is_armed(later.ticket) && streams_.is_armed(earlier.ticket);
    if (behind) {
        return armed || !earlier.writes() || !later.writes() ? Order::behind : Order::unknown;
    }
    return armed ? Order::none : Order::unknown;
}

__attribute__((noinline)) bool Races::judge_one(const RangeUse& earlier, const Operation& operation,
                                                const RangeUse& later) noexcept {
    const bool both_read = !earlier.writes() && !later.writes();
    const bool pageable = ((earlier.flags | later.flags) & kUsePageable) != 0;
    const KeepErrno keep;
    const Order order = both_read || pageable ? Order::behind : order_of(earlier, operation, later);
    const RaceVerdict verdict = judge(earlier, later, order, signals_.load(std::memory_order_relaxed));
    // Another thread, or a host function's start, may have told the host meanwhile: then what was asked above, one
    // after the other, is of different moments.
    if (verdict.kind != RaceVerdict::Kind::consumed && streams_.is_known_complete(earlier.ticket)) {
        return false;
    }
    switch (verdict.kind) {
        case RaceVerdict::Kind::nothing:
            return false;
        case RaceVerdict::Kind::consumed:
            book_.set_consumed(earlier);
            return false;
        case RaceVerdict::Kind::cannot_tell:
            image_.lose(report::Loss::unwatched, 1, 0, now_ns());
            return false;
        case RaceVerdict::Kind::race:
            break;
    }
    FoundRace race;
    race.rule = verdict.rule;
    const bool forgot_order = order == Order::none && streams_.may_have_forgotten_order();
    const bool awaited = verdict.rule == RaceRule::result_never_awaited && may_be_awaited(earlier);
    race.flags = static_cast<std::uint16_t>((verdict.presumed || forgot_order || awaited ? report::kRacePresumed : 0) |
                                            (earlier.is_on_device() ? report::kRaceOnDevice : 0));
    race.copy = earlier;
    race.other_site = later.site;
    race.other_thread = later.thread;
    race.other_stream = stream_id(later.ticket);
    race.other_call_ns = later.call_ns;
    const std::uintptr_t begin = std::max(earlier.address, later.address);
    const std::uintptr_t end = std::min(earlier.address + earlier.bytes, later.address + later.bytes);
    race.begin = begin - earlier.address;
    race.end = end - earlier.address;
    add(race);
    return true;
}

bool Races::may_be_awaited(const RangeUse& copy) const noexcept {
    return signals_.load(std::memory_order_relaxed) || flags_.load(std::memory_order_relaxed) || may_be_flag(copy);
}

void Races::look_at_release(std::uintptr_t address, std::uint64_t bytes, RangeBook::Found& uses) noexcept {
    const KeepErrno keep;
    book_.find(address, bytes, uses);
    if (!uses.all) {
        image_.lose(report::Loss::in_flight, 1, 0, now_ns());
    }
    // Before the call: another thread may use the same addresses right after it. Where it fails, less is known.
    book_.forget(address, bytes);
}

void Races::released(const RangeBook::Found& uses, std::uint32_t site, std::uint32_t thread) noexcept {
    const KeepErrno keep;
    for (std::uint32_t i = 0; i < uses.count; ++i) {
        const RangeUse& use = uses.uses[i];
        FoundRace race;
        const bool lost = is_host_download(use) && streams_.is_armed(use.ticket);
        race.rule = lost ? RaceRule::result_never_awaited : RaceRule::released_in_flight;
        race.flags = report::kRaceReleased;
        if (lost && may_be_awaited(use)) {
            race.flags |= report::kRacePresumed;
        }
        race.copy = use;
        race.other_site = site;
        race.other_thread = thread;
        race.end = use.bytes;
        add(race);
    }
}

void Races::device_memory_freed() noexcept {
    const KeepErrno keep;
    book_.forget_if([](const RangeUse& use) { return use.is_on_device(); });
}

void Races::ended(std::uintptr_t context, int device) noexcept {
    const KeepErrno keep;
    std::uint32_t next = 0;
    RangeUse use;
    while (book_.next(next, use)) {
        if (!is_host_download(use) || !streams_.is_in(use.ticket, context, device) || !streams_.is_armed(use.ticket)) {
            continue;
        }
        FoundRace race;
        race.rule = (use.flags & kUsePageable) != 0 ? RaceRule::relies_on_staging : RaceRule::result_never_awaited;
        race.flags = report::kRaceAtExit;
        if (may_be_awaited(use)) {
            race.flags |= report::kRacePresumed;
        }
        race.copy = use;
        race.end = use.bytes;
        add(race);
        book_.set_consumed(use);
    }
    if (context != 0 || device >= 0) {
        book_.forget_if([&](const RangeUse& one) { return streams_.is_in(one.ticket, context, device); });
    }
}

std::uint32_t Races::stream_id(const Ticket& ticket) const noexcept {
    return ticket ? streams_.report_id(ticket) : 0;
}

report::RaceSlot* Races::slot_of(const FoundRace& race) noexcept {
    Hasher hasher;
    hasher.add(static_cast<std::uint64_t>(race.rule) | static_cast<std::uint64_t>(race.level) << 16 |
               static_cast<std::uint64_t>(race.flags) << 32);
    hasher.add(std::uint64_t{race.copy.site} | std::uint64_t{race.other_site} << 32);
    hasher.add(std::uint64_t{race.copy.pin_site} | std::uint64_t{race.wait_site} << 32);
    const Hash128 key = hasher.result();
    if (report::RaceSlot** known = slots_.find(key)) {
        return *known;
    }
    report::RaceSlot* slot = image_.new_race();
    if (slot == nullptr || !slots_.insert(key, slot)) {
        return nullptr;
    }
    store(slot->rule, race.rule);
    store(slot->level, race.level);
    store(slot->flags, race.flags);
    store(slot->copy_site, race.copy.site);
    store(slot->other_site, race.other_site);
    store(slot->pin_site, race.copy.pin_site);
    store(slot->wait_site, race.wait_site);
    store(slot->after_site, race.after_site);
    store(slot->before_site, race.before_site);
    store(slot->stream, stream_id(race.copy.ticket));
    store(slot->other_stream, race.other_stream);
    store(slot->call, race.call);
    store(slot->address, static_cast<std::uint64_t>(race.copy.address));
    store(slot->copy_bytes, race.copy.bytes);
    store(slot->begin, race.begin);
    store(slot->end, race.end);
    store(slot->thread, race.copy.thread);
    store(slot->other_thread, race.other_thread);
    return slot;
}

// Whether the host waited, but for an event that says nothing about the copy: of a host's use, as far as it matters.
bool Races::waited_for_early_event(const FoundRace& race) noexcept {
    switch (race.rule) {
        case RaceRule::source_overwritten_in_flight:
        case RaceRule::destination_overwritten_in_flight:
        case RaceRule::destination_read_in_flight:
        case RaceRule::result_never_awaited:
        case RaceRule::released_in_flight:
            return streams_.has_early_event(race.copy.ticket);
        default:
            return false;
    }
}

void Races::add(const FoundRace& found) noexcept {
    const std::uint64_t now = now_ns();
    FoundRace race = found;
    race.flags |= waited_for_early_event(race) ? report::kRaceEarlyEvent : 0;
    const std::lock_guard lock(mutex_);
    report::RaceSlot* slot = slot_of(race);
    if (slot == nullptr) {
        image_.lose(report::Loss::races, 1, 0, now);
        return;
    }
    if (slot->count == 0) {
        store(slot->first_ns, now);
    }
    store(slot->count, slot->count + 1);
    store(slot->last_ns, now);
    store(slot->graph_launches, slot->graph_launches + race.graph_launches);
    // Of a result that nobody waited for no use is known.
    if (race.copy.call_ns != 0 && (race.other_call_ns != 0 || race.access_end_ns != 0) &&
        race.rule != RaceRule::result_never_awaited) {
        accesses_.add({slot,
                       {race.copy.site, race.copy.thread, race.copy.call_ns},
                       {race.other_site, race.other_thread, race.other_call_ns},
                       race.access_begin_ns,
                       race.other_call_ns != 0 ? now : race.access_end_ns,
                       0});
    }
}

}  // namespace pincheck
