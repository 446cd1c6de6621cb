// The program's blocking of SIGSEGV, which never reaches the kernel. Every case also runs without the library, and must
// then say the same and end in the same way. In all of them a guard's fault is lifted, blocked or not.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <barrier>
#include <thread>
#include <vector>

#include "cases.h"
#include "signal_words.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

using namespace words;

void start() {
    guards::memory();
    make_own_page();
    guards::attach();
}

void change(int how, const sigset_t& set, const char* what) {
    sigset_t old;
    std::memset(&old, 0xee, sizeof old);
    const int error = pthread_sigmask(how, &set, &old);
    say("%s: %d was %llx\n", what, error, bits(old));
    say_mask("now");
    touch_guard();
}

void blocked_masks() {
    start();
    sigset_t full;
    sigfillset(&full);
    sigset_t all_but_it = full;
    sigdelset(&all_but_it, SIGSEGV);
    change(SIG_BLOCK, set_of({SIGSEGV}), "block it");
    change(SIG_BLOCK, set_of({SIGUSR1}), "block another");
    change(SIG_UNBLOCK, set_of({SIGUSR2}), "unblock what is not");
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "unblock it");
    change(SIG_SETMASK, full, "all");
    change(SIG_UNBLOCK, set_of({63}), "all but 63");
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "and it");
    change(SIG_BLOCK, set_of({63}), "63 again");
    change(SIG_BLOCK, set_of({SIGSEGV}), "it again");
    change(SIG_SETMASK, all_but_it, "all but it");
    change(SIG_BLOCK, set_of({SIGSEGV}), "and it");
    change(SIG_UNBLOCK, full, "none");
    change(SIG_SETMASK, set_of({63}), "63");
    change(SIG_SETMASK, set_of({64, SIGSEGV}), "64 and it");
    change(SIG_SETMASK, set_of({}), "none");
    change(17, set_of({SIGSEGV}), "no such way");
    say("sigprocmask: %d", sigprocmask(17, &full, nullptr));
    say(" errno %d\n", errno);
    say("sigprocmask: %d\n", sigprocmask(SIG_BLOCK, &full, nullptr));
    say_mask("now");
    say("sigsetmask %x\n", static_cast<unsigned>(sigsetmask(1 << (SIGSEGV - 1) | 1 << (SIGUSR1 - 1))) & ~0x8000u);
    say("sigblock %x\n", static_cast<unsigned>(sigblock(1 << (SIGUSR2 - 1))) & ~0x8000u);
    say_mask("now");
    say("sigrelse %d\n", sigrelse(SIGSEGV));
    say_mask("now");
    say("sighold %d\n", sighold(SIGSEGV));
    say_mask("now");
    say("sighold 63 %d\n", sighold(63));
    say_mask("now");
    say("sigrelse 63 %d\n", sigrelse(63));
    say_mask("now");
    touch_guard();
}
void blocked_fault() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    fault();
    say("not reached\n");
}
void blocked_before() {
    sigset_t full;
    sigfillset(&full);
    pthread_sigmask(SIG_SETMASK, &full, nullptr);
    start();
    say_mask("from before");
    touch_guard();
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "unblock");
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    fault();
}
void all_but_it_before() {
    sigset_t all_but_it;
    sigfillset(&all_but_it);
    sigdelset(&all_but_it, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all_but_it, nullptr);
    start();
    say_mask("from before");
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    fault();
    say_mask("after");
}
void jump_restores_the_mask() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    static sigjmp_buf back;
    if (sigsetjmp(back, 1) == 0) {
        change(SIG_BLOCK, set_of({SIGSEGV}), "block");
        siglongjmp(back, 1);
    }
    say_mask("after the jump");
    fault();
}

void say_pending() {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    say("pending %llx\n", bits(pending));
}
void sent_while_blocked() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    say_pending();
    pthread_sigqueue(pthread_self(), SIGSEGV, sigval{1});
    pthread_sigqueue(pthread_self(), SIGSEGV, sigval{2});
    say_pending();
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "unblock");
    say_pending();
}
void sent_while_blocked_by_default() {
    start();
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    raise(SIGSEGV);
    say_pending();
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "unblock");
    say("not reached\n");
}
void taken_as_a_value() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    const sigset_t it = set_of({SIGSEGV});
    raise(SIGSEGV);
    int signal = 0;
    say("sigwait %d", sigwait(&it, &signal));
    say(" %d\n", signal);
    pthread_sigqueue(pthread_self(), SIGSEGV, sigval{7});
    siginfo_t info;
    say("sigwaitinfo %d", sigwaitinfo(&it, &info));
    say(" %d %d\n", info.si_code, info.si_value.sival_int);
    raise(SIGSEGV);
    const timespec none{0, 0};
    say("sigtimedwait %d\n", sigtimedwait(&it, nullptr, &none));
    say("sigtimedwait %d", sigtimedwait(&it, nullptr, &none));
    say(" errno %d\n", errno);
    // One that comes while the thread waits.
    const pthread_t waiting = pthread_self();
    std::thread sender([&] { pthread_sigqueue(waiting, SIGSEGV, sigval{8}); });
    say("sigwaitinfo %d", sigwaitinfo(&it, &info));
    say(" %d\n", info.si_value.sival_int);
    sender.join();
    say_pending();
    say_mask("still");
    touch_guard();
}
void waits_with_a_mask() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    install(
        SIGUSR1,
        [](int) {
            say_mask("in the other's");
            touch_guard();
        },
        0, set_of({}));
    sigset_t all_but_usr1;
    sigfillset(&all_but_usr1);
    sigdelset(&all_but_usr1, SIGUSR1);
    change(SIG_SETMASK, set_of({SIGUSR1}), "block the other");
    const auto wait = [&](const char* what, auto call) {
        raise(SIGUSR1);
        errno = 0;
        const int result = call(&all_but_usr1);
        say("%s %d errno %d\n", what, result, errno);
        say_mask("after");
    };
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event;
    wait("sigsuspend", [](const sigset_t* set) { return sigsuspend(set); });
    wait("pselect", [](const sigset_t* set) { return pselect(0, nullptr, nullptr, nullptr, nullptr, set); });
    wait("ppoll", [](const sigset_t* set) { return ppoll(nullptr, 0, nullptr, set); });
    wait("epoll_pwait", [&](const sigset_t* set) { return epoll_pwait(epoll, &event, 1, -1, set); });
    // And for the signal itself.
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    raise(SIGSEGV);
    const sigset_t none = set_of({});
    say("sigsuspend %d", sigsuspend(&none));
    say(" errno %d\n", errno);
    say_mask("after");
    say_pending();
    touch_guard();
    const auto* const nowhere = reinterpret_cast<const sigset_t*>(0x1'0000'0000);
    say("sigsuspend %d", sigsuspend(nowhere));
    say(" errno %d\n", errno);
}
void handler_of_63() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    const auto handler = [](int) {
        say_mask("in the handler of 63");
        close_own_page();
        fault();
    };
    install(63, handler, 0, set_of({}));
    raise(63);
    struct sigaction old;
    sigaction(63, nullptr, &old);
    say_action("63", old);
    signal(63, handler);
    raise(63);
}
void handler_of_63_before() {
    const sigset_t it = set_of({63});
    make_own_page();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    install(
        63, [](int) { fault(); }, 0, set_of({}));
    install(
        SIGUSR1, [](int) { fault(); }, 0, it);
    pthread_sigmask(SIG_BLOCK, &it, nullptr);
    start();
    say_mask("from before");
    fault();
    close_own_page();
    raise(SIGUSR1);
    close_own_page();
    change(SIG_UNBLOCK, it, "unblock");
    raise(63);
    struct sigaction old;
    sigaction(63, nullptr, &old);
    say_action("63", old);
    sigaction(SIGUSR1, nullptr, &old);
    say_action("the other", old);
}

void* in_a_thread(void*) {
    say_mask("in the new thread");
    touch_guard();
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "unblock");
    close_own_page();
    fault();
    return nullptr;
}
void threads_inherit() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV, SIGUSR1}), "block");
    pthread_t thread;
    pthread_create(&thread, nullptr, &in_a_thread, nullptr);
    pthread_join(thread, nullptr);
    say_mask("in the first");
}
void blocked_fault_in_a_new_thread() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            fault();
            return nullptr;
        },
        nullptr);
    pthread_join(thread, nullptr);
    say("not reached\n");
}

int g_pipe[2];
void* reads_for_ever(void* memory) {
    pthread_cleanup_push([](void*) { say("cleaned up\n"); }, nullptr);
    say("read %zd\n", read(g_pipe[0], memory, 100));
    pthread_cleanup_pop(0);
    return nullptr;
}
// Whether the cancellation finds the thread inside read, or is there before it: it ends the same way.
void cancelled_in_read() {
    start();
    if (pipe(g_pipe) != 0) {
        return;
    }
    for (int i = 0; i < 20; ++i) {
        guards::guard(2);
        pthread_t thread;
        pthread_create(&thread, nullptr, &reads_for_ever, guards::g_memory + 2 * guards::kPage);
        if (i % 2 == 0) {
            // Until it has lifted the guard: then it is in the call, or about to be.
            while (guards::library() != nullptr && guards::g_guarded[2].load()) {
                sched_yield();
            }
        }
        pthread_cancel(thread);
        void* result = nullptr;
        pthread_join(thread, &result);
        say("cancelled %d\n", result == PTHREAD_CANCELED);
    }
}
void many_threads_at_one_page() {
    constexpr int kThreads = 8;
    constexpr int kRounds = 200;
    start();
    std::barrier at_once(kThreads, []() noexcept { guards::guard(1); });
    std::atomic<long> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < kRounds; ++round) {
                at_once.arrive_and_wait();
                sum += static_cast<volatile unsigned char*>(guards::g_memory)[guards::kPage + t] + 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    say("sum %ld\n", sum.load());
}
void handlers_change_under_fire() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    std::atomic<bool> done{false};
    std::thread changes([&] {
        for (int i = 0; i < 20000; ++i) {
            struct sigaction old;
            const sigset_t mask = i % 2 == 0 ? set_of({SIGUSR1}) : set_of({SIGUSR2, SIGHUP});
            install(SIGSEGV, i % 2 == 0 ? SIG_IGN : SIG_DFL, i % 2 == 0 ? SA_RESTART : SA_ONSTACK, mask, &old);
            const bool even = old.sa_handler == SIG_IGN && bits(old.sa_mask) == bits(set_of({SIGUSR1}));
            const bool odd = old.sa_handler == SIG_DFL && bits(old.sa_mask) == bits(set_of({SIGUSR2, SIGHUP}));
            if (i > 0 && even == odd) {
                say("mixed\n");
            }
        }
        done = true;
    });
    while (!done) {
        touch_guard();
    }
    changes.join();
    say("end\n");
}

const cases::Case kCases[] = {
    {"blocked_masks", blocked_masks},
    {"blocked_fault", blocked_fault},
    {"blocked_before", blocked_before},
    {"all_but_it_before", all_but_it_before},
    {"jump_restores_the_mask", jump_restores_the_mask},
    {"sent_while_blocked", sent_while_blocked},
    {"sent_while_blocked_by_default", sent_while_blocked_by_default},
    {"taken_as_a_value", taken_as_a_value},
    {"waits_with_a_mask", waits_with_a_mask},
    {"handler_of_63", handler_of_63},
    {"handler_of_63_before", handler_of_63_before},
    {"threads_inherit", threads_inherit},
    {"blocked_fault_in_a_new_thread", blocked_fault_in_a_new_thread},
    {"cancelled_in_read", cancelled_in_read},
    {"many_threads_at_one_page", many_threads_at_one_page},
    {"handlers_change_under_fire", handlers_change_under_fire},
};

}  // namespace

int main(int count, char** arguments) {
    return cases::main_of(kCases, count, arguments);
}
