// What `pincheck run` prepares for the processes of one job: the library, the folder of their reports, the environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/rank_variables.h"

namespace pincheck {

// libpincheck.so: $PINCHECK_LIBRARY, else beside this program in the build or install tree.
struct FoundLibrary {
    std::string path;   // absolute; empty when there is none
    std::string error;  // one line with what was looked for
};
FoundLibrary find_library();
// libpincheck-trap.so beside `library`, which races=trap takes; `error` where it is missing.
FoundLibrary find_trap_library(const std::string& library);

// A path to the library that LD_PRELOAD can hold. The variable separates by spaces and colons and expands `$`, with no
// way to quote: a path with one of them is reached through a private link in $TMPDIR.
class PreloadPath {
  public:
    explicit PreloadPath(const std::string& library);
    ~PreloadPath();
    PreloadPath(const PreloadPath&) = delete;
    PreloadPath& operator=(const PreloadPath&) = delete;
    const std::string& path() const { return path_; }
    const std::string& error() const { return error_; }
    // Leaves the link in place: processes are alive that may start others with this LD_PRELOAD.
    void keep() { folder_.clear(); }
    void remove();  // now; the destructor does the same

  private:
    std::string path_;
    std::string error_;
    std::string folder_;  // made by us; empty when there was no need
};

// What PreloadPath says where no link can be made.
std::string cannot_preload_text(const std::string& library);

// The folder of a job's reports.
class JobFolder {
  public:
    // `wanted`: of --output; empty: a new ./pincheck-PROGRAM-TIME-PID, or the same in $TMPDIR where that cannot be
    // made, which `notice` then says. `rank`: of the MPI or launcher job, "" when there is none; ranks may share a
    // folder.
    JobFolder(const std::string& wanted, const std::string& program, const std::string& rank);

    const std::string& path() const { return path_; }      // as the user would type it
    const std::string& error() const { return error_; }    // one line: there is no folder
    const std::string& notice() const { return notice_; }  // one line, "" when there is nothing to say
    std::string output_option() const;                     // output=…
    std::vector<std::string> reports() const;              // of this run's processes, sorted
    // Removes it when it is empty and was made by us.
    void remove_if_empty() const;

  private:
    bool make_new(const std::string& parent, const std::string& shown, const std::string& name);

    std::string path_;
    std::string absolute_;
    std::string prefix_;  // of the files' names
    std::string error_;
    std::string notice_;
    bool made_ = false;
};

// Rank of this process in an MPI, Slurm, Flux, torchrun or Kubernetes job, from the variables that the library reads.
report::JobRank rank_of_environment();

// Our environment with LD_PRELOAD (an address sanitizer's runtime where one is needed, the libraries, what was there
// before) and PINCHECK_OPTIONS. Without a library both are left as they are.
struct Preload {
    std::string library;
    std::string trap_library;  // "": not wanted
    std::string address_sanitizer;
    std::string options;
};
std::vector<std::string> child_environment(const std::optional<Preload>& preload);

}  // namespace pincheck
