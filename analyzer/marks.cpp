#include "marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "report_since.h"

namespace pincheck {
namespace {

std::string cannot(const std::string& what, const std::string& path) {
    return "cannot " + what + ' ' + path + ": " + std::strerror(errno);
}

std::string read_all(const std::string& path, std::vector<char>& bytes) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return cannot("read", path);
    }
    std::size_t used = 0;
    for (ssize_t count = 1; count > 0; used += static_cast<std::size_t>(count)) {
        bytes.resize(used + (std::size_t{1} << 20));
        count = read(file, bytes.data() + used, bytes.size() - used);
        if (count < 0) {
            const std::string problem = cannot("read", path);
            close(file);
            return problem;
        }
    }
    bytes.resize(used);
    close(file);
    return "";
}

bool write_all(int file, const std::vector<char>& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
        if (count < 0) {
            return false;
        }
        done += static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace

std::string problem_of_mark_name(const std::string& name) {
    constexpr std::size_t kLongest = 64;
    const bool plain = std::ranges::all_of(
        name, [](unsigned char c) { return c < 128 && (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'); });
    return plain && !name.empty() && name.size() <= kLongest
               ? ""
               : "the name of a mark has 1 to 64 letters, digits, '-', '_' and '.'";
}

std::string mark_path(const std::string& report, const std::string& name) {
    return report + ".mark-" + name;
}

std::string make_mark(const std::string& report, const std::string& name) {
    // In one go: the less time it takes, the less its parts are of different moments.
    std::vector<char> bytes;
    if (std::string problem = read_all(report, bytes); !problem.empty()) {
        return problem;
    }
    const report::ReadResult read =
        report::read_report(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), report);
    if (read.error != report::ReadError::none) {
        return read.message;
    }
    if (read.report.header.state == report::FileState::ended) {
        return report + " is of a process that has ended: there is nothing to come after a mark";
    }
    const std::string path = mark_path(report, name);
    std::string unfinished = path + "-XXXXXX";
    const int file = mkostemp(unfinished.data(), O_CLOEXEC);
    if (file < 0) {
        return cannot("write", path) + "; a mark lies beside its report";
    }
    if (!write_all(file, bytes) || rename(unfinished.c_str(), path.c_str()) != 0) {
        const std::string problem = cannot("write", path);
        close(file);
        unlink(unfinished.c_str());
        return problem;
    }
    close(file);
    return "";
}

void Marks::take_away_from(report::Report& report, const std::string& file, std::vector<std::string>& errors) {
    const std::string path = mark_path(file, name_);
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 && errno == ENOENT) {
        unmarked_.push_back({file, report.header.start_realtime_ns});
        return;
    }
    const report::ReadResult mark = report::read_report(path);
    const std::string problem =
        mark.error != report::ReadError::none ? mark.message : problem_of_mark(report, mark.report);
    if (!problem.empty()) {
        errors.push_back(mark.error != report::ReadError::none ? problem : path + ' ' + problem + "; it is not used");
        return;
    }
    first_mark_realtime_ns_ =
        std::min(first_mark_realtime_ns_,
                 report.header.start_realtime_ns + (mark.report.header.snapshot_ns - report.header.start_ns));
    take_away(report, mark.report);
}

bool Marks::finish(std::vector<std::string>& errors) const {
    if (first_mark_realtime_ns_ == UINT64_MAX) {
        for (const Unmarked& one : unmarked_) {
            errors.push_back(one.file + " has no mark '" + name_ + "'; 'pincheck mark " + one.file + ' ' + name_ +
                             "' makes one while the process runs");
        }
        return false;
    }
    for (const Unmarked& one : unmarked_) {
        if (one.start_realtime_ns < first_mark_realtime_ns_) {
            errors.push_back(one.file + " has no mark '" + name_ +
                             "' though its process ran by then; all of it counts");
        }
    }
    return true;
}

}  // namespace pincheck
