// Calls that held the host: slots by site, cause and evidence, and what threads see of each other's long calls.
//
// A call is "held" from the option `threshold` on; only such calls, and waits for nothing, come here. Nothing here is
// on the path of other calls.
#pragma once

#include <cstdint>

#include "state.h"
#include "wait_cause.h"

namespace pincheck {

inline bool is_held(const State& state, std::uint64_t host_ns) noexcept {
    return host_ns >= state.threshold_ns;
}

struct Wait {
    std::uint32_t site = 0;
    report::WaitCause cause{};
    report::WaitEvidence evidence{};
    std::uint64_t start_ns = 0;
    std::uint64_t ns = 0;
    std::uint32_t stream = 0;       // StreamRecord id; 0: none or not known
    std::uint32_t behind_site = 0;  // 0: none or not known
    std::uint32_t kernel = 0;       // string id; 0: not known
    std::uint64_t items = 0;
};

// Adds the wait to the calling thread's slot and returns that; where there is none it is counted as lost. errno is
// kept.
report::WaitSlot* add_wait(State& state, Shard& shard, const Wait& wait) noexcept;

// ---- What was pending when a call began

// Before a runtime function: the driver's functions that it calls say what is pending (hook_stream.h), or do not.
inline void forget_pending(ThreadState& thread) noexcept {
    thread.pending.entry = nullptr;
    thread.context_pending.known = false;
}
// Fills in HeldCall::own, joined and device.
void add_pending(const ThreadState& thread, HeldCall& call) noexcept;
// Of a wait: everything that it was for was known to be complete.
inline bool waited_for_nothing(const ThreadState& thread) noexcept {
    return thread.pending.is_idle() || (thread.context_pending.known && !thread.context_pending.work.work);
}
// Such a wait that was not held. errno is kept.
void count_idle_wait(State& state, ThreadState& thread, std::uint32_t site, std::uint64_t start_ns,
                     std::uint64_t end_ns) noexcept;

// ---- What a wait delays

// The calling thread put something into that stream. After a held call that nobody asked for, what goes into other
// streams next, until the thread asks for a wait, came later than it could have.
void note_delayed(const StreamEntry& entry) noexcept;

// The hooks' part: judges a held call, or a wait for nothing, and adds it. `call` lacks only what other threads did.
void record_wait(State& state, ThreadState& thread, std::uint32_t site, HeldCall call, std::uint64_t start_ns,
                 std::uint64_t end_ns) noexcept;

// That kernel (string id) ran during the call of `call_ns` at that site, if that is the thread's longest one there.
void name_kernel(const State& state, std::uint32_t thread, std::uint32_t site, std::uint64_t call_ns,
                 std::uint32_t kernel) noexcept;

// ---- Long calls of other threads

// The calling thread's held call is over; before it stops being shown as inside. 0: the site is not known.
void show_long_call(Shard& shard, std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t site) noexcept;

struct OtherCall {
    bool found = false;
    std::uint32_t site = 0;
};
// Another thread's call that went on during at least half of this time, and began first. Waits that programs ask for
// are no such calls: the driver holds no lock in them.
OtherCall call_beside(const State& state, const Shard& own, std::uint64_t start_ns, std::uint64_t end_ns) noexcept;

}  // namespace pincheck
