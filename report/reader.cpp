#include "reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "crc32c.h"
#include "reader_impl.h"

namespace pincheck::report {
namespace {

constexpr const char* kWhereReportsAre =
    "; give the .pcr file that the program wrote (in its working directory, or where PINCHECK_OPTIONS=output=… said)";

std::string error_text(int error) {
    // Not strerror_r: its two incompatible forms depend on feature macros. The reader runs in single-threaded programs.
    return std::strerror(error);
}

ReadResult cannot_open(std::string message) {
    ReadResult result;
    result.error = ReadError::cannot_open;
    result.message = std::move(message);
    return result;
}

std::string hex(std::uint64_t value) {
    std::string text = "0x";
    int shift = 60;
    while (shift > 0 && (value >> shift) == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[(value >> shift) & 15];
    }
    return text;
}

}  // namespace

OpenFile::~OpenFile() {
    close(descriptor_);
}

bool OpenFile::read_part(std::uint64_t offset, std::size_t size, std::uint8_t* into) {
    while (size > 0) {
        const ssize_t got = pread(descriptor_, into, size, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        offset += static_cast<std::uint64_t>(got);
        into += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

bool OpenFile::read_to_end() {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) {
        return false;
    }
    const std::size_t before = bytes.size();
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size <= before) {
        return true;
    }
    bytes.resize(size);
    errno = 0;
    if (read_part(before, size - before, bytes.data() + before)) {
        return true;
    }
    if (errno == 0) {
        errno = ESTALE;  // the end came early: somebody cut the file at this moment
    }
    return false;
}

bool OpenFile::read_header() {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) {
        return false;
    }
    bytes.resize(std::min<std::uint64_t>(kHeaderBytes, static_cast<std::uint64_t>(status.st_size)));
    return read_part(0, bytes.size(), bytes.data());
}

bool OpenFile::read_again(std::uint64_t offset, std::size_t size) {
    if (rereads_left_ == 0) {
        return false;
    }
    --rereads_left_;
    // A moment for a writer that was in the middle.
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
    return read_part(offset, size, bytes.data() + offset);
}

bool OpenFile::grow() {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) {
        return false;
    }
    bytes.resize(std::max<std::uint64_t>(bytes.size(), static_cast<std::uint64_t>(status.st_size)));
    return true;
}

// What a header promises was in the file before the header: so the size and the contents are asked for after it.
bool OpenFile::read_rest_of_segment(std::uint64_t begin) {
    if (!grow()) {
        return false;
    }
    const std::uint64_t from = begin + sizeof(SegmentHeader);
    const std::uint64_t end = std::min<std::uint64_t>(begin + kSegmentBytes, bytes.size());
    return read_part(from, end - from, bytes.data() + from);
}

bool OpenFile::read_records_again() {
    if (!grow()) {
        return false;
    }
    for (std::uint64_t at = kHeaderBytes; at + kSegmentHeaderBytes <= bytes.size(); at += kSegmentBytes) {
        SegmentHeader header;
        if (!read_part(at, sizeof header, reinterpret_cast<std::uint8_t*>(&header))) {
            break;
        }
        if (header.magic == kSegmentMagic && header.kind == SegmentKind::records) {
            std::memcpy(bytes.data() + at, &header, sizeof header);
            if (!read_rest_of_segment(at)) {
                break;
            }
        }
    }
    return true;
}

void Parser::fail(ReadError error, std::string message) {
    result_.error = error;
    result_.message = std::move(message);
}

bool Parser::all_zero(std::uint64_t begin, std::uint64_t end) const {
    end = std::min<std::uint64_t>(end, data_.size());
    // Each byte equals the one before it, and the first is zero: memcmp is much faster than a loop over bytes.
    return begin >= end ||
           (data_[begin] == 0 && std::memcmp(data_.data() + begin, data_.data() + begin + 1, end - begin - 1) == 0);
}

std::uint32_t Parser::segments_in_file() const {
    return data_.size() <= kHeaderBytes
               ? 0
               : static_cast<std::uint32_t>((data_.size() - kHeaderBytes + kSegmentBytes - 1) / kSegmentBytes);
}

ReadResult Parser::parse() {
    if (!parse_header()) {
        return std::move(result_);
    }
    // Slots before records: what a slot names was in the file before the slot was, so records read later have it.
    find_segments(false);
    parse_slots();
    if (live() && file_->read_records_again()) {
        data_ = file_->bytes;
    }
    find_segments(true);
    check_cut();
    parse_records();
    check_references();
    return std::move(result_);
}

// The first 16 bytes keep their meaning in every version, and so do features and crc; see format.md.
bool Parser::parse_header() {
    if (data_.empty()) {
        fail(ReadError::not_a_report,
             name_ + " is empty: the program ended before its first snapshot, or the disk was full; run it again");
        return false;
    }
    if (data_.size() < sizeof kMagic || std::memcmp(data_.data(), kMagic, sizeof kMagic) != 0) {
        fail(ReadError::not_a_report, name_ + " is not a pincheck report" + kWhereReportsAre);
        return false;
    }
    if (data_.size() < kHeaderBytes) {
        fail(ReadError::not_a_report,
             name_ + " is cut inside its header (" + std::to_string(data_.size()) + " of " +
                 std::to_string(kHeaderBytes) +
                 " bytes): nothing can be read from it; copy it again or run the program again");
        return false;
    }
    FileHeader& header = result_.report.header;
    header = at<FileHeader>(0);
    const auto sound = [this] { return crc32c(data_.data(), offsetof(FileHeader, crc)) == at<FileHeader>(0).crc; };
    header_sound_ = sound();
    for (int tries = 0; !header_sound_ && file_ != nullptr && tries < kRereads; ++tries) {
        if (!file_->read_again(0, sizeof(FileHeader))) {
            break;
        }
        header = at<FileHeader>(0);
        header_sound_ = sound();
        // It may now count segments that are newer than the bytes read before it.
        header.segment_count = std::min(header.segment_count, segments_in_file());
    }
    if (!header_sound_) {
        // The segments describe themselves; a version or state from damaged bytes would only mislead.
        problem("the file header fails its checksum: version, state and times in it are not to be trusted");
        header.version = kFormatVersion;
        header.state = FileState::running;
        header.segment_count = 0;
        return true;
    }
    const std::uint64_t unknown_features = header.features & ~kKnownFeatures;
    if (header.minimum_reader > kFormatVersion || unknown_features != 0) {
        fail(ReadError::too_new,
             name_ + " has report format " + std::to_string(header.version) +
                 " and needs a pincheck that reads format " +
                 std::to_string(std::max(header.minimum_reader, kFormatVersion)) +
                 (unknown_features != 0 ? " with features " + hex(unknown_features) : std::string()) +
                 "; this one reads format " + std::to_string(kFormatVersion) +
                 ": install the pincheck that belongs to the libpincheck.so which wrote it, or a newer one");
        return false;
    }
    if (header.header_bytes != kHeaderBytes || header.segment_bytes != kSegmentBytes) {
        fail(ReadError::not_a_report, name_ + " has a header of a layout that report format " +
                                          std::to_string(header.version) +
                                          " does not have: it is damaged; run the program again");
        return false;
    }
    if (header.version <= kFormatVersion && !all_zero(sizeof(FileHeader), kHeaderBytes)) {
        problem("the unused part of the file header is not zero: the file is damaged");
    }
    return true;
}

ReadResult read_report(const std::uint8_t* data, std::size_t size, const std::string& name) {
    return Parser({data, size}, name, nullptr).parse();
}

ReadResult read_report(const std::string& path) {
    // Non-blocking: a FIFO without a writer would hang the open.
    const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        const int error = errno;
        const char* next = error == EACCES ? "; read it as the user who ran the program" : kWhereReportsAre;
        return cannot_open("cannot read " + path + ": " + error_text(error) + next);
    }
    OpenFile file(descriptor);
    struct stat status {};
    if (fstat(descriptor, &status) != 0) {
        return cannot_open("cannot read " + path + ": " + error_text(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return cannot_open(path + " is a directory; name the .pcr files in it");
    }
    if (!S_ISREG(status.st_mode)) {
        return cannot_open(path + " is not a regular file (a pipe, socket or device); copy the report to a file first");
    }
    // The header first: a foreign file of any size costs nothing, and in a growing file everything that the header
    // counts is there when the rest is read.
    if (!file.read_header()) {
        return cannot_open("cannot read " + path + ": " + error_text(errno));
    }
    const bool ours = file.bytes.size() == kHeaderBytes && std::memcmp(file.bytes.data(), kMagic, sizeof kMagic) == 0;
    if (ours && !file.read_to_end()) {
        return cannot_open("cannot read " + path + ": " + error_text(errno));
    }
    const std::span<const std::uint8_t> bytes = file.bytes;
    return Parser(bytes, path, &file).parse();
}

}  // namespace pincheck::report
