// Runs a program as a debugger does that only looks on: traced PROGRAM ARGUMENTS. Ends as the program does.
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

int main(int, char** argv) {
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        execv(argv[1], argv + 1);
        std::perror("execv");
        _exit(126);
    }
    int status = 0;
    while (waitpid(child, &status, 0) == child) {
        if (WIFEXITED(status)) {
            return WEXITSTATUS(status);
        }
        if (WIFSIGNALED(status)) {
            return 128 + WTERMSIG(status);
        }
        const int signal = WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, nullptr, reinterpret_cast<void*>(static_cast<long>(signal == SIGTRAP ? 0 : signal)));
    }
    return 125;
}
