#include "run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace pincheck::test {
namespace {

using Clock = std::chrono::steady_clock;

// Only ever ends a test that has already failed: a hang. Generous, since sanitizers and valgrind run here too; the long
// tests set it (seconds), since what their programs do takes minutes on a busy machine.
std::chrono::seconds patience() {
    const char* set = std::getenv("PINCHECK_TEST_PATIENCE");
    return std::chrono::seconds(set != nullptr ? std::atoi(set) : 90);
}

struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
        }
        read_end = ends[0];
        write_end = ends[1];
    }
};

std::string joined(const std::vector<std::string>& parts, const char* separator) {
    std::string all;
    for (const std::string& part : parts) {
        all += (all.empty() ? "" : separator) + part;
    }
    return all;
}

std::vector<std::string> environment_of(const Command& command, const std::filesystem::path& folder) {
    std::map<std::string, std::string> variables = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"LANG", "C"},
        {"HOME", folder.string()},
        {"TMPDIR", folder.string()},
        {"LD_LIBRARY_PATH", simulated_device_folder()},
    };
    std::vector<std::string> preload = command.preload;
    std::string options = command.options;
    // The whole suite once with races=trap (test preload.ring_under_trap): whoever says nothing of races runs so.
    const char* level = std::getenv("PINCHECK_TEST_RACES");
    const auto tool = std::ranges::find(preload, tool_library());
    if (level != nullptr && std::string(level) == "trap" && tool != preload.end() &&
        options.find("races=") == std::string::npos) {
        preload.insert(tool + 1, trap_library());
        options += (options.empty() ? "" : ":") + std::string("races=trap");
    }
    if (!preload.empty()) {
        variables["LD_PRELOAD"] = joined(preload, ":");
    }
    if (!options.empty()) {
        variables["PINCHECK_OPTIONS"] = options;
    }
    for (const auto& [name, value] : command.environment) {
        variables[name] = value;
    }
    std::vector<std::string> all;
    for (const auto& [name, value] : variables) {
        all.push_back(name + "=" + value);
    }
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) {
        all.push_back(text.data());
    }
    all.push_back(nullptr);
    return all;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "pincheck-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error(std::string("mkdtemp: ") + std::strerror(errno));
    }
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
}

std::string tool_library() {
    return PINCHECK_TEST_LIBRARY;
}
std::string trap_library() {
    return tool_library().substr(0, tool_library().rfind('/')) + "/libpincheck-trap.so";
}
std::string program_path(const std::string& name) {
    return std::string(PINCHECK_TEST_PROGRAMS) + "/" + name;
}
std::string simulated_device_folder() {
    return PINCHECK_TEST_SIMCUDA;
}
std::string simulated_runtime() {
    return std::string(PINCHECK_TEST_SIMCUDA) + "/libcudart.so." + std::to_string(PINCHECK_TEST_CUDA_MAJOR);
}

Command Command::without_tool() const {
    Command plain = *this;
    std::erase(plain.preload, tool_library());
    plain.options.clear();
    return plain;
}

bool Outcome::exited(int code) const {
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}
bool Outcome::killed_by(int signal) const {
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}
std::string Outcome::status_text() const {
    if (timed_out) {
        return "did not end";
    }
    return WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                             : std::string("signal ") + strsignal(WTERMSIG(status));
}

Running::Running(const Command& command, const std::filesystem::path& folder) {
    Pipe input;
    Pipe out;
    Pipe err;
    std::vector<std::string> arguments = command.arguments;
    std::vector<std::string> environment = environment_of(command, folder);
    const std::vector<char*> argv = pointers(arguments);
    const std::vector<char*> envp = pointers(environment);
    const std::string directory = command.folder.value_or(folder.string());
    pid_ = fork();
    if (pid_ < 0) {
        throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    }
    if (pid_ == 0) {
        dup2(input.read_end, 0);
        dup2(out.write_end, 1);
        dup2(command.separate_streams ? err.write_end : out.write_end, 2);
        if (chdir(directory.c_str()) != 0) {
            _exit(126);
        }
        if (command.file_size_limit) {
            const rlimit limit = {*command.file_size_limit, *command.file_size_limit};
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        const rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        execvpe(argv[0], argv.data(), envp.data());
        _exit(127);
    }
    close(input.read_end);
    close(out.write_end);
    close(err.write_end);
    input_ = input.write_end;
    out_ = out.read_end;
    err_ = err.read_end;
}

Running::~Running() {
    if (!ended_) {
        signal(SIGKILL);
        wait();
    }
}

bool Running::read_some(int timeout_ms) {
    pollfd descriptors[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    if (poll(descriptors, 2, timeout_ms) < 0) {
        return errno == EINTR;
    }
    for (int i = 0; i < 2; ++i) {
        if (descriptors[i].revents == 0) {
            continue;
        }
        char buffer[65536];
        int& descriptor = i == 0 ? out_ : err_;
        const ssize_t length = read(descriptor, buffer, sizeof buffer);
        if (length > 0) {
            (i == 0 ? outcome_.out : outcome_.err).append(buffer, static_cast<std::size_t>(length));
        } else if (length == 0 || errno != EINTR) {
            close(descriptor);
            descriptor = -1;
        }
    }
    return out_ >= 0 || err_ >= 0;
}

bool Running::wait_for_line(const std::string& line) {
    const auto give_up = Clock::now() + patience();
    for (;;) {
        for (;;) {
            const std::size_t end = outcome_.out.find('\n', searched_);
            if (end == std::string::npos) {
                break;
            }
            const std::string got = outcome_.out.substr(searched_, end - searched_);
            searched_ = end + 1;
            if (got == line) {
                return true;
            }
        }
        if (out_ < 0 || Clock::now() > give_up) {
            return false;
        }
        read_some(100);
    }
}

void Running::say(const std::string& text) {
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    if (input_ >= 0 && write(input_, text.data(), text.size()) < 0) {
        close(input_);  // the program has closed its end: nothing more to say
        input_ = -1;
    }
    sigaction(SIGPIPE, &before, nullptr);
}

void Running::signal(int number) {
    kill(pid_, number);
}

Outcome Running::wait() {
    if (ended_) {
        return outcome_;
    }
    if (input_ >= 0) {
        close(input_);
        input_ = -1;
    }
    const auto give_up = Clock::now() + patience();
    while (read_some(100)) {
        if (Clock::now() > give_up) {
            outcome_.timed_out = true;
            kill(pid_, SIGKILL);
            break;
        }
        // A grandchild may hold the pipes longer than the program lives.
        if (waitpid(pid_, &outcome_.status, WNOHANG) == pid_) {
            ended_ = true;
            while (read_some(50) && Clock::now() < give_up) {
                pollfd more[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
                if (poll(more, 2, 0) <= 0) {
                    break;
                }
            }
            break;
        }
    }
    if (!ended_) {
        waitpid(pid_, &outcome_.status, 0);
        ended_ = true;
    }
    for (int* descriptor : {&out_, &err_}) {
        if (*descriptor >= 0) {
            close(*descriptor);
            *descriptor = -1;
        }
    }
    return outcome_;
}

FinishedRun::FinishedRun(const Command& command) {
    Running running(command, folder_.path());
    running.say(command.input);
    outcome_ = running.wait();
}

std::vector<std::filesystem::path> report_files_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
        if (entry.path().extension() == ".pcr" && entry.is_regular_file()) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::filesystem::path> FinishedRun::report_files() const {
    return report_files_in(folder());
}

std::map<std::string, report::Report> FinishedRun::reports() const {
    std::map<std::string, report::Report> all;
    for (const auto& file : report_files()) {
        report::ReadResult result = report::read_report(file.string());
        EXPECT_EQ(result.error, report::ReadError::none) << file << ": " << result.message;
        all[file.filename().string()] = std::move(result.report);
    }
    return all;
}

report::Report FinishedRun::report() const {
    auto all = reports();
    EXPECT_EQ(all.size(), 1u) << describe(outcome_);
    return all.empty() ? report::Report{} : std::move(all.begin()->second);
}

bool report_becomes(const std::filesystem::path& folder, const std::function<bool(const report::Report&)>& condition) {
    const auto give_up = Clock::now() + patience();
    while (Clock::now() < give_up) {
        const auto files = report_files_in(folder);
        if (files.size() == 1) {
            const report::ReadResult result = report::read_report(files.front().string());
            if (result.error == report::ReadError::none && condition(result.report)) {
                return true;
            }
        }
        usleep(10'000);  // between two looks; decides nothing
    }
    return false;
}

std::string describe(const Outcome& outcome) {
    return outcome.status_text() + "\nstdout: " + outcome.out + "\nstderr: " + outcome.err;
}

}  // namespace pincheck::test
