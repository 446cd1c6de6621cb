#include "hook_copy.h"

#include <bit>

#include "clock.h"
#include "cupti_calls.h"
#include "memory_detail.h"
#include "process_info.h"
#include "stack_walk.h"
#include "stream_capture.h"
#include "waits.h"

namespace pincheck {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;
using report::StreamKind;

bool Hook::attach_thread_to(State& state, ThreadState& thread, const Caller& caller) noexcept {
    return attach_thread(state, thread, caller);
}

namespace {

constexpr report::Memory kDevice{MemoryClass::device, 0, 0};

// The symbol's side of cudaMemcpyToSymbol and cudaMemcpyFromSymbol, which the driver's call shows as an address.
void name_symbol(Api api, SiteFacts& facts) noexcept {
    if (info(api).symbol_side == SymbolSide::destination && facts.destination.kind == MemoryClass::device) {
        facts.destination.kind = MemoryClass::device_symbol;
    } else if (info(api).symbol_side == SymbolSide::source && facts.source.kind == MemoryClass::device) {
        facts.source.kind = MemoryClass::device_symbol;
    }
}

}  // namespace

// Both sides where the caller did not say which is the host's, or said what cannot be.
__attribute__((noinline)) void CopyHook::ask_both_sides(bool may_ask) noexcept {
    const AskedSides sides = ask_sides(state(), *arguments_, may_ask);
    facts_.source = sides.source;
    facts_.destination = sides.destination;
    facts_.direction = sides.direction;
    ask_again_ = sides.ask_again;
    allocation_site_ = sides.allocation_site;
}

void CopyHook::classify_sides() noexcept {
    const bool may_ask = t_thread.may_ask;
    const CopyArguments& copy = *arguments_;
    facts_.direction = copy.direction;
    facts_.source = kDevice;
    facts_.destination = kDevice;
    const bool upload = copy.direction == Direction::host_to_device;
    if (copy.kind != SiteKind::copy) {
        ask_both_sides(may_ask);
    } else if (upload || copy.direction == Direction::device_to_host) {
        const PointerClass host =
            classify(state(), upload ? copy.source : copy.destination,
                     span_or(upload ? copy.source_span : copy.destination_span, copy.bytes), may_ask);
        (upload ? facts_.source : facts_.destination) = host.memory;
        const MemoryClass other = upload ? copy.destination_is : copy.source_is;
        if (other != MemoryClass::none) {
            (upload ? facts_.destination : facts_.source).kind = other;
        }
        ask_again_ = host.ask_again;
        allocation_site_ = host.allocation_site;
        // "Host to device" of device memory is a copy on the device (unified addressing; measured: it succeeds).
        if (host.memory.kind == MemoryClass::device) [[unlikely]] {
            ask_both_sides(may_ask);
        }
    } else if (copy.direction != Direction::device_to_device) {
        ask_both_sides(may_ask);
    } else {
        facts_.source.kind = copy.source_is != MemoryClass::none ? copy.source_is : MemoryClass::device;
        facts_.destination.kind = copy.destination_is != MemoryClass::none ? copy.destination_is : MemoryClass::device;
    }
    if (is_named()) {
        name_symbol(api(), facts_);
    }
    const unsigned exact = is_offender(facts_.destination, facts_.source) ? unsigned{report::kSiteExactStack} : 0u;
    facts_.flags = static_cast<std::uint16_t>((facts_.flags & ~unsigned{report::kSiteExactStack}) | exact);
}

inline __attribute__((always_inline)) void CopyHook::find_counters() noexcept {
    t_thread.created_site = 0;
    counters_ = counters_of(state(), t_thread, facts_, report::size_class(arguments_->bytes), caller(), rule());
    if (t_thread.created_site != 0) [[unlikely]] {
        describe_new_site();
    }
}

// The driver could not say what the memory is before it was initialised, which the call itself did.
__attribute__((noinline)) void CopyHook::classify_after_all() noexcept {
    classify_sides();
    find_counters();
}

// More about the host's memory, once a site.
__attribute__((noinline)) void CopyHook::describe_new_site() noexcept {
    const std::uint32_t site = t_thread.created_site;
    t_thread.created_site = 0;
    const CopyArguments& copy = *arguments_;
    describe_memory(state(), site, facts_.source.kind, copy.source, span_or(copy.source_span, copy.bytes));
    describe_memory(state(), site, facts_.destination.kind, copy.destination,
                    span_or(copy.destination_span, copy.bytes));
}

__attribute__((noinline)) void CopyHook::set_facts(const CopyArguments& arguments) noexcept {
    ask_again_ = false;
    allocation_site_ = 0;
    facts_.api = api();
    facts_.kind = arguments.kind;
    facts_.source_order = arguments.source_order;
    facts_.stream = stream_kind(api(), arguments.stream);
    // The runtime may carry out a blocking function by an asynchronous one of the driver.
    const bool async = arguments.async && (!is_named() || info(api()).async);
    facts_.flags = static_cast<std::uint16_t>((async ? report::kSiteAsync : 0) |
                                              (t_thread.driver_owned ? report::kSiteOnDriverThread : 0));
    if (arguments.graph_node) {
        facts_.flags |= report::kSiteCaptured;
        facts_.stream = StreamKind::none;
    } else if (state().open_captures.load(std::memory_order_relaxed) != 0 && arguments.async &&
               is_capturing(state(), stream_identity(api(), arguments.stream))) {
        facts_.flags |= report::kSiteCaptured;
    }
    classify_sides();
}

// Most copies are between linear host memory and the device, outside of captures.
inline __attribute__((always_inline)) bool CopyHook::is_simple(const CopyArguments& arguments) const noexcept {
    return arguments.is_linear() &&
           (arguments.direction == Direction::host_to_device || arguments.direction == Direction::device_to_host) &&
           !is_named() && state().open_captures.load(std::memory_order_relaxed) == 0;
}

inline __attribute__((always_inline)) PointerClass CopyHook::classify_host(
    const CopyArguments& arguments) const noexcept {
    const bool upload = arguments.direction == Direction::host_to_device;
    const std::uint64_t span = upload ? arguments.source_span : arguments.destination_span;
    return classify_quickly(state(), upload ? arguments.source : arguments.destination, span_or(span, arguments.bytes),
                            t_thread.may_ask);
}

// What set_facts() says of a simple copy, put together in two registers.
inline __attribute__((always_inline)) FactWords CopyHook::simple_facts(const CopyArguments& arguments,
                                                                       report::Memory host) const noexcept {
    const bool upload = arguments.direction == Direction::host_to_device;
    const unsigned flags = (arguments.async ? unsigned{report::kSiteAsync} : 0u) |
                           (t_thread.driver_owned ? unsigned{report::kSiteOnDriverThread} : 0u) |
                           (is_offender(kDevice, host) ? unsigned{report::kSiteExactStack} : 0u);
    return pack_facts(api(), SiteKind::copy, arguments.direction, stream_kind(api(), arguments.stream),
                      arguments.source_order, static_cast<std::uint16_t>(flags), upload ? kDevice : host,
                      upload ? host : kDevice);
}

inline Shard::KnownCopy& known_copy(std::uintptr_t place) noexcept {
    return t_thread.shard->known_copies[(place ^ place >> 6 ^ place >> 12) % Shard::kKnownCopies];
}

// A place that copies as it did before need not find out again what its facts and its counters are. What is the same
// for every call of one function is not in the key.
inline __attribute__((always_inline)) void CopyHook::find_simple(const CopyArguments& arguments,
                                                                 report::Memory host) noexcept {
    const std::uintptr_t place = caller().return_address;
    const std::uint64_t what = static_cast<std::uint64_t>(api()) |
                               static_cast<std::uint64_t>(arguments.direction) << 16 |
                               static_cast<std::uint64_t>(stream_kind(api(), arguments.stream)) << 24 |
                               static_cast<std::uint64_t>(rule().bits()) << 32 |
                               static_cast<std::uint64_t>(report::size_class(arguments.bytes)) << 40;
    const Shard::KnownCopy& known = known_copy(place);
    if (known.return_address != place || known.what != what ||
        std::bit_cast<std::uint32_t>(known.host) != std::bit_cast<std::uint32_t>(host)) [[unlikely]] {
        find_simple_anew(arguments, host, what);
        return;
    }
    __builtin_memcpy(static_cast<void*>(&facts_), known.facts, sizeof(facts_));
    counters_ = known.counter;
    if (counters_ == nullptr) {
        find_counters();
    }
}

__attribute__((noinline)) void CopyHook::find_simple_anew(const CopyArguments& arguments, report::Memory host,
                                                          std::uint64_t what) noexcept {
    const FactWords facts = simple_facts(arguments, host);
    __builtin_memcpy(static_cast<void*>(&facts_), &facts, sizeof(facts_));
    find_counters();
    const std::uintptr_t place = caller().return_address;
    known_copy(place) = {place, what, {facts[0], facts[1]}, host, has_one_frame(facts_, rule()) ? counters_ : nullptr};
}

inline __attribute__((always_inline)) void CopyHook::show_in_call() noexcept {
    report::ThreadSlot& slot = *t_thread.shard->slot;
    report::store(slot.in_call_api, state().api_name(api()));
    report::store(t_thread.shard->in_call, counters_);
    const std::uint64_t start_ns = now_ns();
    own_ns_ = t_thread.own_ns;
    start_ns_ = start_ns;
    report::store(slot.in_call_since_ns, start_ns);
    cupti::begin_call(t_thread, start_ns);
}

// For whoever follows the driver's call (hook_stream.h).
inline __attribute__((always_inline)) void CopyHook::leave_facts(const CopyArguments& arguments) noexcept {
    CopyFacts& copy = t_thread.copy;
    copy.counters = counters_;
    copy.known = counters_ != nullptr && !arguments.graph_node;  // without: may be classified after the call
    copy.batch = false;
    __builtin_memcpy(copy.facts, static_cast<const void*>(&facts_), sizeof(facts_));
    copy.destination = arguments.destination;
    copy.source = arguments.source;
    copy.bytes = arguments.bytes;
    copy.destination_span = arguments.destination_span;
    copy.source_span = arguments.source_span;
    copy.pin_site = allocation_site_;
}

bool CopyHook::before(const CopyArguments& arguments) noexcept {
    const bool is_runtime = info(api()).side == Side::runtime;
    if (!enter()) {
        return false;
    }
    if (is_runtime) {
        forget_pending(t_thread);
    }
    t_thread.last_copy = nullptr;
    counters_ = nullptr;
    arguments_ = &arguments;
    // Counters are found before the call, since a pageable copy may hang; where the driver could not answer yet, after.
    PointerClass host;
    if (is_simple(arguments) && (host = classify_host(arguments)).memory.kind != MemoryClass::device && !host.ask_again)
        [[likely]] {
        allocation_site_ = host.allocation_site;
        find_simple(arguments, host.memory);
    } else {
        set_facts(arguments);
        if (!ask_again_) {
            find_counters();
        } else {
            t_thread.errands |= kClassify;
        }
    }
    leave_facts(arguments);
    show_in_call();
    return true;
}

__attribute__((noinline)) void CopyHook::lose_unclassified(std::uint64_t end_ns) noexcept {
    state().image.lose(report::Loss::not_classified, 1, 0, end_ns);
}

__attribute__((noinline)) void CopyHook::remember_captured() noexcept {
    const std::uintptr_t host =
        facts_.direction == Direction::device_to_host ? arguments_->destination : arguments_->source;
    const bool on_stack = host > caller().frame && host < stack_top();
    state().graphs.remember({arguments_->destination, arguments_->source, arguments_->bytes,
                             counters_ != nullptr ? counters_->site : 0, api(),
                             on_stack ? t_thread.shard->slot->thread : 0});
}

inline __attribute__((always_inline)) void CopyHook::count(int status, std::uint64_t end_ns) noexcept {
    if (facts_.source.kind == MemoryClass::unknown || facts_.destination.kind == MemoryClass::unknown) [[unlikely]] {
        lose_unclassified(end_ns);
    }
    if (counters_ != nullptr) {
        add_call(*counters_, {status, arguments_->bytes, start_ns_, end_ns});
        if (allocation_site_ != 0 && counters_->allocation_site != allocation_site_) {
            report::store(counters_->allocation_site, allocation_site_);
        }
    }
    if (status != 0) {
        return;
    }
    if ((facts_.flags & report::kSiteCaptured) != 0) [[unlikely]] {
        remember_captured();
    } else if (facts_.kind == SiteKind::copy) {
        t_thread.last_copy = counters_;
        t_thread.last_copy_stream = stream_identity(api(), arguments_->stream);
    }
}

bool ask_device(State& state) noexcept {
    if ((t_thread.errands & kAskDevice) != 0 && t_thread.may_ask &&
        state.open_captures.load(std::memory_order_relaxed) == 0) {
        t_thread.errands &= static_cast<Errands>(~kAskDevice);
        record_device(state);
    }
    return (t_thread.errands & kAskDevice) == 0;
}

// Why the call held the host.
__attribute__((noinline)) void CopyHook::held(int status, std::uint64_t end_ns) noexcept {
    HeldCall call;
    add_pending(t_thread, call);
    call.kind = facts_.kind;
    call.destination = facts_.destination.kind;
    call.source = facts_.source.kind;
    call.bytes = arguments_->bytes;
    call.async = (facts_.flags & report::kSiteAsync) != 0;
    call.captured = (facts_.flags & report::kSiteCaptured) != 0;
    call.status = status;
    record_wait(state(), t_thread, counters_ != nullptr ? counters_->site : 0, call, start_ns_, end_ns);
}

// CUPTI's records of the call are found by what is said here.
void CopyHook::tell_device_call(std::uint64_t end_ns) noexcept {
    const std::uint32_t site = counters_ != nullptr ? counters_->site : 0;
    cupti::call_ended(t_thread, {site, t_thread.shard->slot->thread, start_ns_, end_ns});
}

__attribute__((noinline)) void CopyHook::run_errands(int status, std::uint64_t end_ns) noexcept {
    ThreadState& thread = t_thread;
    const Errands errands = thread.errands;
    thread.errands &= kAskDevice | kIdTold;
    if ((errands & kClassify) != 0) {
        classify_after_all();
    }
    if (cupti::id_was_told(thread)) {
        tell_device_call(end_ns);
    }
    if ((errands & kSayWhyHeld) != 0) {
        held(status, end_ns);
    }
    if (status == 0 && (errands & kAskDevice) != 0) {
        ask_device(state());
    }
    if ((errands & kUsedCombined) != 0) {
        const bool download = facts_.direction == Direction::device_to_host;
        const std::uintptr_t host = download ? arguments_->destination : arguments_->source;
        state().watched.combined_used(host, ask_device(state()));
    }
}

void CopyHook::after(int status) noexcept {
    ThreadState& thread = t_thread;
    const std::uint64_t end_ns = now_ns() - (thread.own_ns - own_ns_);
    report::ThreadSlot& slot = *thread.shard->slot;
    if (is_held(state(), end_ns - start_ns_)) [[unlikely]] {
        show_long_call(*thread.shard, start_ns_, end_ns, counters_ != nullptr ? counters_->site : 0);
        thread.errands |= kSayWhyHeld;
    }
    report::store(slot.in_call_since_ns, std::uint64_t{0});
    report::store(slot.calls, slot.calls + 1);
    if (thread.errands != 0) [[unlikely]] {
        run_errands(status, end_ns);
    }
    count(status, end_ns);
    leave();
}

bool CopyHook::before_batch() noexcept {
    const bool is_runtime = info(api()).side == Side::runtime;
    if (!enter()) {
        return false;
    }
    if (is_runtime) {
        forget_pending(t_thread);
    }
    t_thread.last_copy = nullptr;
    counters_ = nullptr;
    t_thread.copy = {};
    t_thread.shard->batch.count = 0;
    show_in_call();
    return true;
}

void CopyHook::after_batch(int status) noexcept {
    end_ns_ = now_ns();
    status_ = status;
    report::ThreadSlot& slot = *t_thread.shard->slot;
    report::store(slot.in_call_since_ns, std::uint64_t{0});
    report::store(slot.calls, slot.calls + 1);
}

void CopyHook::record(const CopyArguments& arguments, std::uint64_t copies_of_call) noexcept {
    arguments_ = &arguments;
    set_facts(arguments);
    find_counters();
    // The records do not say which of the batch's copies they are of: all are of the first one's site.
    if (cupti::id_was_told(t_thread)) {
        tell_device_call(end_ns_);
    }
    const std::uint64_t end_ns = start_ns_ + (end_ns_ - start_ns_) / copies_of_call;
    count(status_, end_ns);
    if (status_ == 0) {
        add_to_batch(arguments);
    }
    if (is_held(state(), end_ns_ - start_ns_)) {
        held(status_, end_ns);
    }
}

// For whoever follows the driver's call.
void CopyHook::add_to_batch(const CopyArguments& arguments) noexcept {
    BatchRanges& batch = t_thread.shard->batch;
    if (batch.count == BatchRanges::kMax) {
        state().image.lose(report::Loss::in_flight, 1, 0, end_ns_);
        return;
    }
    CopyRanges& ranges = batch.ranges[batch.count++];
    ranges.destination = arguments.destination;
    ranges.source = arguments.source;
    ranges.bytes = arguments.bytes;
    ranges.destination_span = arguments.destination_span;
    ranges.source_span = arguments.source_span;
    ranges.site = counters_ != nullptr ? counters_->site : 0;
    ranges.pin_site = allocation_site_;
    ranges.destination_is = facts_.destination.kind;
    ranges.source_is = facts_.source.kind;
    ranges.order = arguments.source_order;
    ranges.is_batch = true;
    t_thread.copy.known = t_thread.copy.batch = true;
}

void CopyHook::leave_batch() noexcept {
    if (cupti::id_was_told(t_thread)) {
        tell_device_call(end_ns_);
    }
    leave();
}

}  // namespace pincheck
