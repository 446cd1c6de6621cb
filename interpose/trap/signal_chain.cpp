#include "signal_chain.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>

#include "access.h"
#include "disposition.h"
#include "libc_functions.h"
#include "signal_mask.h"

extern "C" {
extern const char pincheck_trap_copy_load[] __attribute__((visibility("hidden")));
extern const char pincheck_trap_copy_failed[] __attribute__((visibility("hidden")));
}

namespace pincheck::trap {
namespace {

using Handler = void (*)(int, siginfo_t*, void*);

constexpr std::uint64_t kRestorerFlag = 0x0400'0000;
// Flags that mean something to a kernel of any age (linux/signal_types.h, asm-generic/signal-defs.h).
constexpr std::uint64_t kKnownFlags = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | 0x400 | 0x800 | kRestorerFlag |
                                      SA_ONSTACK | SA_RESTART | SA_NODEFER | static_cast<std::uint32_t>(SA_RESETHAND);

constinit Disposition g_program;
std::atomic<bool> g_taken{false};
std::uint64_t g_restorer = 0;        // libc's
std::uint64_t g_kept_flags = ~0ull;  // what this kernel leaves of the flags that it is given

// The process that this memory is of. The kernel empties the page in a child that gets a copy, and not in one that
// borrows it. Null where it cannot (Linux before 4.14): then every process counts as the owner.
std::atomic<long>* g_owner = nullptr;

struct WaitingSignal {
    bool waits;
    siginfo_t info;
};
__thread WaitingSignal t_waiting __attribute__((tls_model("initial-exec")));

void on_fault(int signal, siginfo_t* info, void* context);

bool is_handler(std::uint64_t handler) noexcept {
    return handler != reinterpret_cast<std::uintptr_t>(SIG_DFL) && handler != reinterpret_cast<std::uintptr_t>(SIG_IGN);
}

bool is_ours(const KernelAction& action) noexcept {
    return action.handler == reinterpret_cast<std::uintptr_t>(&on_fault);
}

// The kernel looks at two of the program's flags before it comes to us: which stack the handler runs on, and whether an
// interrupted call goes on. Where there is no handler, no call is cut short.
KernelAction ours(const KernelAction& program) noexcept {
    KernelAction action;
    action.handler = reinterpret_cast<std::uintptr_t>(&on_fault);
    action.flags = SA_SIGINFO | SA_NODEFER | kRestorerFlag;
    action.flags |= is_handler(program.handler) ? program.flags & (SA_ONSTACK | SA_RESTART) : SA_RESTART;
    action.restorer = g_restorer;
    return action;
}

// Until it is the latest that the kernel has.
void tell_kernel() noexcept {
    std::uint64_t told = 0;
    do {
        const Disposition::Seen seen = g_program.read();
        const KernelAction action = ours(seen.action);
        raw_sigaction(SIGSEGV, &action, nullptr);
        told = seen.stamp;
    } while (told != g_program.stamp());
}

Mask& mask_in(ucontext_t& context) noexcept {
    return *reinterpret_cast<Mask*>(&context.uc_sigmask);
}

// The process dies of this signal where the program was interrupted, so that a core file shows that place: the signal
// waits, blocked, until the return from this handler lets it through. Where it cannot be sent, a fault happens again.
void die(const siginfo_t& info, ucontext_t& context) noexcept {
    set_raw_mask(raw_mask() | kFault);
    const KernelAction standard{};
    raw_sigaction(SIGSEGV, &standard, nullptr);
    raw_queue_to_self(SIGSEGV, &info);
    mask_in(context) &= ~kFault;
}

void run_handler(const KernelAction& program, Mask blocked, int signal, siginfo_t* info, ucontext_t& context) {
    const Mask deferred = (program.flags & SA_NODEFER) != 0 ? 0 : kFault;
    mask_in(context) = to_program(mask_in(context));  // for the handler to read, and to change
    set_raw_mask(to_kernel(blocked | program.mask | deferred));
    reinterpret_cast<Handler>(program.handler)(signal, info, &context);
    const Mask after = mask_in(context);
    mask_in(context) = to_kernel(after);
    // Crash handlers send the signal again and return: it comes then.
    if (t_waiting.waits && (after & kFault) == 0) {
        set_raw_mask(raw_mask() | kFault);
        send_waiting_signal();
    }
}

void hand_to_program(int signal, siginfo_t* info, ucontext_t& context) {
    const bool fault = info->si_code > 0;
    // Not the one in the context: that is what sigsuspend and its like put back.
    const Mask blocked = to_program(raw_mask());
    if ((blocked & kFault) != 0) {
        if (fault) {
            die(*info, context);
        } else if (!t_waiting.waits) {
            t_waiting.info = *info;
            t_waiting.waits = true;
        }
        return;
    }
    Disposition::Seen seen = g_program.read();
    while (is_handler(seen.action.handler) && (seen.action.flags & static_cast<std::uint32_t>(SA_RESETHAND)) != 0) {
        KernelAction reset = seen.action;
        reset.handler = reinterpret_cast<std::uintptr_t>(SIG_DFL);
        if (g_program.replace(seen, reset)) {
            tell_kernel();
            break;
        }
        seen = g_program.read();
    }
    if (is_handler(seen.action.handler)) {
        run_handler(seen.action, blocked, signal, info, context);
    } else if (fault || seen.action.handler == reinterpret_cast<std::uintptr_t>(SIG_DFL)) {
        die(*info, context);
    }
}

// A read of the program's memory on its behalf (access.cpp).
bool continue_copy(ucontext_t& context) noexcept {
    greg_t& at = context.uc_mcontext.gregs[REG_RIP];
    if (at != reinterpret_cast<greg_t>(pincheck_trap_copy_load)) {
        return false;
    }
    at = reinterpret_cast<greg_t>(pincheck_trap_copy_failed);
    return true;
}

// Not noexcept: the program's handler may leave by siglongjmp, or by an exception.
void on_fault(int signal, siginfo_t* info, void* context) {
    ucontext_t& interrupted = *static_cast<ucontext_t*>(context);
    if (info->si_code > 0 || info->si_code == SI_QUEUE) {
        const TrapUser* const user = attached_user();
        if ((user != nullptr && user->on_signal(signal, info, context)) || continue_copy(interrupted)) {
            return;
        }
    }
    hand_to_program(signal, info, interrupted);
}

void note_owner() noexcept {
    constexpr std::size_t kBytes = 4096;
    void* const page = pages_from_kernel(kBytes);
    if (page != nullptr && raw_call(SYS_madvise, raw_address(page), kBytes, MADV_WIPEONFORK) == 0) {
        g_owner = static_cast<std::atomic<long>*>(page);
        g_owner->store(raw_call(SYS_getpid));
    }
}

// Kernels before 5.11 keep flags that mean nothing.
void learn_kept_flags(const KernelAction& action) noexcept {
    KernelAction asked = action;
    KernelAction kept;
    asked.flags |= ~kKnownFlags & 0xffff'ffffu;
    raw_sigaction(SIGSEGV, &asked, nullptr);
    raw_sigaction(SIGSEGV, &action, &kept);
    g_kept_flags = (kKnownFlags & ~std::uint64_t{0x400}) | (kept.flags & ~kKnownFlags);
    if ((kept.flags & ~kKnownFlags) != 0) {
        g_kept_flags |= 0x400;
    }
}

// Handlers that the program had installed: SIGSEGV is blocked in none of them.
void free_installed_handlers() noexcept {
    for (int signal = 1; signal <= 64; ++signal) {
        KernelAction found;
        if (signal == SIGSEGV || !raw_sigaction(signal, nullptr, &found)) {
            continue;
        }
        while (is_handler(found.handler)) {
            KernelAction changed = found;
            changed.mask = handler_mask_to_kernel(signal, found.mask);
            KernelAction replaced;
            if (changed == found || !raw_sigaction(signal, &changed, &replaced) || replaced == found) {
                break;
            }
            found = replaced;  // another thread was faster: its handler it is
            raw_sigaction(signal, &found, nullptr);
        }
    }
}

}  // namespace

bool take_signal() noexcept {
    using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);
    const auto libc_sigaction = reinterpret_cast<Sigaction>(libc_sigaction_address());
    KernelAction before;
    if (libc_sigaction == nullptr || !raw_sigaction(SIGSEGV, nullptr, &before)) {
        return false;
    }
    g_program.exchange(before);
    // The first time by libc's function, which knows what a handler returns to.
    struct sigaction by_libc;
    std::memset(&by_libc, 0, sizeof by_libc);
    by_libc.sa_sigaction = &on_fault;
    by_libc.sa_flags = static_cast<int>(ours(before).flags & ~kRestorerFlag);
    KernelAction own;
    if (libc_sigaction(SIGSEGV, &by_libc, nullptr) != 0 || !raw_sigaction(SIGSEGV, nullptr, &own) || !is_ours(own)) {
        raw_sigaction(SIGSEGV, &before, nullptr);
        return false;
    }
    g_restorer = own.restorer;
    note_owner();
    learn_kept_flags(own);
    g_taken.store(true, std::memory_order_release);
    // Another thread's call may just have passed by: what it wanted counts.
    KernelAction latest;
    while (raw_sigaction(SIGSEGV, &own, &latest) && !is_ours(latest)) {
        g_program.exchange(latest);
    }
    tell_kernel();
    free_installed_handlers();
    set_raw_mask(to_kernel(raw_mask()));
    return true;
}

bool has_signal() noexcept {
    KernelAction now;
    return g_taken.load(std::memory_order_acquire) && raw_sigaction(SIGSEGV, nullptr, &now) && is_ours(now);
}

bool owns_memory() noexcept {
    if (g_owner == nullptr) {
        return true;
    }
    const long self = raw_call(SYS_getpid);
    long nobody = 0;
    return g_owner->compare_exchange_strong(nobody, self) || nobody == self;
}

KernelAction seen_by_borrower(const KernelAction& kernel) noexcept {
    return is_ours(kernel) ? current_disposition() : kernel;
}

KernelAction exchange_disposition(const KernelAction& action) noexcept {
    KernelAction kept = action;
    kept.flags &= g_kept_flags;
    kept.mask &= ~(mask_of(SIGKILL) | mask_of(SIGSTOP));
    if ((kept.flags & kRestorerFlag) != 0) {
        kept.restorer = g_restorer;
    }
    const KernelAction before = g_program.exchange(kept);
    tell_kernel();
    return before;
}

KernelAction current_disposition() noexcept {
    return g_program.read().action;
}

void change_disposition_flags(std::uint64_t clear, std::uint64_t set) noexcept {
    for (;;) {
        const Disposition::Seen seen = g_program.read();
        KernelAction changed = seen.action;
        changed.flags = (changed.flags & ~clear) | set;
        if (g_program.replace(seen, changed)) {
            tell_kernel();
            return;
        }
    }
}

void show_ignored() noexcept {
    const KernelAction program = current_disposition();
    if (program.handler == reinterpret_cast<std::uintptr_t>(SIG_IGN)) {
        raw_sigaction(SIGSEGV, &program, nullptr);
    }
}

void take_signal_again() noexcept {
    tell_kernel();
}

bool signal_waits() noexcept {
    return t_waiting.waits;
}

void send_waiting_signal() noexcept {
    siginfo_t info;
    if (take_waiting_signal(info)) {
        raw_queue_to_self(SIGSEGV, &info);
    }
}

bool take_waiting_signal(siginfo_t& info) noexcept {
    if (!t_waiting.waits) {
        return false;
    }
    info = t_waiting.info;
    t_waiting.waits = false;
    return true;
}

}  // namespace pincheck::trap
