// Races at level trap in this process: takes the signals and faults of AccessTrap's pages, and finds out who made them.
//
// Reads and writes of a guarded destination raise SIGSEGV on their own thread; stores into a protected source stop
// their thread until a thread of ours has seen to it, which has the writer take its own stack by a signal (tgkill;
// measured: H200, driver 580.159.04). A writer inside a system call is not signalled, for that could cut the call
// short: the call is named. Where a signal cannot be sent the instruction is all that is known.
//
// libpincheck-trap.so stands between us and the program's own use of SIGSEGV, and in front of the C library's system
// calls on guarded memory (trap/trap_library.h). Without it nothing is trapped.
#pragma once

#include <cstdint>

#include "access_trap.h"

namespace pincheck {

struct State;

enum class TrapRefusal : std::uint8_t {
    none,
    off,             // not asked for
    no_library,      // libpincheck-trap.so is not loaded, or another version
    seccomp_filter,  // might end the process for an unusual call
    traced,          // a debugger would stop at each access
    io_uring,        // its reads and writes of guarded memory would fail
    no_signal,       // somebody blocks SIGSEGV, or it cannot be handled
    no_resources,
};
// One line for the user, without a full stop.
const char* refusal_text(TrapRefusal refusal) noexcept;

// Once in a process, on the thread that starts the tool, before the program's first call goes on. Not `none`: nothing
// is trapped, by `trap` or otherwise. Both arguments stay.
TrapRefusal open_trap(State& state, AccessTrap& trap) noexcept;

// Before reads are looked for. False: the process hands memory to the kernel past the C library (io_uring, libaio),
// which would fail where a sample is taken. Not asked anew each time. Reads /proc.
bool may_sample_reads() noexcept;

// Before a destination is guarded: somebody may have taken SIGSEGV from us by a system call of its own.
bool has_trap_signal() noexcept;

}  // namespace pincheck
