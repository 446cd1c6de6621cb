// What the programs of signals say and do: faults of their own, and all that can be asked of a signal, in words.
#pragma once

#include <sys/ucontext.h>

#include <csetjmp>
#include <cstring>
#include <string>

#include "guards.h"

namespace words {

using guards::say;

// A page of the program's own that faults; not a guard's.
inline unsigned char* volatile g_own = nullptr;

inline void make_own_page() {
    if (g_own != nullptr) {
        return;
    }
    g_own = static_cast<unsigned char*>(mmap(reinterpret_cast<void*>(0x7e91'0000'0000), guards::kPage, PROT_NONE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
}
inline void close_own_page() {
    guards::raw(SYS_mprotect, reinterpret_cast<long>(g_own), guards::kPage, PROT_NONE);
}
inline void open_own_page() {
    guards::raw(SYS_mprotect, reinterpret_cast<long>(g_own), guards::kPage, PROT_READ | PROT_WRITE);
}
__attribute__((noinline)) inline void fault() {
    *static_cast<volatile unsigned char*>(g_own) = 1;
}
__attribute__((noinline)) inline void touch_guard() {
    guards::guard(1);
    guards::memory();
    *(static_cast<volatile unsigned char*>(guards::g_memory) + guards::kPage) = 1;
}

// SIGSTKFLT's bit is what the library gives up (signal_mask.h).
inline unsigned long long bits(const sigset_t& set) {
    unsigned long long word = 0;
    std::memcpy(&word, &set, sizeof word);
    return word & ~(1ull << (SIGSTKFLT - 1));
}

inline unsigned long long mask_now() {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    return bits(now);
}

inline void say_mask(const char* where) {
    say("mask %s: %llx\n", where, mask_now());
}

inline sigset_t set_of(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals) {
        sigaddset(&set, signal);
    }
    return set;
}

inline void on_plain(int signal) {
    say("plain handler: %d\n", signal);
    say_mask("in the handler");
    open_own_page();
}

inline void on_info(int signal, siginfo_t* info, void* context) {
    say("handler with information: %d code %d", signal, info->si_code);
    if (info->si_code > 0) {
        say(" address %llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(info->si_addr)));
    } else {
        say(" from itself %d value %d", info->si_pid == getpid(),
            info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
    }
    const auto* interrupted = static_cast<const ucontext_t*>(context);
    say(" interrupted mask %llx\n", bits(interrupted->uc_sigmask));
    say_mask("in the handler");
    open_own_page();
}

inline const char* name_of(void* handler) {
    if (handler == reinterpret_cast<void*>(SIG_DFL)) {
        return "default";
    }
    if (handler == reinterpret_cast<void*>(SIG_IGN)) {
        return "ignore";
    }
    if (handler == reinterpret_cast<void*>(SIG_ERR)) {
        return "error";
    }
    if (handler == reinterpret_cast<void*>(SIG_HOLD)) {
        return "hold";
    }
    if (handler == reinterpret_cast<void*>(&on_plain)) {
        return "plain";
    }
    return handler == reinterpret_cast<void*>(&on_info) ? "info" : "another";
}

inline void say_action(const char* what, const struct sigaction& action) {
    say("%s: %s flags %x restorer %d mask %llx\n", what, name_of(reinterpret_cast<void*>(action.sa_handler)),
        static_cast<unsigned>(action.sa_flags), action.sa_restorer != nullptr, bits(action.sa_mask));
}

inline int install(int signal, void (*handler)(int, siginfo_t*, void*), int flags, const sigset_t& mask,
                   struct sigaction* old = nullptr) {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    action.sa_mask = mask;
    return sigaction(signal, &action, old);
}

inline int install(int signal, void (*handler)(int), int flags, const sigset_t& mask, struct sigaction* old = nullptr) {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    action.sa_mask = mask;
    return sigaction(signal, &action, old);
}

inline void say_disposition(const char* when) {
    struct sigaction now;
    std::memset(&now, 0xee, sizeof now);
    sigaction(SIGSEGV, nullptr, &now);
    say_action(when, now);
}

}  // namespace words
