#include "append.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "crc32c.h"
#include "reader.h"
#include "write_at.h"

namespace pincheck::report {
namespace {

constexpr std::uint32_t kCapacity = kSegmentBytes - kSegmentHeaderBytes;
// As Image cuts them.
constexpr std::size_t kLongestString = 32768;
// How much earlier than its report a process may seem to have started and still be the one that writes it: clock ticks
// and a clock that was set in between.
constexpr std::int64_t kClockSlackNs = 2'000'000'000;

constexpr std::uint64_t segment_offset(std::uint64_t index) {
    return kHeaderBytes + index * kSegmentBytes;
}

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return number_; }

  private:
    int number_;
};

std::int64_t now_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Whether the process that wrote the report may be alive: a process of its id that started before the report did.
// A later process with the same id is somebody else, and so is any process when the report comes from another host.
bool writer_may_live(const Report& report) {
    const std::string* host = report.process ? report.string(report.process->host) : nullptr;
    char here[256] = {};
    if (host != nullptr && !host->empty() && gethostname(here, sizeof here - 1) == 0 && *host != here) {
        return false;
    }
    const std::string path = "/proc/" + std::to_string(report.header.pid) + "/stat";
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[1024] = {};
    if (file.get() < 0 || read(file.get(), text, sizeof text - 1) <= 0) {
        return false;
    }
    // The name in parentheses may hold anything; fields are counted from its end: state is the 3rd, starttime the 22nd.
    const char* rest = std::strrchr(text, ')');
    char state = 0;
    unsigned long long ticks = 0;
    if (rest == nullptr ||
        std::sscanf(rest + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                    &state, &ticks) != 2) {
        return true;
    }
    if (state == 'Z' || state == 'X') {
        return false;
    }
    const auto since_boot = static_cast<std::int64_t>(ticks) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
    const std::int64_t started = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME) + since_boot;
    return started <= static_cast<std::int64_t>(report.header.start_realtime_ns) + kClockSlackNs;
}

// Records in segments as they will lie in the file.
class Segments {
  public:
    explicit Segments(std::uint32_t first) : first_(first) {}

    void add(RecordType type, const void* fixed, std::size_t fixed_bytes, std::string_view rest = {}) {
        const std::size_t payload = fixed_bytes + rest.size();
        const std::size_t bytes = (sizeof(RecordHeader) + payload + 7) & ~std::size_t{7};
        if (contents_.empty() || contents_.back().size() + bytes > kCapacity) {
            contents_.emplace_back();
        }
        std::vector<std::uint8_t>& segment = contents_.back();
        const std::size_t at = segment.size();
        segment.resize(at + bytes);
        std::uint8_t* record = segment.data() + at;
        std::memcpy(record + sizeof(RecordHeader), fixed, fixed_bytes);
        std::copy(rest.begin(), rest.end(), record + sizeof(RecordHeader) + fixed_bytes);
        RecordHeader header{};
        header.bytes = static_cast<std::uint32_t>(bytes);
        header.type = type;
        header.payload = static_cast<std::uint32_t>(payload);
        const std::uint32_t head = crc32c(&header, offsetof(RecordHeader, crc));
        header.crc = crc32c(record + sizeof header, bytes - sizeof header, head);
        std::memcpy(record, &header, sizeof header);
    }

    std::uint32_t end() const { return first_ + static_cast<std::uint32_t>(contents_.size()); }

    // False with errno set.
    bool write(int descriptor) const {
        for (std::size_t i = 0; i < contents_.size(); ++i) {
            if (!write_all(descriptor, contents_[i].data(), contents_[i].size(),
                           segment_offset(first_ + i) + kSegmentHeaderBytes)) {
                return false;
            }
        }
        for (std::size_t i = 0; i < contents_.size(); ++i) {
            SegmentHeader header{};
            header.magic = kSegmentMagic;
            header.kind = SegmentKind::records;
            header.index = first_ + static_cast<std::uint32_t>(i);
            header.committed = static_cast<std::uint32_t>(contents_[i].size());
            header.crc = crc32c(&header, offsetof(SegmentHeader, crc));
            if (!write_all(descriptor, &header, sizeof header, segment_offset(header.index))) {
                return false;
            }
        }
        return true;
    }

    static bool write_all(int descriptor, const void* data, std::size_t bytes, std::uint64_t offset) {
        const auto* from = static_cast<const std::uint8_t*>(data);
        while (bytes > 0) {
            const long done = write_at(descriptor, from, bytes, offset);
            if (done < 0 && errno == EINTR) {
                continue;
            }
            if (done <= 0) {
                errno = done == 0 ? ENOSPC : errno;
                return false;
            }
            from += done;
            offset += static_cast<std::uint64_t>(done);
            bytes -= static_cast<std::size_t>(done);
        }
        return true;
    }

  private:
    std::uint32_t first_;
    std::vector<std::vector<std::uint8_t>> contents_;
};

// Where new segments go: behind the last one with a sound header, at least behind all that the file header counts.
std::uint32_t first_free_segment(int descriptor, std::uint32_t counted, std::uint64_t file_bytes) {
    std::uint32_t result = counted;
    for (std::uint32_t index = counted; segment_offset(index) + kSegmentHeaderBytes <= file_bytes; ++index) {
        SegmentHeader header{};
        if (pread(descriptor, &header, sizeof header, static_cast<off_t>(segment_offset(index))) ==
                static_cast<ssize_t>(sizeof header) &&
            header.magic == kSegmentMagic && header.index == index &&
            header.crc == crc32c(&header, offsetof(SegmentHeader, crc))) {
            result = index + 1;
        }
    }
    return result;
}

// The id of a text: the report's own where it has it.
class Strings {
  public:
    Strings(const Report& report, Segments& segments) : segments_(segments) {
        for (const auto& [id, text] : report.strings) {
            ids_.emplace(text, id);
        }
        next_ = report.strings.empty() ? 1 : report.strings.rbegin()->first + 1;
    }
    std::uint32_t id(std::string_view text) {
        if (text.empty()) {
            return 0;
        }
        text = text.substr(0, kLongestString);
        const auto [place, is_new] = ids_.try_emplace(std::string(text), next_);
        if (is_new) {
            const StringRecord record{next_++, static_cast<std::uint32_t>(text.size())};
            segments_.add(RecordType::string, &record, sizeof record, text);
        }
        return place->second;
    }

  private:
    Segments& segments_;
    std::unordered_map<std::string, std::uint32_t> ids_;
    std::uint32_t next_ = 1;
};

// Whether anything of what the header counts is missing in the file. A segment's slots may end in a hole.
bool is_cut(const Report& report, std::uint64_t file_bytes) {
    return report.header.segment_count > 0 &&
           segment_offset(report.header.segment_count - 1) + kSegmentHeaderBytes > file_bytes;
}

}  // namespace

std::string cannot_add(const std::string& path, const std::string& why) {
    return "cannot add symbols to " + path + ": " + why;
}

std::string append_symbols(const std::string& path, const std::vector<ResolvedFrame>& frames) {
    const Descriptor file(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    struct stat status {};
    if (file.get() < 0 || fstat(file.get(), &status) != 0) {
        const bool forbidden = errno == EACCES || errno == EPERM || errno == EROFS;
        return cannot_add(path,
                          std::strerror(errno) +
                              std::string(forbidden ? "; copy it to where you may write and resolve the copy" : ""));
    }
    if (!S_ISREG(status.st_mode)) {
        return cannot_add(path, "it is not a regular file");
    }
    if (flock(file.get(), LOCK_EX) != 0 || fstat(file.get(), &status) != 0) {
        return cannot_add(path, std::strerror(errno));
    }
    const ReadResult read = read_report(path);
    if (read.error != ReadError::none) {
        return read.message;
    }
    const Report& report = read.report;
    FileHeader header{};
    const bool header_read = pread(file.get(), &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
    if (!header_read || header.crc != crc32c(&header, offsetof(FileHeader, crc))) {
        return cannot_add(path, "its header is damaged; run the program again");
    }
    if (header.version != kFormatVersion) {
        return cannot_add(path, "it has report format " + std::to_string(header.version) + ", this pincheck writes " +
                                    std::to_string(kFormatVersion) + "; use the pincheck that belongs to it");
    }
    if (header.state == FileState::running && writer_may_live(report)) {
        return cannot_add(path, "process " + std::to_string(header.pid) +
                                    " may still be writing to it; resolve it when that has ended");
    }
    const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
    if (is_cut(report, file_bytes)) {
        return cannot_add(path, "it was cut, or not copied whole; copy it again");
    }

    std::set<std::pair<std::uint32_t, std::uint64_t>> known;
    for (const SymbolRecord& symbol : report.symbols) {
        known.emplace(symbol.module, symbol.offset);
    }
    const std::uint32_t first = first_free_segment(file.get(), header.segment_count, file_bytes);
    Segments segments(first);
    Strings strings(report, segments);
    for (const ResolvedFrame& frame : frames) {
        if (!report.modules.contains(frame.module) || known.contains({frame.module, frame.offset})) {
            continue;
        }
        SymbolRecord record{};
        record.module = frame.module;
        record.level = frame.level;
        record.offset = frame.offset;
        record.function = strings.id(frame.function);
        record.file = strings.id(frame.file);
        record.line = frame.line;
        record.exact = frame.exact ? 1 : 0;
        segments.add(RecordType::symbol, &record, sizeof record);
    }
    if (segments.end() == first) {
        return "";
    }
    // What lies behind the last sound segment is nothing that a reader could use.
    if (file_bytes > segment_offset(first) && ftruncate(file.get(), static_cast<off_t>(segment_offset(first))) != 0) {
        return cannot_add(path, std::strerror(errno));
    }
    header.segment_count = segments.end();
    header.crc = crc32c(&header, offsetof(FileHeader, crc));
    if (segments.write(file.get()) && Segments::write_all(file.get(), &header, sizeof header, 0)) {
        return "";
    }
    const int error = errno;
    const auto before = static_cast<off_t>(std::min(file_bytes, segment_offset(first)));
    const bool undone = ftruncate(file.get(), before) == 0;
    return cannot_add(path, std::strerror(error) + std::string(undone ? "; it is as it was" : "; it may be damaged"));
}

}  // namespace pincheck::report
