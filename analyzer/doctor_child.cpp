#include "doctor_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace pincheck {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{20};  // a driver on a machine that just came up takes seconds
constexpr std::size_t kMostText = 16u << 20;

// Until both are closed at their other ends; false when that takes too long.
bool read_both(const std::array<int, 2>& ends, std::array<std::string*, 2> texts) {
    const Clock::time_point end = Clock::now() + kPatience;
    std::array<pollfd, 2> open = {{{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}}};
    while (open[0].fd >= 0 || open[1].fd >= 0) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
        const int ready = left > 0 ? poll(open.data(), open.size(), static_cast<int>(left)) : 0;
        if (ready == 0 || (ready < 0 && errno != EINTR)) {
            return false;
        }
        for (std::size_t i = 0; ready > 0 && i < open.size(); ++i) {
            char bytes[4096];
            if (open[i].fd < 0 || open[i].revents == 0) {
                continue;
            }
            const ssize_t length = read(open[i].fd, bytes, sizeof bytes);
            if (length > 0 && texts[i]->size() < kMostText) {
                texts[i]->append(bytes, static_cast<std::size_t>(length));
            } else if (length == 0 || (length < 0 && errno != EINTR)) {
                open[i].fd = -1;
            }
        }
    }
    return true;
}

// `body` never returns.
ChildAnswer ask(const std::function<void()>& body) {
    ChildAnswer answer;
    int out[2];
    int err[2];
    if (pipe2(out, O_CLOEXEC) != 0) {
        answer.err = std::string("pipe: ") + std::strerror(errno);
        return answer;
    }
    if (pipe2(err, O_CLOEXEC) != 0) {
        answer.err = std::string("pipe: ") + std::strerror(errno);
        close(out[0]);
        close(out[1]);
        return answer;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        body();
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    if (child < 0) {
        answer.err = std::string("fork: ") + std::strerror(errno);
    } else {
        const bool in_time = read_both({out[0], err[0]}, {&answer.out, &answer.err});
        if (!in_time) {
            kill(child, SIGKILL);
            answer.err = "no answer";
        }
        int status = 0;
        pid_t ended = 0;
        do {
            ended = waitpid(child, &status, 0);
        } while (ended < 0 && errno == EINTR);
        answer.succeeded = in_time && ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (in_time && ended == child && WIFSIGNALED(status)) {
            answer.err = std::string("the process died: ") + strsignal(WTERMSIG(status));
        }
    }
    close(out[0]);
    close(err[0]);
    return answer;
}

}  // namespace

ChildAnswer ask_fork(const std::function<std::string()>& work) {
    return ask([&] {
        const std::string text = work();
        std::size_t done = 0;
        while (done < text.size()) {
            const ssize_t written = write(STDOUT_FILENO, text.data() + done, text.size() - done);
            if (written <= 0) {
                _exit(1);
            }
            done += static_cast<std::size_t>(written);
        }
        _exit(0);
    });
}

ChildAnswer ask_program(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    const auto pointers = [](const std::vector<std::string>& texts) {
        std::vector<char*> all;
        for (const std::string& text : texts) {
            all.push_back(const_cast<char*>(text.c_str()));
        }
        all.push_back(nullptr);
        return all;
    };
    const std::vector<char*> argv = pointers(command);
    const std::vector<char*> envp = pointers(environment);
    return ask([&] { execve(argv[0], argv.data(), envp.data()); });
}

}  // namespace pincheck
