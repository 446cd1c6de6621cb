#include "live_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "report/records.h"

namespace pincheck {
namespace {

namespace fs = std::filesystem;

// The process id that the file's header has, where it is a report; else 0. Only regular files are opened: opening what
// else there may be (a terminal, a pipe) can have effects.
std::uint32_t reported_process(const std::string& link) {
    struct stat status {};
    if (stat(link.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    const int file = open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) {
        return 0;
    }
    report::FileHeader header{};
    const ssize_t count = pread(file, &header, sizeof(header), 0);
    close(file);
    const bool is_report = count == static_cast<ssize_t>(sizeof(header)) &&
                           std::memcmp(header.magic, report::kMagic, sizeof(header.magic)) == 0;
    return is_report ? header.pid : 0;
}

// What the process itself takes for its id: another one in a container.
std::string own_id(const std::string& process, const std::string& pid) {
    std::ifstream file(process + "/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("NSpid:")) {
            return line.substr(line.find_last_of(" \t") + 1);
        }
    }
    return pid;
}

// The name that the file has here too; else the descriptor.
std::string path_of(const std::string& link) {
    std::error_code error;
    const std::string target = fs::read_symlink(link, error);
    struct stat there {};
    struct stat here {};
    const bool same = !error && stat(link.c_str(), &there) == 0 && stat(target.c_str(), &here) == 0 &&
                      there.st_dev == here.st_dev && there.st_ino == here.st_ino;
    return same ? target : link;
}

std::string name_of_task(const std::string& task) {
    std::ifstream file(task + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

std::vector<std::string> entries(const std::string& folder, bool& refused) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        found.push_back(entry->path().string());
    }
    refused |= error == std::errc::permission_denied;
    return found;
}

}  // namespace

bool is_process_id(const std::string& word) {
    constexpr std::size_t kDigits = 10;
    return !word.empty() && word.size() <= kDigits &&
           std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }) && !fs::exists(word);
}

LiveReport report_of_process(const std::string& pid) {
    const std::string process = "/proc/" + pid;
    bool refused = false;
    std::vector<std::string> tasks = entries(process + "/task", refused);
    if (tasks.empty() && !refused) {
        return {"", "no process " + pid + " is running; give its report file"};
    }
    const std::string id = own_id(process, pid);
    // The recorder's thread first.
    std::ranges::stable_partition(tasks, [](const std::string& task) { return name_of_task(task) == "pincheck"; });
    for (const std::string& task : tasks) {
        for (const std::string& link : entries(task + "/fd", refused)) {
            if (std::to_string(reported_process(link)) == id) {  // a fork's child has its parent's open too
                return {path_of(link), ""};
            }
        }
    }
    if (refused) {
        return {"", "process " + pid + " is another user's: run as that user or as root, or give its report file"};
    }
    return {"",
            "process " + pid +
                " writes no report: it runs without libpincheck.so, or has made no CUDA call yet; see 'pincheck run "
                "--help'"};
}

}  // namespace pincheck
