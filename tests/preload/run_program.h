// Runs a program as a user would, with or without the preload library, in a folder of its own, and collects what came
// of it: output, status, reports.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/reader.h"

namespace pincheck::test {

// A folder that is empty at first and gone at the end.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

std::string tool_library();                         // path of libpincheck.so
std::string trap_library();                         // path of libpincheck-trap.so
std::string program_path(const std::string& name);  // of a program of tests/programs
std::string simulated_device_folder();              // for LD_LIBRARY_PATH
std::string simulated_runtime();                    // path of the stand-in libcudart.so.N

// What to run. The environment is small and known: PATH, LANG, TMPDIR and what is said here.
struct Command {
    std::vector<std::string> arguments;  // the first is a path or is looked for in PATH
    std::vector<std::string> preload = {tool_library()};
    std::map<std::string, std::string> environment;
    std::string options;                     // PINCHECK_OPTIONS, when not empty
    std::string input = "go\ngo\ngo\ngo\n";  // stdin
    std::optional<rlim_t> file_size_limit;   // RLIMIT_FSIZE
    std::optional<std::string> folder;       // working directory; default: the run's own
    bool separate_streams = true;

    Command without_tool() const;
};

struct Outcome {
    std::string out;
    std::string err;
    int status = 0;  // as waitpid gives it
    bool timed_out = false;

    bool exited(int code) const;
    bool killed_by(int signal) const;
    std::string status_text() const;
};

// A running program whose stdin and stdout the test holds.
class Running {
  public:
    Running(const Command& command, const std::filesystem::path& folder);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    pid_t pid() const { return pid_; }
    // Reads stdout until this line has come; false when the program ended or a minute passed first.
    bool wait_for_line(const std::string& line);
    void say(const std::string& text);  // to stdin
    void signal(int number);
    // Closes stdin and waits for the end; after a minute the program is killed and `timed_out` set.
    Outcome wait();

  private:
    bool read_some(int timeout_ms);

    pid_t pid_ = -1;
    int input_ = -1;
    int out_ = -1;
    int err_ = -1;
    std::size_t searched_ = 0;
    Outcome outcome_;
    bool ended_ = false;
};

// One finished run in its own folder.
class FinishedRun {
  public:
    explicit FinishedRun(const Command& command);

    const Outcome& outcome() const { return outcome_; }
    const std::filesystem::path& folder() const { return folder_.path(); }
    std::vector<std::filesystem::path> report_files() const;
    // The reports, by file name. A file that cannot be read fails the test.
    std::map<std::string, report::Report> reports() const;
    // The only report; fails the test when there is not exactly one.
    report::Report report() const;

  private:
    TemporaryFolder folder_;
    Outcome outcome_;
};

std::vector<std::filesystem::path> report_files_in(const std::filesystem::path& folder);

// Reads the only report in `folder` again and again until `condition` holds for it; false after a minute. For looking
// at a program that is still running.
bool report_becomes(const std::filesystem::path& folder, const std::function<bool(const report::Report&)>& condition);

// "test output of what happened", for messages.
std::string describe(const Outcome& outcome);

}  // namespace pincheck::test
