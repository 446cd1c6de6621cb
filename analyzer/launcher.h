// Starts the program of `pincheck run` and waits for it as a shell would, so that neither it nor whoever started us can
// tell that we are between them.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pincheck {

// What main() found for SIGPIPE before it ignored it: programs get that back. Default: SIG_DFL.
void remember_sigpipe(void (*disposition)(int));

struct Ending {
    int status = 0;           // as waitpid gives it
    int exec_error = 0;       // errno of a program that could not be started; `status` means nothing then
    std::string start_error;  // pipe, fork or signalfd failed: nothing was started
    std::uint64_t wall_ns = 0;
};

// How long descendants that outlive the program are waited for: processes that are just writing their reports. What
// goes on for longer (a daemon) is left alone.
inline constexpr int kGraceMilliseconds = 500;
// Between two looks at the descendants.
inline constexpr int kLookMilliseconds = 250;

// While the program lives: SIGINT and SIGQUIT are ignored (a terminal sends them to the program as well), SIGTERM,
// SIGHUP, SIGUSR1 and SIGUSR2 go to the program; this process is the one to which orphaned descendants fall, and reaps
// them. The program starts with the signal mask and dispositions that this process was started with.
// `look` is called about every kLookMilliseconds, right after `wake` (a descriptor that does not block, -1: none) has
// something to read, which is thrown away, and when the program has ended.
Ending run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   const std::function<void()>& look, int wake);

// What is said where nothing was started.
std::string cannot_start_text(const std::string& start_error);

// The exit status that a shell gives for it: 127 not found, 126 not executable.
int status_of_exec_error(int error);

// Ends this process as `signal` ended the program, without a core file of its own.
[[noreturn]] void die_by(int signal);

}  // namespace pincheck
