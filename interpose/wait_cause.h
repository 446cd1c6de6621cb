// Why a call held the host: a verdict over the facts of that call. Pure.
//
// What blocks, and what does not, was measured on an H200 (driver 580.159.04): a pageable download waits for the work
// before it in its stream, a pageable upload of 4 MiB or more too, a smaller one is staged and returns while there is
// room; every copy of managed memory waits; releasing device or page-locked memory waits for the whole device; a
// launch, a copy or a memset waits for a slot when 1,021 are queued behind a running one.
#pragma once

#include <cstdint>

#include "report/slots.h"

namespace pincheck {

// What the host has issued and does not know to be complete, in one place.
struct PendingWork {
    bool known = false;        // false: not followed, and the rest says nothing
    bool work = false;         // something; it may be complete, only the host has not learned of it
    std::uint32_t items = 0;   // how many copies, fills and launches, since the place was last known complete
    std::uint32_t site = 0;    // of the newest of them that was recorded; 0: none or not known
    std::uint32_t stream = 0;  // the stream that it is in, for whoever asked; not looked at here

    bool is_there() const noexcept { return known && work; }
    bool is_none() const noexcept { return known && !work; }
};

// One call, and what was pending when it began.
struct HeldCall {
    report::SiteKind kind{};
    report::MemoryClass destination = report::MemoryClass::none;
    report::MemoryClass source = report::MemoryClass::none;
    std::uint64_t bytes = 0;
    bool async = false;       // the API is named or documented as asynchronous
    bool captured = false;    // it became part of a graph and did nothing else
    bool page_locks = false;  // it page-locks or unlocks host memory
    bool first_use = false;   // launch: of a kernel that the process had not launched before
    bool takes_slot = true;   // in its stream's queue; events and host functions do not (measured)
    bool stages = false;      // graph launch: the graph copies pageable or managed memory
    int status = 0;           // of the API
    std::uint64_t host_ns = 0;

    // In front of the call in its own stream; for a synchronisation all that it waits for.
    PendingWork own;
    // Of a call into the legacy default stream: in the blocking streams. Of one into a blocking stream: in the legacy
    // default stream. Only work that was put in after all that is in `own`, which it is itself behind.
    PendingWork joined;
    PendingWork device;  // anywhere in the context

    // Another thread was inside a call of its own meanwhile, not one that only waits; and from where that was made.
    bool beside_other = false;
    std::uint32_t other_site = 0;
};

struct WaitVerdict {
    report::WaitCause cause = report::WaitCause::unknown;
    report::WaitEvidence evidence = report::WaitEvidence::call;
    std::uint32_t behind_site = 0;
    std::uint64_t items = 0;   // queue_full
    std::uint32_t stream = 0;  // PendingWork::stream of what it waited for; 0: nothing, or not known
};

WaitVerdict cause_of(const HeldCall& call) noexcept;

// A stream with so many items is taken for full: 1,021 fit behind the running one, and not everything that takes a slot
// is seen.
inline constexpr std::uint32_t kFullQueue = 1000;

}  // namespace pincheck
