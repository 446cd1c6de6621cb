#include "wait_cause.h"

namespace pincheck {
namespace {

using report::MemoryClass;
using report::SiteKind;
using report::WaitCause;
using report::WaitEvidence;

// Pageable uploads from here on wait for the work before them; up to 2 MiB they are staged, between nothing was
// measured.
constexpr std::uint64_t kWaitingUpload = 4ull << 20;

// Staging 2 MiB took 330 us at most. A call that took ten times as long as that rate allows had to wait until the work
// before it made room.
constexpr std::uint64_t longest_staging_ns(std::uint64_t bytes) noexcept {
    return 200'000 + bytes * 2;
}

bool is_staged(MemoryClass kind) noexcept {
    return kind == MemoryClass::pageable || kind == MemoryClass::host_pool;
}

bool is_host(MemoryClass kind) noexcept {
    return is_staged(kind) || kind == MemoryClass::pinned || kind == MemoryClass::registered ||
           kind == MemoryClass::partly_registered;
}

WaitVerdict behind(WaitCause cause, const PendingWork& work) noexcept {
    return {cause, WaitEvidence::order, work.site, 0, work.stream};
}

// By what the call is, and where there was work in front of it, behind which.
WaitVerdict by_call(WaitCause cause, const PendingWork& work) noexcept {
    return work.is_there() ? behind(cause, work) : WaitVerdict{cause};
}

// Of a call that by itself waits for nothing.
WaitVerdict not_by_itself(const HeldCall& call) noexcept {
    if (call.beside_other) {
        return {WaitCause::lock, WaitEvidence::call, call.other_site};
    }
    return {};
}

// Of a call that only puts something into a stream.
WaitVerdict of_issue(const HeldCall& call) noexcept {
    if (call.takes_slot && call.own.known && call.own.items >= kFullQueue) {
        WaitVerdict full = behind(WaitCause::queue_full, call.own);
        full.items = call.own.items;
        return full;
    }
    if (call.first_use) {
        return {WaitCause::module_loading, call.own.known ? WaitEvidence::order : WaitEvidence::call};
    }
    return not_by_itself(call);
}

// What it is behind, newest first.
const PendingWork& in_front_of(const HeldCall& call) noexcept {
    return call.joined.is_there() ? call.joined : call.own;
}

WaitVerdict of_staged_upload(const HeldCall& call) noexcept {
    const bool always_waits = call.bytes >= kWaitingUpload;
    if (always_waits || (call.async && call.host_ns > longest_staging_ns(call.bytes))) {
        WaitVerdict verdict;
        if (call.joined.is_there()) {
            verdict = behind(WaitCause::legacy_stream, call.joined);
        } else if (call.own.is_there()) {
            verdict = behind(WaitCause::earlier_work, call.own);
        }
        if (verdict.cause != WaitCause::unknown) {
            // By its duration alone it may as well have been off its core.
            verdict.evidence = always_waits ? WaitEvidence::order : WaitEvidence::call;
            return verdict;
        }
    }
    return {WaitCause::staging, call.own.known ? WaitEvidence::order : WaitEvidence::call};
}

WaitVerdict of_staged_download(const HeldCall& call) noexcept {
    if (call.joined.is_there()) {
        return behind(WaitCause::legacy_stream, call.joined);
    }
    if (call.own.is_there()) {
        return behind(WaitCause::earlier_work, call.own);
    }
    return {WaitCause::staging, call.own.known ? WaitEvidence::order : WaitEvidence::call};
}

WaitVerdict of_copy(const HeldCall& call) noexcept {
    const bool between_hosts = is_host(call.source) && is_host(call.destination);
    const bool staged = is_staged(call.source) || is_staged(call.destination);
    if (between_hosts && (staged || !call.async)) {
        return by_call(WaitCause::host_to_host, in_front_of(call));
    }
    if (!call.async) {
        return by_call(WaitCause::synchronous_copy, in_front_of(call));
    }
    if (call.source == MemoryClass::managed || call.destination == MemoryClass::managed) {
        return by_call(WaitCause::managed, in_front_of(call));
    }
    if (is_staged(call.source)) {
        return of_staged_upload(call);
    }
    return is_staged(call.destination) ? of_staged_download(call) : of_issue(call);
}

// The enum's name for it is documented; that unlocking costs by itself is why there are two causes.
WaitVerdict of_release(const HeldCall& call) noexcept {
    if (call.device.is_there()) {
        return behind(WaitCause::device_wide, call.device);
    }
    if (!call.device.known) {
        return {WaitCause::device_wide};
    }
    return call.page_locks ? WaitVerdict{WaitCause::pinning, WaitEvidence::order} : not_by_itself(call);
}

WaitVerdict of_wait(const HeldCall& call) noexcept {
    if (call.own.is_none() && !call.joined.is_there()) {
        return {call.status == 0 ? WaitCause::idle_sync : WaitCause::unknown, WaitEvidence::order, 0, 0,
                call.own.stream};
    }
    if (call.joined.is_there()) {
        return behind(WaitCause::legacy_stream, call.joined);
    }
    return by_call(WaitCause::requested, call.own);
}

WaitVerdict of_graph_launch(const HeldCall& call) noexcept {
    if (!call.stages) {
        return of_issue(call);
    }
    if (call.joined.is_there()) {
        return behind(WaitCause::legacy_stream, call.joined);
    }
    if (call.own.is_there()) {
        return behind(WaitCause::earlier_work, call.own);
    }
    return {WaitCause::staging, call.own.known ? WaitEvidence::order : WaitEvidence::call};
}

}  // namespace

WaitVerdict cause_of(const HeldCall& call) noexcept {
    if (call.captured) {
        return not_by_itself(call);
    }
    switch (call.kind) {
        case SiteKind::copy:
            return of_copy(call);
        case SiteKind::synchronize:
            return of_wait(call);
        case SiteKind::release:
            return of_release(call);
        case SiteKind::allocate:
            return call.page_locks ? WaitVerdict{WaitCause::pinning} : not_by_itself(call);
        case SiteKind::fill:
        case SiteKind::prefetch:
        case SiteKind::launch:
            return of_issue(call);
        case SiteKind::graph_launch:
            return of_graph_launch(call);
        case SiteKind::module_load:
            return {WaitCause::module_loading};
        case SiteKind::host_function:
        case SiteKind::graph_setup:
        case SiteKind::stream_setup:
        case SiteKind::query:
        case SiteKind::host_access:
            break;
    }
    return not_by_itself(call);
}

}  // namespace pincheck
