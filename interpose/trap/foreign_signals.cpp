#include "foreign_signals.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <atomic>
#include <cerrno>

#include "access.h"
#include "libc_functions.h"
#include "signal_chain.h"
#include "signal_mask.h"
#include "wrap.h"

extern "C" __attribute__((visibility("hidden"))) long pincheck_trap_copy(void* to, const void* from, std::size_t words);

namespace pincheck::trap {
namespace {

using Action = struct sigaction;
using Handler = void (*)(int);
using SigactionType = int(int, const Action*, Action*);
using MaskType = int(int, const sigset_t*, sigset_t*);
constexpr int kRestorerFlag = 0x0400'0000;
constexpr int kInterruptFlag = 0x2000'0000;  // SA_INTERRUPT: what the old System V way asks for

// Signals whose handlers end a system call instead of letting it go on (siginterrupt), for signal().
std::atomic<Mask> g_interrupting{0};

bool is_watched() noexcept {
    return attached_user() != nullptr;
}

// Their bits in a mask are not simply theirs (signal_mask.h).
bool has_its_own_way(int signal) noexcept {
    return is_watched() && (signal == SIGSEGV || signal == SIGSTKFLT || signal == kReferenceSignal);
}

KernelAction to_kernel_action(const Action& action) noexcept {
    KernelAction kernel;
    kernel.handler = reinterpret_cast<std::uintptr_t>(action.sa_handler);
    kernel.flags = static_cast<unsigned>(action.sa_flags | kRestorerFlag);
    kernel.mask = word_of(action.sa_mask);
    return kernel;
}

void show(const KernelAction& kernel, Action& action) noexcept {
    action.sa_handler = reinterpret_cast<Handler>(kernel.handler);
    action.sa_flags = static_cast<int>(kernel.flags);
    action.sa_restorer = reinterpret_cast<void (*)()>(kernel.restorer);
    word_of(action.sa_mask) = kernel.mask;
}

int change_action(Libc function, int signal, const Action* action, Action* old) {
    if (!is_watched() || signal < 1 || signal > 64 || (signal == SIGSEGV && !has_signal())) {
        return call<SigactionType>(function, signal, action, old);
    }
    if (signal == SIGSEGV && !owns_memory()) {
        KernelAction kernel;
        raw_sigaction(SIGSEGV, nullptr, &kernel);
        const int result = call<SigactionType>(function, signal, action, nullptr);
        if (result == 0 && old != nullptr) {
            show(seen_by_borrower(kernel), *old);
        }
        return result;
    }
    if (signal == SIGSEGV) {
        const KernelAction before =
            action != nullptr ? exchange_disposition(to_kernel_action(*action)) : current_disposition();
        if (old != nullptr) {
            show(before, *old);
        }
        return 0;
    }
    Action changed;
    if (action != nullptr) {
        changed = *action;
        word_of(changed.sa_mask) = handler_mask_to_kernel(signal, word_of(action->sa_mask));
    }
    const int result = call<SigactionType>(function, signal, action != nullptr ? &changed : nullptr, old);
    if (result == 0 && old != nullptr) {
        word_of(old->sa_mask) = handler_mask_to_program(signal, word_of(old->sa_mask));
    }
    return result;
}

// An error number.
int change_mask(int how, const sigset_t* set, sigset_t* old) {
    const Mask before = to_program(raw_mask());
    if (set != nullptr) {
        const Mask asked = word_of(*set);
        Mask after = asked;
        if (how == SIG_BLOCK) {
            after = before | asked;
        } else if (how == SIG_UNBLOCK) {
            after = before & ~asked;
        } else if (how != SIG_SETMASK) {
            return call<MaskType>(Libc::pthread_sigmask, how, set, old);
        }
        sigset_t kernel = {};
        word_of(kernel) = to_kernel(after);
        const int error = call<MaskType>(Libc::pthread_sigmask, SIG_SETMASK, &kernel, nullptr);
        if (error != 0) {
            return error;
        }
    }
    if (old != nullptr) {
        word_of(*old) = before;
    }
    if (signal_waits() && (to_program(raw_mask()) & kFault) == 0) {
        send_waiting_signal();
    }
    return 0;
}

int failed_with(int error) noexcept {
    errno = error;
    return -1;
}

Handler refused() noexcept {
    errno = EINVAL;
    return SIG_ERR;
}

// What the C library makes of the calls that are older than sigaction.
Handler simple_handler(int signal, Handler handler, int flags, Mask mask) {
    if (handler == SIG_ERR) {
        return refused();
    }
    Action action = {};
    Action old = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    word_of(action.sa_mask) = mask;
    return change_action(Libc::sigaction, signal, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

Handler bsd_way(Libc function, int signal, Handler handler) {
    if (!has_its_own_way(signal)) {
        return call<Handler(int, Handler)>(function, signal, handler);
    }
    const bool interrupts = (g_interrupting.load(std::memory_order_relaxed) & mask_of(signal)) != 0;
    return simple_handler(signal, handler, interrupts ? 0 : SA_RESTART, mask_of(signal));
}

Handler system_v_way(Libc function, int signal, Handler handler) {
    if (!has_its_own_way(signal)) {
        return call<Handler(int, Handler)>(function, signal, handler);
    }
    return simple_handler(signal, handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER | kInterruptFlag, 0);
}

int change_one(int how, int signal, Mask* before = nullptr) {
    sigset_t set = {};
    sigset_t old = {};
    word_of(set) = mask_of(signal);
    const int error = change_mask(how, &set, &old);
    if (before != nullptr) {
        *before = word_of(old);
    }
    return error == 0 ? 0 : failed_with(error);
}

Handler set_or_hold(int signal, Handler handler) {
    if (handler == SIG_ERR) {
        return refused();
    }
    Mask before = 0;
    if (handler == SIG_HOLD) {
        if (change_one(SIG_BLOCK, signal, &before) != 0) {
            return SIG_ERR;
        }
        Action old = {};
        change_action(Libc::sigaction, signal, nullptr, &old);
        return (before & mask_of(signal)) != 0 ? SIG_HOLD : old.sa_handler;
    }
    const Handler old = simple_handler(signal, handler, 0, 0);
    if (old == SIG_ERR || change_one(SIG_UNBLOCK, signal, &before) != 0) {
        return SIG_ERR;
    }
    return (before & mask_of(signal)) != 0 ? SIG_HOLD : old;
}

int old_way(int how, int mask) {
    sigset_t set = {};
    sigset_t old = {};
    word_of(set) = static_cast<unsigned>(mask);
    const int error = change_mask(how, &set, &old);
    return error == 0 ? static_cast<int>(word_of(old)) : failed_with(error);
}

// The mask of a call that waits with one, for the kernel; as it is where the kernel could not read it either.
class WaitingMask {
  public:
    explicit WaitingMask(const sigset_t* given) noexcept : given_(given) {
        Mask program = 0;
        if (!is_watched() || given == nullptr || pincheck_trap_copy(&program, given, 1) == 0) {
            return;
        }
        word_of(kernel_) = to_kernel(program);
        given_ = &kernel_;
        if (signal_waits() && (program & kFault) == 0) {  // comes in while the call waits
            before_ = raw_mask();
            blocked_ = true;
            set_raw_mask(before_ | kFault);
            send_waiting_signal();
        }
    }
    ~WaitingMask() {
        if (blocked_) {
            set_raw_mask(before_);
        }
    }
    WaitingMask(const WaitingMask&) = delete;
    WaitingMask& operator=(const WaitingMask&) = delete;
    const sigset_t* get() const noexcept { return given_; }

  private:
    const sigset_t* given_;
    sigset_t kernel_ = {};
    Mask before_ = 0;
    bool blocked_ = false;
};

// While a thread takes SIGSEGV as a value, the kernel keeps it for that.
class TakenAsValue {
  public:
    explicit TakenAsValue(const sigset_t* set) noexcept {
        Mask wanted = 0;
        if (is_watched() && set != nullptr && pincheck_trap_copy(&wanted, set, 1) != 0 && (wanted & kFault) != 0) {
            before_ = raw_mask();
            blocked_ = true;
            set_raw_mask(before_ | kFault);
        }
    }
    ~TakenAsValue() {
        if (blocked_) {
            set_raw_mask(before_);
        }
    }
    TakenAsValue(const TakenAsValue&) = delete;
    TakenAsValue& operator=(const TakenAsValue&) = delete;
    // One that came before.
    bool take(siginfo_t& info) const noexcept { return blocked_ && take_waiting_signal(info); }

  private:
    Mask before_ = 0;
    bool blocked_ = false;
};

}  // namespace

PINCHECK_WRAP(int, sigaction, (int signal, const Action* action, Action* old)) {
    return change_action(Libc::sigaction, signal, action, old);
}
PINCHECK_WRAP(int, __sigaction, (int signal, const Action* action, Action* old)) {
    return change_action(Libc::__sigaction, signal, action, old);
}
PINCHECK_WRAP(Handler, signal, (int signal, Handler handler)) {
    return bsd_way(Libc::signal, signal, handler);
}
PINCHECK_WRAP(Handler, bsd_signal, (int signal, Handler handler)) {
    return bsd_way(Libc::bsd_signal, signal, handler);
}
PINCHECK_WRAP(Handler, ssignal, (int signal, Handler handler)) {
    return bsd_way(Libc::ssignal, signal, handler);
}
PINCHECK_WRAP(Handler, sysv_signal, (int signal, Handler handler)) {
    return system_v_way(Libc::sysv_signal, signal, handler);
}
PINCHECK_WRAP(Handler, __sysv_signal, (int signal, Handler handler)) {
    return system_v_way(Libc::__sysv_signal, signal, handler);
}
PINCHECK_WRAP(Handler, sigset, (int signal, Handler handler)) {
    return has_its_own_way(signal) ? set_or_hold(signal, handler)
                                   : call<Handler(int, Handler)>(Libc::sigset, signal, handler);
}
PINCHECK_WRAP(int, sigignore, (int signal)) {
    if (!has_its_own_way(signal)) {
        return call<int(int)>(Libc::sigignore, signal);
    }
    return simple_handler(signal, SIG_IGN, 0, 0) == SIG_ERR ? -1 : 0;
}
PINCHECK_WRAP(int, sighold, (int signal)) {
    return has_its_own_way(signal) ? change_one(SIG_BLOCK, signal) : call<int(int)>(Libc::sighold, signal);
}
PINCHECK_WRAP(int, sigrelse, (int signal)) {
    return has_its_own_way(signal) ? change_one(SIG_UNBLOCK, signal) : call<int(int)>(Libc::sigrelse, signal);
}

PINCHECK_WRAP(int, siginterrupt, (int signal, int interrupts)) {
    if (signal >= 1 && signal <= 64) {
        if (interrupts != 0) {
            g_interrupting.fetch_or(mask_of(signal), std::memory_order_relaxed);
        } else {
            g_interrupting.fetch_and(~mask_of(signal), std::memory_order_relaxed);
        }
    }
    if (signal != SIGSEGV || !is_watched() || !has_signal() || !owns_memory()) {
        return call<int(int, int)>(Libc::siginterrupt, signal, interrupts);
    }
    change_disposition_flags(SA_RESTART, interrupts != 0 ? 0 : SA_RESTART);
    return 0;
}

PINCHECK_WRAP(int, sigprocmask, (int how, const sigset_t* set, sigset_t* old)) {
    if (!is_watched()) {
        return call<MaskType>(Libc::sigprocmask, how, set, old);
    }
    const int error = change_mask(how, set, old);
    return error == 0 ? 0 : failed_with(error);
}
PINCHECK_WRAP(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old)) {
    return is_watched() ? change_mask(how, set, old) : call<MaskType>(Libc::pthread_sigmask, how, set, old);
}
PINCHECK_WRAP(int, sigblock, (int mask)) {
    return is_watched() ? old_way(SIG_BLOCK, mask) : call<int(int)>(Libc::sigblock, mask);
}
PINCHECK_WRAP(int, sigsetmask, (int mask)) {
    return is_watched() ? old_way(SIG_SETMASK, mask) : call<int(int)>(Libc::sigsetmask, mask);
}
PINCHECK_WRAP(int, sigpending, (sigset_t * set)) {
    const int result = call<int(sigset_t*)>(Libc::sigpending, set);
    if (result == 0 && signal_waits()) {
        word_of(*set) |= kFault;
    }
    return result;
}

PINCHECK_WRAP(int, sigsuspend, (const sigset_t* set)) {
    const WaitingMask mask(set);
    return call<int(const sigset_t*)>(Libc::sigsuspend, mask.get());
}
PINCHECK_WRAP(int, __sigsuspend, (const sigset_t* set)) {
    const WaitingMask mask(set);
    return call<int(const sigset_t*)>(Libc::__sigsuspend, mask.get());
}
PINCHECK_WRAP(int, pselect,
              (int count, fd_set* readable, fd_set* writable, fd_set* exceptional, const timespec* limit,
               const sigset_t* set)) {
    const WaitingMask mask(set);
    return call<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>(
        Libc::pselect, count, readable, writable, exceptional, limit, mask.get());
}
PINCHECK_WRAP(int, ppoll, (pollfd * files, nfds_t count, const timespec* limit, const sigset_t* set)) {
    const WaitingMask mask(set);
    return call<int(pollfd*, nfds_t, const timespec*, const sigset_t*)>(Libc::ppoll, files, count, limit, mask.get());
}
PINCHECK_WRAP(int, __ppoll_chk,
              (pollfd * files, nfds_t count, const timespec* limit, const sigset_t* set, std::size_t room)) {
    const WaitingMask mask(set);
    return call<int(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t)>(Libc::__ppoll_chk, files, count,
                                                                                     limit, mask.get(), room);
}
PINCHECK_WRAP(int, epoll_pwait, (int epoll, epoll_event* events, int most, int limit_ms, const sigset_t* set)) {
    const WaitingMask mask(set);
    return call<int(int, epoll_event*, int, int, const sigset_t*)>(Libc::epoll_pwait, epoll, events, most, limit_ms,
                                                                   mask.get());
}

PINCHECK_WRAP(int, sigwait, (const sigset_t* set, int* signal)) {
    const TakenAsValue taken(set);
    siginfo_t info;
    if (taken.take(info)) {
        *signal = SIGSEGV;
        return 0;
    }
    return call<int(const sigset_t*, int*)>(Libc::sigwait, set, signal);
}
PINCHECK_WRAP(int, sigwaitinfo, (const sigset_t* set, siginfo_t* out)) {
    const TakenAsValue taken(set);
    siginfo_t info;
    if (taken.take(info)) {
        if (out != nullptr) {
            *out = info;
        }
        return SIGSEGV;
    }
    return call<int(const sigset_t*, siginfo_t*)>(Libc::sigwaitinfo, set, out);
}
PINCHECK_WRAP(int, sigtimedwait, (const sigset_t* set, siginfo_t* out, const timespec* limit)) {
    const TakenAsValue taken(set);
    siginfo_t info;
    if (taken.take(info)) {
        if (out != nullptr) {
            *out = info;
        }
        return SIGSEGV;
    }
    return call<int(const sigset_t*, siginfo_t*, const timespec*)>(Libc::sigtimedwait, set, out, limit);
}

}  // namespace pincheck::trap
