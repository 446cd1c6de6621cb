// What programs inherit that this one executes: the mask and that SIGSEGV is ignored, as this one set them. Every case
// also runs without the library, and must then say the same.
#include <spawn.h>
#include <sys/wait.h>

#include "cases.h"
#include "signal_words.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern char** environ;

namespace {

using namespace words;

const char* g_program = nullptr;

void start() {
    guards::memory();
    make_own_page();
    guards::attach();
}

void change(int how, const sigset_t& set, const char* what) {
    say("%s: %d\n", what, pthread_sigmask(how, &set, nullptr));
    say_mask("now");
}

// What the kernel gave a program that was executed: of SIGSEGV and the rest of the mask.
void say_inherited() {
    struct sigaction now;
    sigaction(SIGSEGV, nullptr, &now);
    say_action("inherited", now);
    say_mask("inherited");
}
int execute_self() {
    char name[] = "say_inherited";
    char* const arguments[] = {const_cast<char*>(g_program), name, nullptr};
    return execv(g_program, arguments);
}
void executes() {
    start();
    install(SIGSEGV, SIG_IGN, 0, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV, SIGUSR1}), "block");
    char* const none[] = {nullptr};
    say("exec of nothing %d", execve("/nonexistent", none, none));
    say(" errno %d\n", errno);
    say_mask("after that");
    say_disposition("after that");
    touch_guard();
    execute_self();
}
// The ways to name the arguments one by one.
void executes_by_list() {
    start();
    install(SIGSEGV, SIG_IGN, 0, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV, SIGUSR1}), "block");
    char only[] = "ONLY=this";
    char* const environment[] = {only, nullptr};
    say("exec of nothing %d", execl("/nonexistent", "a", "b", nullptr));
    say(" errno %d\n", errno);
    say("exec of nothing %d", execlp("nonexistent-program", "a", nullptr));
    say(" errno %d\n", errno);
    say("exec of nothing %d", execle("/nonexistent", "a", "b", "c", nullptr, environment));
    say(" errno %d\n", errno);
    for (int way = 0; way < 3; ++way) {
        const pid_t child = fork();
        if (child == 0 && way == 0) {
            execl(g_program, g_program, "say_inherited", "one", "two", nullptr);
        } else if (child == 0 && way == 1) {
            execlp(g_program, g_program, "say_inherited", nullptr);
        } else if (child == 0) {
            execle("/usr/bin/env", "env", nullptr, environment);
        }
        int status = 0;
        waitpid(child, &status, 0);
        say("child %x\n", static_cast<unsigned>(status));
    }
    say_mask("in the parent");
}
void executes_with_handler() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({}));
    execute_self();
}
void executes_after_vfork() {
    start();
    install(SIGSEGV, SIG_IGN, 0, set_of({}));
    change(SIG_BLOCK, set_of({SIGSEGV}), "block");
    const pid_t child = vfork();
    if (child == 0) {
        execute_self();
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("child %x\n", static_cast<unsigned>(status));
    say_mask("in the parent");
    touch_guard();
    raise(SIGSEGV);
    change(SIG_UNBLOCK, set_of({SIGSEGV}), "unblock");
}
// The child's dispositions are its own though its memory is the parent's.
void handlers_of_a_vfork_child() {
    start();
    install(SIGSEGV, on_info, SA_SIGINFO, set_of({SIGUSR1}));
    const pid_t child = vfork();
    if (child == 0) {
        struct sigaction old;
        install(SIGSEGV, SIG_DFL, 0, set_of({}), &old);
        say_action("was", old);
        say_disposition("in the child");
        signal(SIGSEGV, SIG_IGN);
        siginterrupt(SIGSEGV, 1);
        say_disposition("in the child");
        execute_self();
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("child %x\n", static_cast<unsigned>(status));
    say_disposition("in the parent");
    touch_guard();
    fault();
}
void spawns() {
    start();
    change(SIG_BLOCK, set_of({SIGSEGV, SIGUSR2}), "block");
    char name[] = "say_inherited";
    char* const arguments[] = {const_cast<char*>(g_program), name, nullptr};
    for (const auto spawn : {&posix_spawn, &posix_spawnp}) {
        pid_t child = 0;
        const int error = spawn(&child, g_program, nullptr, nullptr, arguments, environ);
        int status = 0;
        waitpid(child, &status, 0);
        say("spawn %d\n", error);
        say("child %x\n", static_cast<unsigned>(status));
    }
    say_mask("in the parent");
    touch_guard();
}

const cases::Case kCases[] = {
    {"say_inherited", say_inherited},
    {"executes", executes},
    {"executes_by_list", executes_by_list},
    {"executes_with_handler", executes_with_handler},
    {"executes_after_vfork", executes_after_vfork},
    {"handlers_of_a_vfork_child", handlers_of_a_vfork_child},
    {"spawns", spawns},
};

}  // namespace

int main(int count, char** arguments) {
    g_program = arguments[0];
    return cases::main_of(kCases, count, arguments);
}
