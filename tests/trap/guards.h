// What libpincheck.so will be to libpincheck-trap.so, in small: guards some pages, and lifts them when it is told to.
// Without the library there is no guard and nothing is attached: a program's output must be the same either way.
// What the library said goes to stderr.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "interpose/trap/trap_library.h"

namespace guards {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kPages = 8;

inline unsigned char* g_memory = nullptr;
inline std::atomic<bool> g_guarded[kPages];
inline std::atomic<unsigned> g_faults{0};
inline std::atomic<unsigned> g_lifted{0};

// Neither libc's write nor its mprotect, which the library wraps.
inline long raw(long number, long a, long b, long c) {
    long result = 0;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

inline void say_to(int file, const char* format, std::va_list arguments) {
    char text[1024];
    const int length = std::vsnprintf(text, sizeof text, format, arguments);
    raw(SYS_write, file, reinterpret_cast<long>(text), length);
}

__attribute__((format(printf, 1, 2))) inline void say(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    say_to(STDOUT_FILENO, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 1, 2))) inline void note(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    say_to(STDERR_FILENO, format, arguments);
    va_end(arguments);
}

inline const pincheck::TrapLibrary* library() {
    static const auto* const found =
        static_cast<const pincheck::TrapLibrary*>(dlsym(RTLD_DEFAULT, pincheck::kTrapLibrarySymbol));
    return found != nullptr && found->version == pincheck::kTrapVersion ? found : nullptr;
}

inline void protect(std::size_t page, int protection) {
    raw(SYS_mprotect, reinterpret_cast<long>(g_memory + page * kPage), kPage, protection);
}

inline bool lies_within(std::uintptr_t address) {
    const auto begin = reinterpret_cast<std::uintptr_t>(g_memory);
    return begin != 0 && address >= begin && address < begin + kPages * kPage;
}

inline void lift(std::uintptr_t address, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(g_memory);
    for (std::size_t page = 0; begin != 0 && page < kPages; ++page) {
        const std::uintptr_t low = begin + page * kPage;
        if (low < address + bytes && address < low + kPage && g_guarded[page].exchange(false)) {
            protect(page, PROT_READ | PROT_WRITE);
            g_lifted.fetch_add(1);
        }
    }
}

inline bool on_signal(int, siginfo_t* info, void*) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (info->si_code <= 0 || !lies_within(address)) {
        return false;
    }
    g_faults.fetch_add(1);
    lift(address, 1);
    return true;
}

inline std::atomic<const char*> g_last_function{nullptr};
inline std::atomic<bool> g_last_writes{false};
inline std::atomic<bool> g_last_has_place{false};

inline std::atomic<int> g_inside{0};  // calls that touch the guarded memory

inline std::uint32_t before_access(const pincheck::SystemAccess& access, std::uint32_t held) {
    if (lies_within(access.address) || lies_within(access.address + access.bytes - 1)) {
        g_last_function.store(access.function);
        g_last_writes.store(access.writes);
        g_last_has_place.store(access.return_address != 0 && access.frame != 0);
        if (held == 0) {
            g_inside.fetch_add(1);
            held = 1;
        }
    }
    lift(access.address, access.bytes);
    return held;
}

inline void after_access(std::uint32_t held) {
    g_inside.fetch_sub(static_cast<int>(held));
}

inline std::atomic<unsigned> g_changes{0};

inline void before_change(std::uintptr_t address, std::size_t bytes, bool) {
    if (lies_within(address) || lies_within(address + bytes - 1)) {
        g_changes.fetch_add(1);
    }
    lift(address, bytes);
}

inline const pincheck::TrapUser kUser{&on_signal, &before_access, &after_access, &before_change};

// True when there is a library and it is attached.
inline bool attach() {
    return library() != nullptr && library()->attach(kUser);
}

// Readable and writable memory of kPages pages, the same in every run.
inline unsigned char* memory() {
    if (g_memory == nullptr) {
        g_memory = static_cast<unsigned char*>(mmap(reinterpret_cast<void*>(0x7e90'0000'0000), kPages * kPage,
                                                    PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    }
    return g_memory;
}

inline void guard(std::size_t page) {
    if (library() != nullptr) {
        g_guarded[page].store(true);
        protect(page, PROT_NONE);
    }
}

inline void guard_all() {
    for (std::size_t page = 0; page < kPages; ++page) {
        guard(page);
    }
}

inline bool any_guarded() {
    for (const auto& guarded : g_guarded) {
        if (guarded.load()) {
            return true;
        }
    }
    return false;
}

}  // namespace guards
