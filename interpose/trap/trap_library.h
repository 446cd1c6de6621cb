// What libpincheck.so and libpincheck-trap.so say to each other (option races=trap). The latter stands in front of the
// C library's functions that would fail, or miss, where host memory is guarded: system calls on guarded memory (EFAULT
// instead of a fault), and the program's own handling of SIGSEGV. It is preloaded too, does nothing until it is told
// to, and knows nothing of CUDA.
//
// libpincheck.so finds the table by its name, kTrapLibrarySymbol, once; an unknown version is not used.
//
// Thread rules: attach() once a process; everything else from any thread. The user's functions are called on the
// program's threads, on_signal() inside of signal handlers, the others outside or inside: they keep errno, take no lock
// that its holder could fault under, and call nothing that this library wraps.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace pincheck {

inline constexpr std::uint32_t kTrapVersion = 2;
inline constexpr const char* kTrapLibrarySymbol = "pincheck_trap_library";

// A call of the C library whose system call is about to read or write [address, address + bytes).
struct SystemAccess {
    const char* function = nullptr;  // "write"; lives forever
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    bool writes = false;                // into the memory
    std::uintptr_t return_address = 0;  // of the wrapper, and its frame: see Caller (stack.h)
    std::uintptr_t frame = 0;
};

struct TrapUser {
    // A fault raised SIGSEGV, or the process queued it to itself (SI_QUEUE); one that was sent by kill and its like
    // does not come here. True: it was a guard's, or the user's own signal, and is dealt with; false: the program's
    // handler has it. Another thread may have lifted the guard between the fault and this call: that is a true too. May
    // run on the program's alternate stack, which may be small.
    bool (*on_signal)(int signal, siginfo_t* info, void* context) = nullptr;
    // Called before a wrapped call goes on, for every buffer of it. Lifts the guards there. `held` is 0 for the first
    // one, else what was returned for the one before; what is returned for the last is handed to after_access(). Where
    // the call does not come back (longjmp, a cancelled thread), that is not called.
    std::uint32_t (*before_access)(const SystemAccess& access, std::uint32_t held) = nullptr;
    // The call is over. Not called with 0.
    void (*after_access)(std::uint32_t held) = nullptr;
    // [address, address + bytes) is about to be unmapped or moved (`unmapped`), or to get another protection: guards
    // there are lifted.
    void (*before_change)(std::uintptr_t address, std::size_t bytes, bool unmapped) = nullptr;
};

struct TrapLibrary {
    std::uint32_t version = kTrapVersion;
    // From now on SIGSEGV is handled here first, for the life of the process, and the user's functions are called.
    // `user` stays. False: no handler could be installed; nothing is changed.
    bool (*attach)(const TrapUser& user) noexcept = nullptr;
    // Whether SIGSEGV still comes to this library: false once somebody went past it (a system call of its own).
    bool (*has_signal)() noexcept = nullptr;
    // No other thread blocks SIGSEGV in the kernel: a guard's fault there would end the process, whatever handler there
    // is. Threads that blocked it before attach() do, until their next call about their mask; after attach(), the
    // program's blocking no longer reaches the kernel. Reads /proc; false where it tells nothing. Any time, any thread.
    bool (*every_other_thread_takes_signal)() noexcept = nullptr;
};

}  // namespace pincheck
