// The reader's inside: reader.cpp opens files and judges the header, reader_segments.cpp walks segments and slots,
// reader_records.cpp takes records apart and checks what refers to what.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "reader.h"

namespace pincheck::report {

// How often a damaged piece is read again before it counts as damaged: a live writer may be in the middle of it.
inline constexpr int kRereads = 3;

// A regular file, read whole. Its program may be writing to it at this moment.
class OpenFile {
  public:
    // Takes the descriptor.
    explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
    ~OpenFile();
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    // Both false with errno set.
    bool read_header();
    bool read_to_end();  // what follows the bytes read so far
    // Reads this part again; true when it was there. False too after so many times that the file must be damaged.
    bool read_again(std::uint64_t offset, std::size_t size);
    // Reads the segment at `begin` again but for its header, which was read a moment ago.
    bool read_rest_of_segment(std::uint64_t begin);
    // Reads all record segments again, new ones included. After it no slot in `bytes` is newer than the records.
    bool read_records_again();

    std::vector<std::uint8_t> bytes;

  private:
    bool read_part(std::uint64_t offset, std::size_t size, std::uint8_t* into);
    bool grow();  // to the size that the file has now, with zeros for what was not read

    int descriptor_;
    int rereads_left_ = 256;
};

// A segment whose header is sound.
struct SegmentView {
    std::uint32_t index;
    SegmentKind kind;
    std::uint64_t begin;     // file offset of the first byte after the header
    std::uint32_t bytes;     // committed and in the file
    std::uint32_t promised;  // committed, as the header says
};

class Parser {
  public:
    // `file` is the file that `data` are the bytes of, or null for bytes that cannot change.
    Parser(std::span<const std::uint8_t> data, std::string name, OpenFile* file)
        : data_(data), name_(std::move(name)), file_(file) {}

    ReadResult parse();

  private:
    // reader.cpp
    bool parse_header();
    void fail(ReadError error, std::string message);
    void problem(std::string sentence) { result_.report.problems.push_back(std::move(sentence)); }
    bool live() const { return file_ != nullptr && result_.report.header.state == FileState::running; }
    std::uint32_t segments_in_file() const;  // the last one possibly in part
    bool all_zero(std::uint64_t begin, std::uint64_t end) const;
    template <class T>
    T at(std::uint64_t offset) const {
        T value;
        std::memcpy(&value, data_.data() + offset, sizeof value);
        return value;
    }

    // reader_segments.cpp
    void find_segments(bool say_problems);
    bool segment_is_sound(std::uint32_t index);
    void check_unused(const SegmentView& segment);
    void check_cut();
    void parse_slots();
    template <class Slot>
    void parse_slots_of(const SegmentView& segment, const char* what, std::vector<Slot>& out);
    bool slot_is_sound(std::uint64_t offset, std::size_t size);
    void bad_slot(const SegmentView& segment, std::uint64_t offset, const char* what, const char* why);

    // reader_records.cpp
    void parse_records();
    void parse_records_of(const SegmentView& segment);
    bool take_record(RecordType type, std::uint64_t begin, std::uint32_t payload);
    void check_references();

    std::span<const std::uint8_t> data_;
    std::string name_;
    OpenFile* file_;
    ReadResult result_;
    bool header_sound_ = false;
    std::vector<SegmentView> segments_;
    std::uint64_t bad_slots_ = 0;
    std::uint64_t bad_records_ = 0;
    std::uint64_t repeated_ids_ = 0;
};

}  // namespace pincheck::report
