#include "launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace pincheck {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void (*g_sigpipe)(int) = SIG_DFL;

constexpr int kForwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr int kIgnored[] = {SIGINT, SIGQUIT};

// What this process does about signals, until it is put back as it was.
class Signals {
  public:
    Signals() {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &mask_);
        struct sigaction ignore {};
        ignore.sa_handler = SIG_IGN;
        for (std::size_t i = 0; i < std::size(kIgnored); ++i) {
            sigaction(kIgnored[i], &ignore, &ignored_[i]);
        }
        // Ignored by whoever started us, it would take our children's statuses away.
        struct sigaction usual {};
        usual.sa_handler = SIG_DFL;
        sigaction(SIGCHLD, &usual, &child_);
    }
    ~Signals() { restore(); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // Everything but the awaited ones as before: a fault or a stop works as ever.
    void wait_only_for(const sigset_t& awaited) const {
        sigset_t mask = mask_;
        for (int signal = 1; signal < NSIG; ++signal) {
            if (sigismember(&awaited, signal) == 1) {
                sigaddset(&mask, signal);
            }
        }
        sigprocmask(SIG_SETMASK, &mask, nullptr);
    }
    void restore() const {
        for (std::size_t i = 0; i < std::size(kIgnored); ++i) {
            sigaction(kIgnored[i], &ignored_[i], nullptr);
        }
        sigaction(SIGCHLD, &child_, nullptr);
        sigprocmask(SIG_SETMASK, &mask_, nullptr);
    }

  private:
    sigset_t mask_{};
    struct sigaction ignored_[std::size(kIgnored)]{};
    struct sigaction child_ {};
};

class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { reset(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return number_; }
    void reset() {
        if (number_ >= 0) {
            close(number_);
        }
        number_ = -1;
    }

  private:
    int number_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts) {
        all.push_back(const_cast<char*>(text.c_str()));
    }
    all.push_back(nullptr);
    return all;
}

// In the child: what is async-signal-safe and nothing else.
[[noreturn]] void become(char* const* argv, char* const* environment, const Signals& signals, int error_pipe) {
    std::signal(SIGPIPE, g_sigpipe);
    signals.restore();
    execvpe(argv[0], argv, environment);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(error_pipe, &error, sizeof error);
    _exit(127);
}

// Reaps whatever has ended; true when `program` was among it.
bool reap(pid_t program, int& status, bool& children_left) {
    bool ended = false;
    for (;;) {
        int its_status = 0;
        const pid_t pid = waitpid(-1, &its_status, WNOHANG);
        if (pid < 0 && errno == EINTR) {
            continue;
        }
        children_left = pid == 0;
        if (pid <= 0) {
            return ended;
        }
        if (pid == program) {
            status = its_status;
            ended = true;
        }
    }
}

class Waiting {
  public:
    Waiting(pid_t program, int signals, int wake, const std::function<void()>& look)
        : program_(program), signals_(signals), wake_(wake), look_(look) {}

    int until_the_program_ends() {
        // Soon after the start, then regularly.
        milliseconds pause{kLookMilliseconds};
        Clock::time_point next_look = Clock::now() + pause / 5;
        while (!reap(program_, status_, children_left_)) {
            if (wait_until(next_look, true) && Clock::now() >= quiet_until_) {
                // The driver's file was opened: it will be mapped in a moment.
                quiet_until_ = Clock::now() + kBetweenWakes;
                pause = kSoon;
                next_look = Clock::now();
            }
            if (Clock::now() >= next_look) {
                look_();
                next_look = Clock::now() + pause;
                pause = std::min(2 * pause, milliseconds(kLookMilliseconds));
            }
        }
        return status_;
    }
    void for_the_rest() {
        const Clock::time_point end = Clock::now() + milliseconds(kGraceMilliseconds);
        while (children_left_ && !asked_to_end_ && Clock::now() < end) {
            wait_until(end, false);
            reap(-1, status_, children_left_);
        }
        // What was meant for the program and came as it ended has had its effect: it must not take our summary away.
        read_signals(false);
    }

  private:
    // True when `wake` could be read: it has been emptied.
    bool wait_until(Clock::time_point when, bool program_lives) {
        const auto left = std::chrono::ceil<milliseconds>(when - Clock::now()).count();
        pollfd descriptors[2] = {{signals_, POLLIN, 0}, {Clock::now() < quiet_until_ ? -1 : wake_, POLLIN, 0}};
        if (poll(descriptors, 2, static_cast<int>(std::max<long>(left, 0))) <= 0) {
            return false;
        }
        read_signals(program_lives);
        if ((descriptors[1].revents & POLLIN) == 0) {
            return false;
        }
        char events[4096];
        while (read(wake_, events, sizeof events) > 0) {
        }
        return true;
    }
    void read_signals(bool program_lives) {
        signalfd_siginfo info{};
        while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            if (static_cast<int>(info.ssi_signo) == SIGCHLD) {
                continue;
            }
            if (program_lives) {
                kill(program_, static_cast<int>(info.ssi_signo));
            } else {
                asked_to_end_ = true;
            }
        }
    }

    static constexpr milliseconds kSoon{1};
    static constexpr milliseconds kBetweenWakes{10};
    pid_t program_;
    int signals_;
    int wake_;
    const std::function<void()>& look_;
    int status_ = 0;
    bool children_left_ = true;
    bool asked_to_end_ = false;
    Clock::time_point quiet_until_{};
};

}  // namespace

void remember_sigpipe(void (*disposition)(int)) {
    g_sigpipe = disposition == SIG_IGN ? SIG_IGN : SIG_DFL;
}

Ending run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   const std::function<void()>& look, int wake) {
    Ending ending;
    const std::vector<char*> argv = pointers(command);
    const std::vector<char*> envp = pointers(environment);
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (const int signal : kForwarded) {
        sigaddset(&awaited, signal);
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ending.start_error = std::string("pipe: ") + std::strerror(errno);
        return ending;
    }
    const Descriptor error_read(ends[0]);
    Descriptor error_write(ends[1]);
    const Descriptor signals_descriptor(signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
    if (signals_descriptor.get() < 0) {
        ending.start_error = std::string("signalfd: ") + std::strerror(errno);
        return ending;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);

    const Signals signals;
    const Clock::time_point start = Clock::now();
    const pid_t program = fork();
    if (program < 0) {
        ending.start_error = std::string("fork: ") + std::strerror(errno);
        return ending;
    }
    if (program == 0) {
        become(argv.data(), envp.data(), signals, error_write.get());
    }
    error_write.reset();
    signals.wait_only_for(awaited);
    // Closed by exec; bytes mean that there was none.
    int error = 0;
    ssize_t length = 0;
    do {
        length = read(error_read.get(), &error, sizeof error);
    } while (length < 0 && errno == EINTR);
    Waiting waiting(program, signals_descriptor.get(), wake, look);
    if (length == static_cast<ssize_t>(sizeof error)) {
        ending.exec_error = error;
        waitpid(program, nullptr, 0);
        return ending;
    }
    ending.status = waiting.until_the_program_ends();
    ending.wall_ns = static_cast<std::uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1));
    look();
    waiting.for_the_rest();
    look();
    return ending;
}

std::string cannot_start_text(const std::string& start_error) {
    return "cannot start anything: " + start_error;
}

int status_of_exec_error(int error) {
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

void die_by(int signal) {
    // Two ways to write a core: to a file, which the limit forbids, and through a pipe, which only this forbids.
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
    std::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
    _exit(128 + signal);
}

}  // namespace pincheck
