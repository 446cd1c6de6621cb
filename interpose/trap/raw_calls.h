// System calls without the C library's functions, some of which this library wraps: errno is left alone, no thread is
// cancelled in them, and they are safe in a signal handler. Results as the kernel gives them: -errno on failure.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace pincheck::trap {

inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
    long result = 0;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

inline long raw_address(const void* pointer) noexcept {
    return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

using Mask = std::uint64_t;

constexpr Mask mask_of(int signal) noexcept {
    return Mask{1} << (signal - 1);
}

// The kernel's struct sigaction.
struct KernelAction {
    std::uint64_t handler = 0;
    std::uint64_t flags = 0;
    std::uint64_t restorer = 0;
    Mask mask = 0;

    bool operator==(const KernelAction&) const = default;
};

inline bool raw_sigaction(int signal, const KernelAction* action, KernelAction* old) noexcept {
    return raw_call(SYS_rt_sigaction, signal, raw_address(action), raw_address(old), sizeof(Mask)) == 0;
}

inline Mask raw_mask() noexcept {
    Mask mask = 0;
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, raw_address(&mask), sizeof mask);
    return mask;
}

inline void set_raw_mask(Mask mask) noexcept {
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, raw_address(&mask), 0, sizeof mask);
}

// Zeroed, or null.
inline void* pages_from_kernel(std::size_t bytes) noexcept {
    const long address =
        raw_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return address < 0 && address > -4096 ? nullptr : reinterpret_cast<void*>(address);
}

// To the calling thread, with what came with the signal.
inline bool raw_queue_to_self(int signal, const siginfo_t* info) noexcept {
    return raw_call(SYS_rt_tgsigqueueinfo, raw_call(SYS_getpid), raw_call(SYS_gettid), signal, raw_address(info)) == 0;
}

}  // namespace pincheck::trap
