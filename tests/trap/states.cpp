// What the table of libpincheck-trap.so answers as things happen. Without the library: nothing.
#include <pthread.h>

#include <atomic>
#include <thread>

#include "cases.h"
#include "signal_words.h"

namespace {

using namespace words;

void say_state(const char* when) {
    const auto* library = guards::library();
    say("%s: here %d others take it %d\n", when, library->has_signal(), library->every_other_thread_takes_signal());
}

void attaches_once() {
    guards::memory();
    say_state("before");
    say("attach %d\n", guards::attach());
    say_state("attached");
    say("attach again %d\n", guards::attach());
    touch_guard();
    say("faults %u\n", guards::g_faults.load());
}

// A handler that a system call of its own put in place.
void passed_by() {
    guards::memory();
    guards::attach();
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)();
        unsigned long mask;
    } action{SIG_IGN, 0, nullptr, 0};
    long result = 0;
    register long size __asm__("r10") = 8;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(static_cast<long>(SYS_rt_sigaction)), "D"(static_cast<long>(SIGSEGV)), "S"(&action), "d"(0L),
                       "r"(size)
                     : "rcx", "r11", "memory");
    say("passed by: %ld\n", result);
    say_state("passed by");
    // From then on the program's calls go to the kernel again.
    say("was ignored %d\n", signal(SIGSEGV, SIG_DFL) == SIG_IGN);
    say_state("still");
}

void other_threads_block() {
    guards::memory();
    make_own_page();
    std::atomic<int> step{0};
    const auto wait_for = [&](int value) {
        while (step.load() < value) {
            sched_yield();
        }
    };
    std::thread other([&] {
        sigset_t set = set_of({SIGSEGV});
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        step = 1;
        wait_for(2);
        pthread_sigmask(SIG_BLOCK, nullptr, &set);
        step = 3;
        wait_for(4);
        set = set_of({SIGUSR1});
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        say_mask("of the other");
        step = 5;
        wait_for(6);
    });
    wait_for(1);
    say_state("blocked before");
    guards::attach();
    say_state("attached");
    step = 2;
    wait_for(3);
    step = 4;
    wait_for(5);
    say_state("its mask is changed");
    std::thread another([] {
        const sigset_t set = set_of({SIGSEGV});
        pthread_sigmask(SIG_BLOCK, &set, nullptr);
        say_mask("of another");
    });
    another.join();
    const sigset_t set = set_of({SIGSEGV});
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread born_blocked([] { say_state("from a thread born blocked"); });
    born_blocked.join();
    step = 6;
    other.join();
}

const cases::Case kCases[] = {
    {"attaches_once", attaches_once},
    {"passed_by", passed_by},
    {"other_threads_block", other_threads_block},
};

}  // namespace

int main(int count, char** arguments) {
    return guards::library() != nullptr ? cases::main_of(kCases, count, arguments) : 3;
}
