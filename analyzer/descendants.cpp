#include "descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

namespace pincheck {
namespace {

// Reads a file of /proc to its end; "" with errno when it cannot be read.
std::string read_all(const std::string& path, int& error) {
    error = 0;
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        error = errno;
        return "";
    }
    std::string text;
    char buffer[16384];
    for (;;) {
        const ssize_t length = read(descriptor, buffer, sizeof buffer);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length <= 0) {
            error = length < 0 ? errno : 0;
            break;
        }
        text.append(buffer, static_cast<std::size_t>(length));
    }
    close(descriptor);
    return text;
}

std::string file_of(pid_t pid, const char* name) {
    return "/proc/" + std::to_string(pid) + "/" + name;
}

std::string command_of(pid_t pid) {
    int error = 0;
    std::string text = read_all(file_of(pid, "cmdline"), error).substr(0, 4096);
    while (!text.empty() && text.back() == '\0') {
        text.pop_back();
    }
    std::replace(text.begin(), text.end(), '\0', ' ');
    if (text.empty()) {
        text = read_all(file_of(pid, "comm"), error);
        text = text.substr(0, text.find('\n'));
    }
    return text;
}

std::vector<pid_t> all_processes() {
    std::vector<pid_t> all;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), &closedir);
    if (folder == nullptr) {
        return all;
    }
    while (const dirent* entry = readdir(folder.get())) {
        pid_t pid = 0;
        const std::string_view name = entry->d_name;
        const auto result = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (result.ec == std::errc() && result.ptr == name.data() + name.size()) {
            all.push_back(pid);
        }
    }
    return all;
}

bool is_named(std::string_view file_name, std::string_view library) {
    return file_name == library || file_name.rfind("libpincheck.so", 0) == 0 ||
           file_name.rfind("libpincheck-trap.so", 0) == 0;
}

}  // namespace

Mapped read_mappings(std::string_view maps, std::string_view library) {
    Mapped mapped;
    while (!maps.empty()) {
        const std::string_view line = maps.substr(0, maps.find('\n'));
        maps.remove_prefix(std::min(line.size() + 1, maps.size()));
        const std::size_t path = line.find('/');
        if (path == std::string_view::npos) {
            continue;
        }
        std::string_view name = line.substr(line.rfind('/') + 1);
        constexpr std::string_view kDeleted = " (deleted)";
        if (name.size() > kDeleted.size() && name.substr(name.size() - kDeleted.size()) == kDeleted) {
            name.remove_suffix(kDeleted.size());
        }
        // libcuda.so.1 is a link: what is mapped is libcuda.so.580.159.04.
        mapped.driver = mapped.driver || name == "libcuda.so" || name.rfind("libcuda.so.", 0) == 0;
        mapped.tool = mapped.tool || is_named(name, library);
    }
    return mapped;
}

ProcessStat read_stat(std::string_view text) {
    ProcessStat stat;
    // "pid (name) state ppid …": the name may hold anything, spaces and brackets too.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string_view::npos) {
        return stat;
    }
    text.remove_prefix(std::min(name_end + 2, text.size()));
    constexpr int kState = 3, kParent = 4, kStartTime = 22, kStartStack = 28;
    for (int field = kState; field <= kStartStack && !text.empty(); ++field) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        std::uint64_t number = 0;
        std::from_chars(word.data(), word.data() + word.size(), number);
        if (field == kState) {
            stat.state = word.empty() ? '?' : word.front();
        } else if (field == kParent) {
            stat.parent = static_cast<pid_t>(number);
        } else if (field == kStartTime) {
            stat.start_time = number;
        } else if (field == kStartStack) {
            stat.image = number;
            stat.valid = true;
        }
    }
    return stat;
}

Descendants::Descendants(pid_t root, std::string library_file_name)
    : root_(root), library_(std::move(library_file_name)) {}

// Finds out whose process it is; true when that became known.
bool Descendants::settle(pid_t pid, Process& process) {
    int error = 0;
    const ProcessStat stat = read_stat(read_all(file_of(pid, "stat"), error));
    if (!stat.valid) {
        return false;
    }
    if (stat.parent == root_) {
        process.role = Role::ours;
        return true;
    }
    // A parent that has just ended says nothing: its child is somebody else's by now, perhaps ours.
    const auto parent = processes_.find(stat.parent);
    const Role role = stat.parent <= 1                                               ? Role::stranger
                      : parent != processes_.end() && parent->second.round == round_ ? parent->second.role
                                                                                     : Role::unknown;
    process.role = role;
    return role != Role::unknown;
}

void Descendants::look_into(pid_t pid, Process& process) {
    int error = 0;
    const ProcessStat stat = read_stat(read_all(file_of(pid, "stat"), error));
    if (!stat.valid || stat.state == 'Z' || stat.state == 'X') {
        return;
    }
    const bool known = process.start_time == stat.start_time && process.image == stat.image;
    if (known && process.sight != Sight::undecided) {
        return;
    }
    const bool listed =
        process.start_time == stat.start_time && (process.sight == Sight::blind || process.sight == Sight::hidden);
    process.start_time = stat.start_time;
    process.image = stat.image;
    process.sight = Sight::undecided;
    const std::string maps = file_of(pid, "maps");
    Mapped mapped = read_mappings(read_all(maps, error), library_);
    if (error == EACCES || error == EPERM) {
        process.sight = Sight::hidden;
        if (!listed) {
            hidden_.push_back({pid, command_of(pid)});
        }
        return;
    }
    if (mapped.driver && !mapped.tool) {
        // The file is read in pieces while the program goes on: the tool may have been mapped behind our back, before
        // the driver. A second reading, begun after the driver was there, must see it.
        mapped = read_mappings(read_all(maps, error), library_);
    }
    if (mapped.tool) {
        process.sight = Sight::has_tool;
    } else if (mapped.driver) {
        process.sight = Sight::blind;
        if (!listed) {
            blind_.push_back({pid, command_of(pid)});
        }
    }
}

void Descendants::look() {
    ++round_;
    processes_[root_].role = Role::stranger;
    std::vector<pid_t> unknown;
    for (const pid_t pid : all_processes()) {
        Process& process = processes_[pid];
        process.round = round_;
        if (pid != root_ && process.role == Role::unknown) {
            unknown.push_back(pid);
        }
    }
    std::erase_if(processes_, [&](const auto& entry) { return entry.second.round != round_; });
    // Parents first, whatever their numbers are.
    for (bool progress = true; progress && !unknown.empty();) {
        const std::size_t before = unknown.size();
        std::erase_if(unknown, [&](pid_t pid) { return settle(pid, processes_[pid]); });
        progress = unknown.size() < before;
    }
    for (auto& [pid, process] : processes_) {
        if (process.role == Role::ours) {
            look_into(pid, process);
        }
    }
}

std::vector<SeenProcess> Descendants::still_using_cuda() const {
    std::vector<SeenProcess> all;
    for (const auto& [pid, process] : processes_) {
        if (process.role == Role::ours && process.sight == Sight::has_tool) {
            int error = 0;
            if (read_mappings(read_all(file_of(pid, "maps"), error), library_).driver) {
                all.push_back({pid, command_of(pid)});
            }
        }
    }
    return all;
}

bool Descendants::any_alive() const {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const auto& entry) { return entry.second.role == Role::ours; });
}

}  // namespace pincheck
