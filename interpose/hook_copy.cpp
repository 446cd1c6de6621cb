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

// Sites worth an own stack a call: what may be reported. Page-locked copies are only counted.
bool is_offender(const SiteFacts& facts) noexcept {
    const auto bad = [](const report::Memory& memory) {
        return memory.kind == MemoryClass::pageable || memory.kind == MemoryClass::managed ||
               memory.kind == MemoryClass::partly_registered || memory.kind == MemoryClass::unknown;
    };
    return facts.direction != Direction::device_to_device && (bad(facts.source) || bad(facts.destination));
}

}  // namespace

void CopyHook::ask_both_sides(const CopyArguments& arguments) noexcept {
    const ThreadState& thread = t_thread;
    const bool may_ask =
        !state().after_fork && !thread.driver_owned && state().open_captures.load(std::memory_order_relaxed) == 0;
    const auto ask = [&](std::uintptr_t pointer) {
        const PointerClass answer = classify(state(), pointer, arguments.bytes == 0 ? 1 : arguments.bytes, may_ask);
        ask_again_ = ask_again_ || answer.ask_again;
        if (answer.allocation_site != 0) {
            allocation_site_ = answer.allocation_site;
        }
        return answer.memory;
    };
    const report::Memory device{MemoryClass::device, 0, 0};
    ask_again_ = false;
    facts_.direction = arguments.direction;
    switch (arguments.direction) {
        case Direction::host_to_device:
            facts_.source = ask(arguments.source);
            facts_.destination = device;
            break;
        case Direction::device_to_host:
            facts_.source = device;
            facts_.destination = ask(arguments.destination);
            break;
        case Direction::device_to_device:
            facts_.source = device;
            facts_.destination = device;
            break;
        default:
            facts_.source = ask(arguments.source);
            facts_.destination = ask(arguments.destination);
            if (arguments.direction != Direction::host_to_host) {
                facts_.direction = direction_between(facts_.source.kind, facts_.destination.kind);
            }
            break;
    }
    facts_.flags = static_cast<std::uint16_t>((facts_.flags & ~report::kSiteExactStack) |
                                              (is_offender(facts_) ? report::kSiteExactStack : 0));
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
    arguments_ = arguments;
    facts_.api = api();
    facts_.kind = report::SiteKind::copy;
    facts_.stream = arguments.has_stream ? stream_kind(api(), arguments.stream) : stream_kind(api(), nullptr);
    facts_.flags = static_cast<std::uint16_t>((arguments.async ? report::kSiteAsync : 0) |
                                              (thread.driver_owned ? report::kSiteOnDriverThread : 0));
    if (state().open_captures.load(std::memory_order_relaxed) != 0 && arguments.async &&
        state().is_capturing(stream_identity(api(), arguments.stream))) {
        facts_.flags |= report::kSiteCaptured;
    }
    ask_both_sides(arguments);
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
        ask_both_sides(arguments_);
        find_counters();
    }
    if (facts_.source.kind == MemoryClass::unknown || facts_.destination.kind == MemoryClass::unknown) {
        state().image.lose(report::Loss::not_classified, 1, 0, end_ns);
    }
    if (counters_ != nullptr) {
        add_call(*counters_, {status, arguments_.bytes, start_ns_, end_ns});
        if (allocation_site_ != 0 && counters_->allocation_site != allocation_site_) {
            report::store(counters_->allocation_site, allocation_site_);
        }
    }
    if (status == 0 && (facts_.flags & report::kSiteCaptured) == 0) {
        thread.last_copy = counters_;
        thread.last_copy_stream = stream_identity(api(), arguments_.has_stream ? arguments_.stream : nullptr);
        if (!thread.asked_device && !thread.driver_owned && !state().after_fork &&
            state().open_captures.load(std::memory_order_relaxed) == 0) {
            thread.asked_device = true;
            record_device(state());
        }
    }
    leave();
}

}  // namespace pincheck
