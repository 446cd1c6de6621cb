#include "hook_stream.h"

#include <algorithm>
#include <bit>

#include "log.h"
#include "real.h"
#include "recorder.h"
#include "stack_walk.h"

namespace pincheck {
namespace {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;

constexpr std::uintptr_t kLegacy = 1;
constexpr std::uintptr_t kPerThread = 2;
constexpr unsigned kNonBlocking = 1;  // cuda.h, CU_STREAM_NON_BLOCKING

// The driver, where this thread may ask it.
const Driver* driver_to_ask(State& state, const Caller& caller) noexcept {
    ThreadState& thread = t_thread;
    if (thread.generation != state.generation && !attach_thread(state, thread, caller)) {
        return nullptr;
    }
    return thread.driver_owned ? nullptr : driver();
}

std::uintptr_t context_from(const Driver* known) noexcept {
    void* context = nullptr;
    if (known == nullptr || known->ctx_get_current == nullptr || known->ctx_get_current(&context) != 0) {
        return 0;
    }
    return reinterpret_cast<std::uintptr_t>(context);
}

int device_from(const Driver* known) noexcept {
    int device = -1;
    return known != nullptr && known->ctx_get_device != nullptr && known->ctx_get_device(&device) == 0 ? device : -1;
}

// Which of the thread's default streams; from 1. The number ends with the thread (see on_thread_exit()).
std::uint32_t thread_of_streams(State& state) noexcept {
    std::uint32_t& thread = t_thread.stream_thread;
    if (thread == 0) {
        thread = state.last_stream_thread.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    return thread;
}

bool is_page_locked(MemoryClass kind) noexcept {
    return kind == MemoryClass::pinned || kind == MemoryClass::registered || kind == MemoryClass::host_pool;
}

}  // namespace

std::uintptr_t current_context(State& state, const Caller& caller) noexcept {
    return context_from(driver_to_ask(state, caller));
}

// Default streams, and streams that this thread did not use last. Nothing is followed after a fork.
__attribute__((noinline)) StreamRef StreamCall::find_stream(std::uintptr_t identity) noexcept {
    t_thread.context_pending.known = false;
    if (state_ == nullptr || state_->after_fork) {
        state_ = nullptr;
        return {};
    }
    const KeepErrno keep;
    captured_ = state_->open_captures.load(std::memory_order_relaxed) != 0 && is_capturing(*state_, identity);
    if (captured_) {
        return {};
    }
    if (identity > kPerThread) {
        const StreamRef found = streams().find(t_thread.last_stream, 0, identity, 0);
        if (found) {
            return found;
        }
    }
    const Driver* known = driver_to_ask(*state_, caller_);
    if (known == nullptr) {
        return {};
    }
    if (identity == kLegacy || identity == kPerThread) {
        const std::uintptr_t context = context_from(known);
        if (context == 0) {
            return {};
        }
        const std::uint32_t thread = identity == kPerThread ? thread_of_streams(*state_) : 0;
        const StreamRef found = streams().find(t_thread.last_stream, context, identity, thread);
        return found ? found : streams().add(context, device_from(known), identity, thread, false, 0);
    }
    // Created by a call that went past the hooks. While a capture is open nothing is asked.
    void* const handle = reinterpret_cast<void*>(identity);
    void* context = nullptr;
    unsigned flags = 0;
    if (state_->open_captures.load(std::memory_order_relaxed) != 0 || known->stream_get_flags == nullptr ||
        known->stream_get_context == nullptr || known->stream_get_flags(handle, &flags) != 0 ||
        known->stream_get_context(handle, &context) != 0) {
        return {};
    }
    return streams().add(reinterpret_cast<std::uintptr_t>(context), device_from(known), identity, 0,
                         (flags & kNonBlocking) != 0, 0);
}

bool is_primary_context_active(const State& state, int device) noexcept {
    const KeepErrno keep;
    const Driver* known = state.after_fork || t_thread.driver_owned ? nullptr : driver();
    unsigned flags = 0;
    int active = 1;
    return known == nullptr || known->primary_context_get_state == nullptr ||
           known->primary_context_get_state(device, &flags, &active) != 0 || active != 0;
}

void stream_created(State& state, const Caller& caller, void* stream, unsigned flags, std::uint32_t site) noexcept {
    const KeepErrno keep;
    const Driver* known = driver_to_ask(state, caller);
    const std::uintptr_t context = context_from(known);
    if (context != 0) {
        state.streams.add(context, device_from(known), reinterpret_cast<std::uintptr_t>(stream), 0,
                          (flags & kNonBlocking) != 0, site);
    }
}

// Once a stream, when the first work goes in.
__attribute__((noinline)) void StreamCall::report_stream() noexcept {
    const StreamRef stream{operation_.entry, operation_.number};
    if (!Streams::claim_report(stream)) {
        return;
    }
    const KeepErrno keep;
    const StreamInfo info = streams().info(stream);
    report::StreamRecord record{};
    record.site = info.site;
    record.context = info.context_number;
    record.device = info.device >= 0 ? static_cast<std::uint32_t>(info.device) : report::kNoDevice;
    record.handle = info.handle;
    record.kind = info.kind;
    record.flags = info.non_blocking ? std::uint8_t{report::kStreamNonBlocking} : std::uint8_t{0};
    Streams::set_report_id(stream, state_->image.add_stream(record));
}

// What the copy uses, for Races.
__attribute__((noinline)) void StreamCall::follow_ranges(const Ticket& ticket) noexcept {
    if (!state_->follows_ranges) {
        return;
    }
    const CopyFacts& copy = t_thread.copy;
    Shard& shard = *t_thread.shard;
    KnownPair& pair = shard.known_uses.pair(copy.destination, copy.source);
    if (pair.destination == copy.destination && pair.source == copy.source && pair.counters == copy.counters &&
        pair.bytes == copy.bytes && pair.stream == ticket.stream && state_->races.copied_again(pair, ticket))
        [[likely]] {
        return;
    }
    follow_ranges_anew(ticket, pair);
}

void begin_watch(Api api) noexcept {
    CopyFacts& copy = t_thread.copy;
    const auto facts = std::bit_cast<SiteFacts>(FactWords{copy.facts[0], copy.facts[1]});
    const bool upload = facts.direction == Direction::host_to_device;
    const report::Memory& host = upload ? facts.source : facts.destination;
    if (copy.known && (host.flags & report::kMemoryWriteCombined) != 0 && host.kind == MemoryClass::pinned &&
        options().races == RaceUse::trap) {
        t_thread.errands |= kUsedCombined;
    }
    if (info(api).side != Side::driver || !copy.known || copy.watch || facts.kind != SiteKind::copy ||
        (facts.flags & (report::kSiteAsync | report::kSiteCaptured)) != report::kSiteAsync ||
        (!upload && facts.direction != Direction::device_to_host) ||
        (host.kind != MemoryClass::pinned && host.kind != MemoryClass::registered)) {
        return;
    }
    State* state = current_state();
    const std::uint64_t span = upload ? copy.source_span : copy.destination_span;
    // Between the rows of a pitched buffer the host may write as it likes.
    if (state == nullptr || span != 0 ||
        !state->watched.wants(copy.counters->site, t_thread.shard->slot->in_call_since_ns)) {
        return;
    }
    const OwnTime own;
    const bool known = ask_device(*state);
    if (state->watched.is_stopped()) {
        return;
    }
    // A host function that runs between here and the real call would be taken for a write into the copy's memory.
    if (!known || !state->streams.is_next_armed(t_thread.pending)) {
        state->watched.count_unwatched();
        return;
    }
    WatchRequest request;
    request.address = upload ? copy.source : copy.destination;
    request.bytes = copy.bytes;
    request.side = upload ? WatchedSide::source : WatchedSide::destination;
    request.write_combined = (host.flags & report::kMemoryWriteCombined) != 0;
    request.mark = copy.counters->site;
    copy.watch = state->watched.begin(request);
}

// The copy is in its stream, or there is none (an empty ticket).
__attribute__((noinline)) void StreamCall::end_watch_call(const Ticket& ticket) noexcept {
    CopyFacts& copy = t_thread.copy;
    const auto facts = std::bit_cast<SiteFacts>(FactWords{copy.facts[0], copy.facts[1]});
    const bool upload = facts.direction == Direction::host_to_device;
    RangeUse use;
    use.ticket = ticket;
    use.address = upload ? copy.source : copy.destination;
    use.bytes = copy.bytes;
    use.flags = upload ? std::uint8_t{0} : std::uint8_t{kUseWrites};
    use.site = copy.counters->site;
    use.pin_site = copy.pin_site;
    use.thread = t_thread.shard->slot->thread;
    use.call_ns = t_thread.device_call.start_ns;
    const OwnTime own;
    state_->watched.issued(copy.watch, use);
    copy.watch = {};
}

__attribute__((noinline)) void StreamCall::follow_ranges_anew(const Ticket& ticket, KnownPair& pair) noexcept {
    const CopyFacts& copy = t_thread.copy;
    Shard& shard = *t_thread.shard;
    pair.counters = nullptr;
    const std::uint32_t thread = shard.slot->thread;
    if (copy.batch) [[unlikely]] {
        for (std::uint32_t i = 0; i < shard.batch.count; ++i) {
            state_->races.copied(shard.known_uses, nullptr, thread, operation_, ticket, shard.batch.ranges[i]);
        }
        shard.batch.count = 0;
        return;
    }
    const auto facts = std::bit_cast<SiteFacts>(FactWords{copy.facts[0], copy.facts[1]});
    CopyRanges ranges;
    ranges.destination = copy.destination;
    ranges.source = copy.source;
    ranges.bytes = copy.bytes;
    ranges.destination_span = copy.destination_span;
    ranges.source_span = copy.source_span;
    ranges.site = copy.counters->site;
    ranges.pin_site = copy.pin_site;
    ranges.destination_is = facts.kind == SiteKind::prefetch ? MemoryClass::none : facts.destination.kind;
    ranges.source_is = facts.kind == SiteKind::copy ? facts.source.kind : MemoryClass::none;
    ranges.order = facts.source_order;
    ranges.call_ns = t_thread.device_call.start_ns;
    pair.counters = copy.counters;
    pair.bytes = 0;  // until it is known
    state_->races.copied(shard.known_uses, &pair, thread, operation_, ticket, ranges);
    if (state_->watches_pageable && facts.source.kind == MemoryClass::pageable &&
        (facts.flags & report::kSiteAsync) != 0 && facts.direction == Direction::host_to_device) {
        watch_pageable(ticket, ranges);
    }
}

// Whether the source is left alone until the copy is known to be complete, as one that is not staged would have to be.
void StreamCall::watch_pageable(const Ticket& ticket, const CopyRanges& ranges) noexcept {
    // A thread's own stack is full of other things, and the kernel makes it grow.
    const bool on_stack = ranges.source > caller_.frame && ranges.source < stack_top();
    if (on_stack || ranges.source_span != 0 || !ask_device(*state_) ||
        state_->reaches_pageable.load(std::memory_order_relaxed) || !state_->watched.wants(ranges.site, now_ns())) {
        return;
    }
    const OwnTime own;
    WatchRequest request;
    request.address = ranges.source;
    request.bytes = ranges.bytes;
    request.pageable = true;
    request.mark = ranges.site;
    RangeUse use;
    use.ticket = ticket;
    use.address = ranges.source;
    use.bytes = ranges.bytes;
    use.flags = kUsePageable;
    use.site = ranges.site;
    use.thread = t_thread.shard->slot->thread;
    if (const WatchTicket watch = state_->watched.begin(request)) {
        state_->watched.issued(watch, use);
    }
}

namespace {

// Stack memory below the frame of whoever launches the graph: of a function that has returned.
void look_for_stack(State& state, const GraphWork& work, const CopyRanges& ranges, const Ticket& ticket,
                    std::uintptr_t frame) noexcept {
    const bool upload = work.direction == Direction::host_to_device;
    const std::uintptr_t address = upload ? ranges.source : ranges.destination;
    if (work.stack_thread != t_thread.shard->slot->thread || address >= frame) {
        return;
    }
    FoundRace race;
    race.rule = report::RaceRule::graph_buffer_gone;
    race.copy.address = address;
    race.copy.bytes = race.end = ranges.bytes;
    race.copy.ticket = ticket;
    race.copy.site = work.origin;
    race.copy.thread = race.other_thread = t_thread.shard->slot->thread;
    race.other_site = t_thread.simple_site;
    race.graph_launches = 1;
    state.races.add(race);
}

}  // namespace

void StreamCall::follow_graph_ranges(const void* executable, const Ticket& ticket) noexcept {
    const ExecGraph* graph = ticket && state_->follows_ranges && t_thread.shard != nullptr
                                 ? state_->graphs.find(reinterpret_cast<std::uintptr_t>(executable))
                                 : nullptr;
    if (graph == nullptr) {
        return;
    }
    const std::uintptr_t frame = std::max(caller_.frame, t_thread.guard);
    for (const GraphWork& work : *graph) {
        if (!work.enabled) {
            continue;
        }
        CopyRanges ranges;
        ranges.destination = work.destination_address;
        ranges.source = work.source_address;
        ranges.bytes = work.bytes;
        ranges.destination_span = work.destination_span;
        ranges.source_span = work.source_span;
        ranges.site = work.origin;
        ranges.destination_is = work.destination.kind;
        ranges.source_is = work.kind == SiteKind::copy ? work.source.kind : MemoryClass::none;
        ranges.in_graph = true;
        state_->races.copied(t_thread.shard->known_uses, nullptr, t_thread.shard->slot->thread, operation_, ticket,
                             ranges);
        if (work.stack_thread != 0) {
            look_for_stack(*state_, work, ranges, ticket, frame);
        }
    }
}

// CUDA Driver API, "API synchronization behavior", of functions without "Async": uploads wait for the stream first, and
// are complete on return from page-locked memory; downloads are complete on return; copies on the device do not wait;
// copies between host memory are fully synchronous; fills are asynchronous except of page-locked memory. Older editions
// promise the same of managed memory, later ones do not: nothing is learned there.
__attribute__((noinline)) void StreamCall::copied_blocking(int status) noexcept {
    if (status != 0 || operation_.entry == nullptr) {
        return;
    }
    const Ticket ticket = issued(status);
    CopyFacts& copy = t_thread.copy;
    const auto facts = std::bit_cast<SiteFacts>(FactWords{copy.facts[0], copy.facts[1]});
    bool waits = false;
    bool complete = false;
    if (copy.counters != nullptr) {
        Streams::name_work(operation_, ticket, copy.counters->site);
    }
    if (!copy.known || copy.batch) {
    } else if (facts.kind == SiteKind::fill) {
        waits = complete = is_page_locked(facts.destination.kind);
    } else if (facts.direction == Direction::host_to_device) {
        waits = true;
        complete = is_page_locked(facts.source.kind);
    } else if (facts.direction == Direction::device_to_host || facts.direction == Direction::host_to_host) {
        waits = complete = true;
    }
    if (waits) {
        streams().learned(operation_);
    }
    if (copy.known && ticket) {
        follow_ranges(complete ? Streams::complete_place(operation_, ticket) : ticket);
    }
    copy.known = false;
    if (complete) {
        streams().completed(operation_, ticket);
    }
    if (waits) {
        host_learned(*state_);
    }
}

__attribute__((noinline)) void StreamCall::issued_gate(int status, std::uint64_t gate) noexcept {
    if (status == 0 && operation_.entry != nullptr) {
        const KeepErrno keep;
        streams().issued_gate(operation_, gate);
        if (!Streams::is_reported(operation_)) {
            report_stream();
        }
    }
}

namespace {

void look_at_context(State& state, std::uintptr_t handle) noexcept {
    ContextPending& pending = t_thread.context_pending;
    t_thread.pending.entry = nullptr;
    pending.known = handle != 0;
    if (pending.known) {
        pending.work = state.streams.pending_in_context(handle);
    }
}

}  // namespace

void look_at_context(State& state, const Caller& caller) noexcept {
    const KeepErrno keep;
    look_at_context(state, state.after_fork ? 0 : current_context(state, caller));
}

ContextWait begin_context_wait(State& state, const Caller& caller, const void* context) noexcept {
    const KeepErrno keep;
    std::uintptr_t handle = reinterpret_cast<std::uintptr_t>(context);
    if (handle == 0) {
        handle = current_context(state, caller);
    }
    look_at_context(state, handle);
    return state.streams.begin_context_wait(handle);
}

}  // namespace pincheck
