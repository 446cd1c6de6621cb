#include "hook_copy.h"

#include "clock.h"
#include "process_info.h"

namespace pincheck {

using report::Direction;
using report::MemoryClass;
using report::StreamKind;

bool Hook::attach_thread_to(State& state, ThreadState& thread, const Caller& caller) noexcept {
    return attach_thread(state, thread, caller);
}

Direction direction_of_kind(int kind) noexcept {
    switch (kind) {
        case 0:
            return Direction::host_to_host;
        case 1:
            return Direction::host_to_device;
        case 2:
            return Direction::device_to_host;
        case 3:
            return Direction::device_to_device;
        default:
            return Direction::unknown;
    }
}

StreamKind stream_kind(Api api, void* stream) noexcept {
    switch (reinterpret_cast<std::uintptr_t>(stream)) {
        case 0:
            return info(api).variant == Variant::per_thread ? StreamKind::per_thread_default
                                                            : StreamKind::legacy_default;
        case 1:
            return StreamKind::legacy_default;
        case 2:
            return StreamKind::per_thread_default;
        default:
            return StreamKind::created;
    }
}

std::uintptr_t stream_identity(Api api, void* stream) noexcept {
    switch (stream_kind(api, stream)) {
        case StreamKind::legacy_default:
            return 1;
        case StreamKind::per_thread_default:
            return 2;
        default:
            return reinterpret_cast<std::uintptr_t>(stream);
    }
}

namespace {

bool is_host(MemoryClass kind) noexcept {
    return kind == MemoryClass::pageable || kind == MemoryClass::pinned || kind == MemoryClass::registered ||
           kind == MemoryClass::partly_registered;
}

// Managed memory counts as the device's side where the other side is the host's, and the other way round.
Direction direction_between(MemoryClass source, MemoryClass destination) noexcept {
    if (source == MemoryClass::unknown || destination == MemoryClass::unknown) {
        return Direction::unknown;
    }
    if (is_host(source)) {
        return is_host(destination) ? Direction::host_to_host : Direction::host_to_device;
    }
    return is_host(destination) ? Direction::device_to_host : Direction::device_to_device;
}

constexpr unsigned bit(MemoryClass kind) noexcept {
    return 1u << static_cast<unsigned>(kind);
}

// Sites worth an own stack a call: what may be reported. Page-locked copies are only counted.
bool is_offender(const SiteFacts& facts) noexcept {
    constexpr unsigned kBad = bit(MemoryClass::pageable) | bit(MemoryClass::managed) |
                              bit(MemoryClass::partly_registered) | bit(MemoryClass::unknown);
    return ((bit(facts.source.kind) | bit(facts.destination.kind)) & kBad) != 0;
}

constexpr report::Memory kDevice{MemoryClass::device, 0, 0};

}  // namespace

// Both sides where the caller did not say which is the host's.
__attribute__((noinline)) void CopyHook::ask_both_sides(bool may_ask) noexcept {
    const PointerClass source = classify(state(), arguments_->source, arguments_->bytes, may_ask);
    const PointerClass destination = classify(state(), arguments_->destination, arguments_->bytes, may_ask);
    facts_.source = source.memory;
    facts_.destination = destination.memory;
    if (arguments_->direction != Direction::host_to_host) {
        facts_.direction = direction_between(source.memory.kind, destination.memory.kind);
    }
    ask_again_ = source.ask_again || destination.ask_again;
    allocation_site_ = source.allocation_site != 0 ? source.allocation_site : destination.allocation_site;
}

inline __attribute__((always_inline)) void CopyHook::classify_sides() noexcept {
    const bool may_ask =
        !state().after_fork && !t_thread.driver_owned && state().open_captures.load(std::memory_order_relaxed) == 0;
    facts_.direction = arguments_->direction;
    facts_.source = kDevice;
    facts_.destination = kDevice;
    const bool upload = arguments_->direction == Direction::host_to_device;
    if (upload || arguments_->direction == Direction::device_to_host) {
        const PointerClass host =
            classify(state(), upload ? arguments_->source : arguments_->destination, arguments_->bytes, may_ask);
        (upload ? facts_.source : facts_.destination) = host.memory;
        ask_again_ = host.ask_again;
        allocation_site_ = host.allocation_site;
    } else if (arguments_->direction != Direction::device_to_device) {
        ask_both_sides(may_ask);
    }
    const unsigned exact = is_offender(facts_) ? unsigned{report::kSiteExactStack} : 0u;
    facts_.flags = static_cast<std::uint16_t>((facts_.flags & ~unsigned{report::kSiteExactStack}) | exact);
}

// The driver could not say what the memory is before it was initialised, which the call itself did.
__attribute__((noinline)) void CopyHook::classify_after_all() noexcept {
    classify_sides();
    find_counters();
}

void CopyHook::find_counters() noexcept {
    counters_ = counters_of(state(), t_thread, facts_, caller(), rule());
}

bool CopyHook::before(const CopyArguments& arguments) noexcept {
    if (!enter()) {
        return false;
    }
    ThreadState& thread = t_thread;
    thread.last_copy = nullptr;
    arguments_ = &arguments;
    facts_.api = api();
    facts_.kind = report::SiteKind::copy;
    facts_.stream = stream_kind(api(), arguments.stream);
    facts_.flags = static_cast<std::uint16_t>((arguments.async ? report::kSiteAsync : 0) |
                                              (thread.driver_owned ? report::kSiteOnDriverThread : 0));
    if (state().open_captures.load(std::memory_order_relaxed) != 0 && arguments.async &&
        state().is_capturing(stream_identity(api(), arguments.stream))) {
        facts_.flags |= report::kSiteCaptured;
    }
    classify_sides();
    // Known before the call, since a pageable copy may hang; where the driver could not answer yet, after it.
    if (!ask_again_) {
        find_counters();
    }
    report::ThreadSlot& slot = *thread.shard->slot;
    report::store(slot.in_call_api, state().api_name(api()));
    start_ns_ = now_ns();
    report::store(slot.in_call_since_ns, start_ns_);
    return true;
}

void CopyHook::after(int status) noexcept {
    const std::uint64_t end_ns = now_ns();
    ThreadState& thread = t_thread;
    report::ThreadSlot& slot = *thread.shard->slot;
    report::store(slot.in_call_since_ns, std::uint64_t{0});
    report::store(slot.calls, slot.calls + 1);
    if (ask_again_) {
        classify_after_all();
    }
    if (facts_.source.kind == MemoryClass::unknown || facts_.destination.kind == MemoryClass::unknown) {
        state().image.lose(report::Loss::not_classified, 1, 0, end_ns);
    }
    if (counters_ != nullptr) {
        add_call(*counters_, {status, arguments_->bytes, start_ns_, end_ns});
        if (allocation_site_ != 0 && counters_->allocation_site != allocation_site_) {
            report::store(counters_->allocation_site, allocation_site_);
        }
    }
    if (status == 0 && (facts_.flags & report::kSiteCaptured) == 0) {
        thread.last_copy = counters_;
        thread.last_copy_stream = stream_identity(api(), arguments_->stream);
        if (!thread.asked_device && !thread.driver_owned && !state().after_fork &&
            state().open_captures.load(std::memory_order_relaxed) == 0) {
            thread.asked_device = true;
            record_device(state());
        }
    }
    leave();
}

}  // namespace pincheck
