// What the program is told of its dispositions, around a library that keeps SIGSEGV's to itself. Every case also runs
// without the library, and must then say the same.
#include "cases.h"
#include "signal_words.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern "C" sighandler_t bsd_signal(int, sighandler_t);
extern "C" sighandler_t sysv_signal(int, sighandler_t);
extern "C" sighandler_t __sysv_signal(int, sighandler_t);
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*);

namespace {

using namespace words;

void start() {
    guards::memory();
    make_own_page();
    guards::attach();
}

void old_values() {
    start();
    struct sigaction old;
    const auto change = [&](const char* what, auto handler, int flags, const sigset_t& mask) {
        std::memset(&old, 0xee, sizeof old);
        const int result = install(SIGSEGV, handler, flags, mask, &old);
        say("%s: %d\n", what, result);
        say_action("  was", old);
    };
    sigset_t full;
    sigfillset(&full);
    say_disposition("first");
    change("info", on_info, SA_SIGINFO | SA_RESTART, set_of({SIGUSR1, SIGSEGV}));
    change("plain", on_plain, 0, full);
    change("all flags", on_info, -1, set_of({SIGKILL, SIGSTOP, SIGUSR2}));
    change("default", SIG_DFL, 0, set_of({SIGHUP}));
    say_disposition("default");
    const auto said = [](const char* what, sighandler_t was) {
        say("%s: was %s errno %d\n", what, name_of(reinterpret_cast<void*>(was)), was == SIG_ERR ? errno : 0);
        say_disposition("  now");
    };
    said("signal", signal(SIGSEGV, on_plain));
    said("bsd_signal", bsd_signal(SIGSEGV, SIG_IGN));
    said("ssignal", ssignal(SIGSEGV, on_plain));
    said("sysv_signal", sysv_signal(SIGSEGV, on_plain));
    said("__sysv_signal", __sysv_signal(SIGSEGV, on_plain));
    said("signal of no handler", signal(SIGSEGV, SIG_ERR));
    said("signal of no signal", signal(0, on_plain));
    said("signal that cannot be", signal(SIGKILL, on_plain));
    siginterrupt(SIGSEGV, 1);
    said("signal that interrupts", signal(SIGSEGV, on_plain));
    siginterrupt(SIGSEGV, 0);
    say_disposition("  no longer");
    said("signal that does not", signal(SIGSEGV, on_plain));
    said("sigset", sigset(SIGSEGV, on_plain));
    said("sigset to hold", sigset(SIGSEGV, SIG_HOLD));
    say_mask("held");
    said("sigset to hold again", sigset(SIGSEGV, SIG_HOLD));
    said("sigset from hold", sigset(SIGSEGV, on_plain));
    say_mask("let go");
    say("sigignore %d\n", sigignore(SIGSEGV));
    say_disposition("  now");
    struct sigaction action = old;
    say("nothing to do: %d\n", sigaction(SIGSEGV, nullptr, nullptr));
    say("no signal: %d", sigaction(65, &action, &old));
    say(" errno %d\n", errno);
    say("same memory: %d\n", __sigaction(SIGSEGV, &action, &action));
    say_action("  was", action);
}
void set_before() {
    make_own_page();
    siginterrupt(SIGSEGV, 1);
    install(SIGSEGV, on_info, SA_SIGINFO | SA_ONSTACK | SA_NODEFER, set_of({SIGUSR2, SIGSEGV}));
    start();
    say_disposition("from before");
    signal(SIGSEGV, on_plain);
    say_disposition("interrupts");
}
void handler_of_another_signal() {
    sigset_t full;
    sigfillset(&full);
    install(
        SIGUSR1,
        [](int) {
            say_mask("in the other's");
            touch_guard();
        },
        0, full);
    start();
    install(
        SIGUSR2,
        [](int) {
            say_mask("in the second's");
            touch_guard();
        },
        0, set_of({SIGSEGV}));
    raise(SIGUSR1);
    raise(SIGUSR2);
    struct sigaction old;
    std::memset(&old, 0xee, sizeof old);
    sigaction(SIGUSR1, nullptr, &old);
    say_action("the other", old);
    sigaction(SIGUSR2, nullptr, &old);
    say_action("the second", old);
    say_mask("after");
}

const cases::Case kCases[] = {
    {"old_values", old_values},
    {"set_before", set_before},
    {"handler_of_another_signal", handler_of_another_signal},
};

}  // namespace

int main(int count, char** arguments) {
    return cases::main_of(kCases, count, arguments);
}
