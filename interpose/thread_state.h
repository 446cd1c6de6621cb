// What one thread carries between its calls. Initial-exec TLS: one load an access (this library is loaded at start).
#pragma once

#include <cstdint>

#include "api.h"
#include "report/slots.h"
#include "stack.h"
#include "stack_walk.h"
#include "streams.h"
#include "write_watch.h"

namespace pincheck {

// A thread's counters; handed on to a new thread when its thread ends.
struct Shard;

// The page-locked range that a thread used last, with the version of the map that it was found in.
struct LastRange {
    std::uintptr_t address = 0;
    std::uint32_t version = 0;
    std::uint32_t site = 0;
    report::Memory memory{};
};

// What the copy or fill that is being made is, for whoever follows the driver call inside it (see hook_stream.h).
struct CopyFacts {
    const report::CounterSlot* counters = nullptr;  // of its site; null: not known
    bool known = false;           // what follows is set; not before it is classified, nor after it was followed
    bool batch = false;           // what is copied is in the shard's batch instead
    std::uint64_t facts[2] = {};  // SiteFacts
    std::uintptr_t destination = 0;
    std::uintptr_t source = 0;
    std::uint64_t bytes = 0;
    std::uint64_t destination_span = 0;
    std::uint64_t source_span = 0;
    std::uint32_t pin_site = 0;
    WatchTicket watch;  // of the copy that is being made
};

// What was pending in a context when a call began that waits for it.
struct ContextPending {
    bool known = false;
    Pending work;
};

// A runtime function whose facts its driver call has: that call is recorded under this name and from this caller.
struct NamedCall {
    Api api{};
    Caller caller;
    std::uint8_t rule = 0;  // CallerRule::bits()
    bool active = false;    // the hook at `guard` is such a one
};

// Of the latest call that copies, fills or launches a graph, while CUPTI tells its correlation id (cupti_calls.h).
struct DeviceCall {
    std::uint64_t start_ns = 0;     // of its hook
    std::uint64_t told_ns = 0;      // start_ns of the hook inside which the id was told
    std::uint32_t correlation = 0;  // of the first such call inside
};

// What a copy's hook has to do after the call besides counting: nearly always nothing, at the cost of one comparison.
using Errands = std::uint8_t;
inline constexpr Errands kAskDevice = 1;  // the driver has not been asked yet which device this is
inline constexpr Errands kIdTold = 2;     // CUPTI told the call's id
// Of the call itself:
inline constexpr Errands kClassify = 4;       // what memory it is could not be asked before it
inline constexpr Errands kSayWhyHeld = 8;     // it held the host
inline constexpr Errands kUsedCombined = 16;  // the host's side is write-combined memory (option races=trap)

struct ThreadState {
    std::uint64_t generation = 0;  // of the State that `shard` belongs to
    Shard* shard = nullptr;
    // Stack address of the outermost hook being executed; 0 when none is. Stale after longjmp or cancellation.
    std::uintptr_t guard = 0;
    // The last copy, if nothing was called since: its counters and its stream.
    report::CounterSlot* last_copy = nullptr;
    std::uintptr_t last_copy_stream = 0;
    LastRange last_range;
    StackBounds stack;
    NamedCall named;
    std::uintptr_t last_kernel = 0;  // launched last
    std::uint32_t launches = 0;      // and event records and waits
    std::uint32_t exact_until = 0;   // so many are timed exactly
    std::uint32_t simple_site = 0;   // of the last call that is no copy, launch or event
    DeviceCall device_call;
    LastStream last_stream;
    CopyFacts copy;
    // When the last call of this thread that puts something into a stream began, or waits for one or for an event: what
    // was pending there. And the same of the last one that waits for a context.
    PendingThen pending;
    ContextPending context_pending;
    // The last wait of this thread, while its next operations are looked at: they were delayed (see waits.h).
    report::WaitSlot* delaying = nullptr;
    const StreamEntry* delaying_call = nullptr;  // the stream of the call that waited
    std::uint32_t delaying_left = 0;             // operations still looked at
    std::uint32_t stream_thread = 0;             // names the thread's default streams; 0: it used none
    std::uint32_t created_site = 0;              // by the last look for counters; 0: the site was known
    std::uint64_t own_ns = 0;                    // the tool's own work inside calls, which is not theirs
    bool watches = false;                        // copies are watched (option races)
    bool driver_owned = false;                   // started by the driver: no question may be asked here
    Errands errands = kAskDevice;
    // Pointer queries during a capture neither fail nor invalidate it (measured: H200, driver 580.159.04).
    bool may_ask = false;  // the driver may be asked questions here
};

#ifdef __clang__
extern thread_local ThreadState t_thread __attribute__((tls_model("initial-exec")));
#else
extern thread_local constinit ThreadState t_thread __attribute__((tls_model("initial-exec")));
#endif

}  // namespace pincheck
