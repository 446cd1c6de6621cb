// The program's own handling of SIGSEGV, around a library that handles it first. Every case also runs without the
// library, and must then say the same and end in the same way.
#include <sys/resource.h>
#include <sys/wait.h>

#include <csetjmp>

#include "cases.h"
#include "signal_words.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern "C" sighandler_t sysv_signal(int, sighandler_t);

namespace {

using namespace words;

void start() {
    guards::memory();
    make_own_page();
    guards::attach();
}

void fault_and_go_on() {
    close_own_page();
    fault();
    say_mask("after the fault");
    touch_guard();
    say_disposition("then");
}

void info_handler() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({SIGUSR1}));
    fault_and_go_on();
    fault_and_go_on();
}
void info_handler_before() {
    make_own_page();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({SIGUSR1}));
    start();
    fault_and_go_on();
    fault_and_go_on();
}
void plain_handler() {
    start();
    say("was %s\n", name_of(reinterpret_cast<void*>(signal(SIGSEGV, on_plain))));
    fault_and_go_on();
    fault_and_go_on();
}
void plain_handler_before() {
    make_own_page();
    signal(SIGSEGV, on_plain);
    start();
    fault_and_go_on();
    fault_and_go_on();
}
void another_handler_after() {
    info_handler_before();
    say("was %s\n", name_of(reinterpret_cast<void*>(signal(SIGSEGV, on_plain))));
    fault_and_go_on();
}
void reset_by_the_first() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO | static_cast<int>(SA_RESETHAND), set_of({}));
    fault_and_go_on();
    close_own_page();
    fault();
    say("not reached\n");
}
void reset_before() {
    make_own_page();
    sysv_signal(SIGSEGV, on_plain);
    start();
    fault_and_go_on();
    close_own_page();
    fault();
    say("not reached\n");
}

volatile int g_depth = 0;
void on_nested(int, siginfo_t*, void*) {
    g_depth = g_depth + 1;
    say("depth %d\n", g_depth);
    say_mask("in the handler");
    touch_guard();
    if (g_depth == 1) {
        fault();
        say("back in the first\n");
    }
    open_own_page();
}
void fault_within_deferred() {
    start();
    install(SIGSEGV, on_nested, SA_SIGINFO, set_of({}));
    fault_and_go_on();
    say("not reached\n");
}
void fault_within_not_deferred() {
    start();
    install(SIGSEGV, on_nested, SA_SIGINFO | SA_NODEFER, set_of({SIGUSR2}));
    fault_and_go_on();
}

sigjmp_buf g_back;
void on_leaving(int) {
    say_mask("in the handler");
    touch_guard();
    siglongjmp(g_back, 1);
}
void leaves_by_longjmp() {
    start();
    install(SIGSEGV, on_leaving, 0, set_of({SIGUSR1}));
    for (volatile int i : {0, 1, 2}) {
        say("round %d\n", i);
        if (sigsetjmp(g_back, 1) == 0) {
            fault();
        }
        say_mask("after the jump");
    }
}
void leaves_by_longjmp_with_the_mask_as_it_is() {
    start();
    install(SIGSEGV, on_leaving, 0, set_of({SIGUSR1}));
    for (volatile int i : {0, 1}) {
        say("round %d\n", i);
        if (sigsetjmp(g_back, 0) == 0) {
            fault();
        }
        say_mask("after the jump");
    }
}
void on_throwing(int) {
    say("throws\n");
    throw 7;
}
void leaves_by_exception() {
    start();
    install(SIGSEGV, on_throwing, SA_NODEFER, set_of({}));
    for (volatile int i : {0, 1}) {
        say("round %d\n", i);
        try {
            fault();
        } catch (int value) {
            say("caught %d\n", value);
        }
    }
}

char g_stack[1 << 16];
void on_where(int signal, siginfo_t*, void*) {
    char here = 0;
    volatile char* const at = &here;
    say("%d on the other stack: %d\n", signal, at >= g_stack && at < g_stack + sizeof g_stack);
    open_own_page();
}
void use_other_stack() {
    stack_t stack{};
    stack.ss_sp = g_stack;
    stack.ss_size = sizeof g_stack;
    sigaltstack(&stack, nullptr);
}
void on_other_stack() {
    start();
    use_other_stack();
    install(SIGSEGV, on_where, SA_SIGINFO | SA_ONSTACK, set_of({}));
    fault_and_go_on();
    install(SIGSEGV, on_where, SA_SIGINFO, set_of({}));
    fault_and_go_on();
}
void on_other_stack_before() {
    make_own_page();
    use_other_stack();
    install(SIGSEGV, on_where, SA_SIGINFO | SA_ONSTACK, set_of({}));
    start();
    fault_and_go_on();
}
void on_overflow(int, siginfo_t*, void*) {
    say("overflow\n");
    _exit(3);
}
__attribute__((noinline)) int deeper(int level) {
    volatile char room[4096];
    room[0] = static_cast<char>(level);
    return level < 0 ? 0 : deeper(level + 1) + room[0];
}
void limit_stack() {
    const rlimit small{1 << 18, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &small);
}
void stack_overflow() {
    start();
    use_other_stack();
    limit_stack();
    install(SIGSEGV, on_overflow, SA_SIGINFO | SA_ONSTACK, set_of({}));
    deeper(0);
}
void stack_overflow_without_room() {
    start();
    use_other_stack();
    limit_stack();
    install(SIGSEGV, on_overflow, SA_SIGINFO, set_of({}));
    deeper(0);
}

void default_fault() {
    start();
    touch_guard();
    fault();
    say("not reached\n");
}
void default_sent() {
    start();
    kill(getpid(), SIGSEGV);
    say("not reached\n");
}
void default_queued() {
    start();
    sigqueue(getpid(), SIGSEGV, sigval{5});
    say("not reached\n");
}
void default_raised() {
    start();
    raise(SIGSEGV);
    say("not reached\n");
}
// As crash handlers do that pass a fault on: the code says fault, but none happens again.
void default_faked() {
    start();
    siginfo_t info{};
    info.si_signo = SIGSEGV;
    info.si_code = SEGV_MAPERR;
    guards::raw(SYS_rt_sigqueueinfo, getpid(), SIGSEGV, reinterpret_cast<long>(&info));
    say("not reached\n");
}
void ignored() {
    start();
    signal(SIGSEGV, SIG_IGN);
    kill(getpid(), SIGSEGV);
    raise(SIGSEGV);
    touch_guard();
    say_disposition("ignored");
    fault();
    say("not reached\n");
}
void ignored_before() {
    make_own_page();
    signal(SIGSEGV, SIG_IGN);
    start();
    kill(getpid(), SIGSEGV);
    say_disposition("ignored");
    fault();
    say("not reached\n");
}
void handler_of_sent_ones() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    kill(getpid(), SIGSEGV);
    raise(SIGSEGV);
    sigqueue(getpid(), SIGSEGV, sigval{42});
    pthread_sigqueue(pthread_self(), SIGSEGV, sigval{43});
}
// The handler puts the default back and returns, or sends the signal again: both are usual.
void on_passing(int signal) {
    say("passes it on\n");
    ::signal(signal, SIG_DFL);
}
void handler_restores_default() {
    start();
    signal(SIGSEGV, on_passing);
    fault();
    say("not reached\n");
}
void on_resending(int signal) {
    say("sends it again\n");
    ::signal(signal, SIG_DFL);
    raise(signal);
    say("waits until the handler returns\n");
    open_own_page();
}
void handler_sends_again() {
    start();
    signal(SIGSEGV, on_resending);
    fault();
    say("not reached\n");
}

void on_changing(int, siginfo_t*, void* context) {
    auto& mask = static_cast<ucontext_t*>(context)->uc_sigmask;
    say("interrupted %llx\n", bits(mask));
    sigaddset(&mask, SIGUSR2);
    sigaddset(&mask, SIGSEGV);
    open_own_page();
}
void handler_changes_the_interrupted_mask() {
    start();
    install(SIGSEGV, on_changing, SA_SIGINFO, set_of({}));
    fault();
    say_mask("after");
    touch_guard();
    close_own_page();
    fault();
    say("not reached\n");
}
void forked() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    const pid_t child = fork();
    if (child == 0) {
        fault_and_go_on();
        signal(SIGSEGV, SIG_DFL);
        close_own_page();
        fault();
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("child ended by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
void memory_functions() {
    start();
    unsigned char* const memory = guards::memory();
    std::memset(memory, 7, 4 * guards::kPage);
    guards::guard_all();
    std::string copy(4 * guards::kPage, '\0');
    std::memcpy(copy.data(), memory, copy.size());
    say("copied %d %d\n", copy[0], copy[copy.size() - 1]);
    guards::guard_all();
    memory[3 * guards::kPage] = 1;
    say("written %d\n", memory[3 * guards::kPage]);
    guards::guard_all();
    say("read by %d\n", std::atomic_ref<unsigned char>(memory[5]).fetch_add(2));
}

const cases::Case kCases[] = {
    {"info_handler", info_handler},
    {"info_handler_before", info_handler_before},
    {"plain_handler", plain_handler},
    {"plain_handler_before", plain_handler_before},
    {"another_handler_after", another_handler_after},
    {"reset_by_the_first", reset_by_the_first},
    {"reset_before", reset_before},
    {"fault_within_deferred", fault_within_deferred},
    {"fault_within_not_deferred", fault_within_not_deferred},
    {"leaves_by_longjmp", leaves_by_longjmp},
    {"leaves_by_longjmp_with_the_mask_as_it_is", leaves_by_longjmp_with_the_mask_as_it_is},
    {"leaves_by_exception", leaves_by_exception},
    {"on_other_stack", on_other_stack},
    {"on_other_stack_before", on_other_stack_before},
    {"stack_overflow", stack_overflow},
    {"stack_overflow_without_room", stack_overflow_without_room},
    {"default_fault", default_fault},
    {"default_sent", default_sent},
    {"default_queued", default_queued},
    {"default_raised", default_raised},
    {"default_faked", default_faked},
    {"ignored", ignored},
    {"ignored_before", ignored_before},
    {"handler_of_sent_ones", handler_of_sent_ones},
    {"handler_restores_default", handler_restores_default},
    {"handler_sends_again", handler_sends_again},
    {"handler_changes_the_interrupted_mask", handler_changes_the_interrupted_mask},
    {"forked", forked},
    {"memory_functions", memory_functions},
};

}  // namespace

int main(int count, char** arguments) {
    return cases::main_of(kCases, count, arguments);
}
