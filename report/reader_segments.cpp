#include <algorithm>
#include <cstddef>

#include "crc32c.h"
#include "reader_impl.h"

namespace pincheck::report {
namespace {

// So many damaged slots are named one by one.
constexpr std::uint64_t kNamedSlots = 3;

constexpr std::uint64_t segment_offset(std::uint32_t index) {
    return kHeaderBytes + std::uint64_t{index} * kSegmentBytes;
}

bool known_kind(SegmentKind kind) {
    return kind >= SegmentKind::records && kind <= SegmentKind::reads;
}

}  // namespace

bool Parser::segment_is_sound(std::uint32_t index) {
    const std::uint64_t begin = segment_offset(index);
    const auto sound = [&] {
        const auto header = at<SegmentHeader>(begin);
        return header.magic == kSegmentMagic && header.index == index &&
               header.committed <= kSegmentBytes - kSegmentHeaderBytes &&
               header.crc == crc32c(data_.data() + begin, offsetof(SegmentHeader, crc));
    };
    bool result = sound();
    for (int tries = 0; !result && live() && at<SegmentHeader>(begin).magic == kSegmentMagic && tries < kRereads;
         ++tries) {
        const bool again = file_->read_again(begin, sizeof(SegmentHeader)) && file_->read_rest_of_segment(begin);
        data_ = file_->bytes;
        if (!again) {
            break;
        }
        result = sound();
    }
    return result;
}

// Segments that the header does not count yet are taken when they are sound: a snapshot was interrupted, or is going
// on.
void Parser::find_segments(bool say_problems) {
    segments_.clear();
    const FileHeader& header = result_.report.header;
    const std::uint32_t in_file = segments_in_file();
    for (std::uint32_t index = 0; index < in_file; ++index) {
        const std::uint64_t begin = segment_offset(index);
        const bool counted = index < header.segment_count || !header_sound_;
        if (begin + kSegmentHeaderBytes > data_.size()) {
            break;  // check_cut() says so
        }
        if (!segment_is_sound(index)) {
            if (counted && say_problems) {
                problem("segment " + std::to_string(index) + ": its header fails its checks; the segment is skipped");
            }
            continue;
        }
        const auto segment = at<SegmentHeader>(begin);
        SegmentView view{index, segment.kind, begin + kSegmentHeaderBytes, segment.committed, segment.committed};
        view.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(view.promised, data_.size() - view.begin));
        if (!known_kind(segment.kind)) {
            if (say_problems) {
                problem("segment " + std::to_string(index) + ": kind " +
                        std::to_string(static_cast<std::uint32_t>(segment.kind)) +
                        " is newer than this pincheck; the segment is skipped");
            }
            continue;
        }
        segments_.push_back(view);
        if (counted && say_problems) {
            check_unused(view);
        }
    }
}

// Bytes that no checksum covers are zero in this version.
void Parser::check_unused(const SegmentView& segment) {
    if (result_.report.header.version > kFormatVersion) {
        return;
    }
    if (!all_zero(segment.begin - kSegmentHeaderBytes + sizeof(SegmentHeader), segment.begin)) {
        problem("segment " + std::to_string(segment.index) +
                ": the unused part of its header is not zero: the file is damaged");
    }
    // While the program runs, what a snapshot has just written lies there.
    if (result_.report.header.state == FileState::ended &&
        !all_zero(segment.begin + segment.promised, segment_offset(segment.index + 1))) {
        problem("segment " + std::to_string(segment.index) +
                ": the bytes after its committed part are not zero: the file is damaged, or its last snapshot was "
                "interrupted");
    }
}

void Parser::check_cut() {
    const std::uint32_t count = result_.report.header.segment_count;
    std::uint64_t end = count == 0 ? kHeaderBytes : segment_offset(count - 1) + kSegmentHeaderBytes;
    const bool last_known = !segments_.empty() && segments_.back().index + 1 >= count;
    if (!segments_.empty()) {
        end = std::max(end, segments_.back().begin + segments_.back().promised);
    }
    if (end > data_.size()) {
        problem("the file ends " + std::string(last_known ? "" : "at least ") + std::to_string(end - data_.size()) +
                " bytes early: it was cut, or not copied whole; what is in it is used");
    }
}

bool Parser::slot_is_sound(std::uint64_t offset, std::size_t size) {
    for (int tries = 0;; ++tries) {
        if (at<std::uint32_t>(offset) == crc32c(data_.data() + offset + 4, size - 4)) {
            return true;
        }
        if (!live() || tries == kRereads || !file_->read_again(offset, size)) {
            return false;
        }
    }
}

void Parser::bad_slot(const SegmentView& segment, std::uint64_t offset, const char* what, const char* why) {
    if (++bad_slots_ <= kNamedSlots) {
        problem("segment " + std::to_string(segment.index) + ": the " + what + " slot at offset " +
                std::to_string(offset) + " " + why + " and is skipped");
    }
}

template <class Slot>
void Parser::parse_slots_of(const SegmentView& segment, const char* what, std::vector<Slot>& out) {
    for (std::uint32_t used = 0; used + sizeof(Slot) <= segment.bytes; used += sizeof(Slot)) {
        const std::uint64_t offset = segment.begin + used;
        if (all_zero(offset, offset + sizeof(Slot))) {
            continue;  // free
        }
        const bool sound = slot_is_sound(offset, sizeof(Slot));
        const auto slot = at<Slot>(offset);
        if (!sound) {
            // Freed between two readings: then it is all zeros, whose checksum is not zero.
            if (!all_zero(offset, offset + sizeof(Slot))) {
                bad_slot(segment, offset, what, "fails its checksum");
            }
        } else if (slot.state != SlotState::live && slot.state != SlotState::ended) {
            bad_slot(segment, offset, what, "has an unknown state");
        } else {
            out.push_back(slot);
        }
    }
}

void Parser::parse_slots() {
    Report& report = result_.report;
    for (const SegmentView& segment : segments_) {
        switch (segment.kind) {
            case SegmentKind::counters:
                parse_slots_of(segment, "counter", report.counters);
                break;
            case SegmentKind::ranges:
                parse_slots_of(segment, "range", report.ranges);
                break;
            case SegmentKind::threads:
                parse_slots_of(segment, "thread", report.threads);
                break;
            case SegmentKind::losses:
                parse_slots_of(segment, "loss", report.losses);
                break;
            case SegmentKind::waits:
                parse_slots_of(segment, "wait", report.waits);
                break;
            case SegmentKind::races:
                parse_slots_of(segment, "race", report.races);
                break;
            case SegmentKind::reads:
                parse_slots_of(segment, "read", report.reads);
                break;
            case SegmentKind::transfers:
                parse_slots_of(segment, "transfer", report.transfers);
                break;
            case SegmentKind::records:
                break;
        }
    }
    std::erase_if(report.ranges, [](const RangeSlot& range) { return range.state != SlotState::live; });
    if (bad_slots_ > kNamedSlots) {
        problem(std::to_string(bad_slots_ - kNamedSlots) + " more slots fail their checks and are skipped");
    }
}

}  // namespace pincheck::report
