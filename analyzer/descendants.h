// Which processes of a job use CUDA without the tool ("blind"): a child started with an empty environment, a static
// program, a set-id one. Found by looking, a few times a second, at what the descendants of this process have mapped.
// A subreaper's (prctl) descendants stay its descendants when their parents end, so that one walk finds them all.
// What lives and ends between two looks is not seen: a zombie has no mappings any more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pincheck {

// What /proc/PID/maps says. `library`: file name of the preload library.
struct Mapped {
    bool driver = false;  // libcuda.so.*
    bool tool = false;
};
Mapped read_mappings(std::string_view maps, std::string_view library);

// Of /proc/PID/stat. `image` differs between two programs that one process runs one after the other: it is where the
// stack begins, which the kernel chooses at random in exec.
struct ProcessStat {
    bool valid = false;
    pid_t parent = 0;
    std::uint64_t start_time = 0;
    std::uint64_t image = 0;
    char state = '?';
};
ProcessStat read_stat(std::string_view text);

struct SeenProcess {
    pid_t pid = 0;
    std::string command;
};

class Descendants {
  public:
    // Of the process `root`, itself not included.
    Descendants(pid_t root, std::string library_file_name);

    // One look at all. Costs a directory listing, and for each descendant one small read; mappings are read only until
    // a program image is known to have the tool.
    void look();

    const std::vector<SeenProcess>& blind() const { return blind_; }
    // Not ours to look into: another user's, as a set-id program's.
    const std::vector<SeenProcess>& hidden() const { return hidden_; }
    // Alive at the last look, with the tool and the driver.
    std::vector<SeenProcess> still_using_cuda() const;
    bool any_alive() const;

  private:
    enum class Role { unknown, stranger, ours };
    enum class Sight { undecided, has_tool, blind, hidden };
    struct Process {
        Role role = Role::unknown;
        Sight sight = Sight::undecided;
        std::uint64_t start_time = 0;
        std::uint64_t image = 0;
        std::uint64_t round = 0;  // of the last look that saw it
    };

    bool settle(pid_t pid, Process& process);
    void look_into(pid_t pid, Process& process);

    pid_t root_;
    std::string library_;
    std::map<pid_t, Process> processes_;
    std::uint64_t round_ = 0;
    std::vector<SeenProcess> blind_;
    std::vector<SeenProcess> hidden_;
};

}  // namespace pincheck
