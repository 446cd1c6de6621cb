// Image::snapshot(): what changed, from memory to the file, in an order in which every prefix of the writes is a
// report.
//
//   the file header with no segments (once) -> for each page of slots that changed: new records, then the page -> the
//   rest of the records -> the file header
//
// and within a segment data before its header. Records come before any slot that may name them, so that ids resolve
// whatever the moment of death; see flush_records().
#include <cstring>
#include <new>

#include "crc32c.h"
#include "image_impl.h"
#include "write_at.h"

namespace pincheck::report {
namespace {

// What the shadow array says of a slot: 0, the file has zeros there; kUnknown, a write failed; otherwise its CRC.
constexpr std::uint32_t kUnknown = 0xffffffff;

std::uint32_t shadow_of(std::uint32_t crc) noexcept {
    return crc == 0 || crc == kUnknown ? 1 : crc;
}

// A private copy of a slot with its CRC; all zeros when it is free. Returns what the shadow array says of it.
std::uint32_t stage(const std::uint8_t* slot, std::uint8_t* copy, std::uint32_t bytes) noexcept {
    // Offset 4 in every kind of slot.
    static_assert(offsetof(CounterSlot, state) == 4 && offsetof(ThreadSlot, state) == 4);
    static_assert(offsetof(RangeSlot, state) == 4 && offsetof(LossSlot, state) == 4);
    const auto& state = *reinterpret_cast<const SlotState*>(slot + 4);
    if (load(state) == SlotState::free) {
        std::memset(copy, 0, bytes);
        return 0;
    }
    for (std::uint32_t at = 0; at < bytes; at += 8) {
        auto& word = *reinterpret_cast<std::uint64_t*>(const_cast<std::uint8_t*>(slot + at));
        // Acquire: pairs with free_range(), which clears after it has set the state.
        const std::uint64_t value = std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);
        std::memcpy(copy + at, &value, 8);
    }
    if (load(state) == SlotState::free) {
        std::memset(copy, 0, bytes);
        return 0;
    }
    const std::uint32_t crc = crc32c(copy + 4, bytes - 4);
    std::memcpy(copy, &crc, sizeof crc);
    return shadow_of(crc);
}

constexpr std::uint64_t segment_offset(std::uint32_t index) noexcept {
    return kHeaderBytes + std::uint64_t{index} * kSegmentBytes;
}

}  // namespace

// One snapshot under way. Each function is false after a failure, with `error` set.
class Image::Impl::Snapshot {
  public:
    Snapshot(Impl& impl, int descriptor) noexcept : impl_(impl), descriptor_(descriptor) {}

    bool write_all(std::uint64_t now_ns, FileState state) noexcept {
        if (!impl_.header_written && !write_file_header(0, now_ns, FileState::running)) {
            return false;
        }
        const std::uint32_t count = place_losses();
        for (std::uint32_t i = 0; i < count; ++i) {
            if (impl_.segments()[i].kind != SegmentKind::records && !write_slots(i)) {
                return false;
            }
        }
        if (!flush_records()) {
            return false;
        }
        const bool stale = impl_.header_stale || count != impl_.written_segments || state != impl_.written_state;
        return !stale || write_file_header(count, now_ns, state);
    }

    int error() const noexcept { return error_; }

  private:
    // Gives the losses a place in the file when there is one to write. Returns the number of segments.
    std::uint32_t place_losses() noexcept {
        const Locked lock(impl_.mutex);
        for (std::uint32_t kind = 0; kind < kLossKinds && impl_.losses_segment == kNoSegment; ++kind) {
            if (load(impl_.loss(kind).state) != SlotState::free) {
                impl_.losses_segment = impl_.segment_count++;
                auto* segment = new (&impl_.segments()[impl_.losses_segment]) Segment{};
                segment->memory = impl_.losses_memory;
                segment->kind = SegmentKind::losses;
                segment->committed = kLossKinds * sizeof(LossSlot);
                segment->next = kNoSegment;
                segment->shadow = impl_.losses_shadow;
            }
        }
        return impl_.segment_count;
    }

    bool write_slots(std::uint32_t index) noexcept {
        Segment& segment = impl_.segments()[index];
        const std::uint32_t bytes = slot_bytes(segment.kind);
        const std::uint32_t committed =
            std::atomic_ref<std::uint32_t>(segment.committed).load(std::memory_order_acquire);
        const std::uint32_t end = kSegmentHeaderBytes + committed;
        const bool grew = committed != segment.written;
        for (std::uint32_t page = 0; page < end; page += kPageBytes) {
            const std::uint32_t from = page == 0 ? kSegmentHeaderBytes : page;
            const std::uint32_t to = end < page + kPageBytes ? end : page + kPageBytes;
            alignas(8) std::uint8_t copy[kPageBytes];
            std::uint32_t tokens[kPageBytes / sizeof(RangeSlot)];
            std::uint32_t first = to;
            std::uint32_t last = from;  // one past the last that changed
            for (std::uint32_t at = from; at < to; at += bytes) {
                const std::uint32_t token = stage(segment.memory + at, copy + (at - page), bytes);
                tokens[(at - from) / bytes] = token;
                // The last slot of a segment that grew is written even when it is free, so that the file is as long as
                // the header says and a cut can be told from a short file.
                const bool closes = grew && at + bytes == end;
                if (token != segment.shadow[(at - kSegmentHeaderBytes) / bytes] || closes) {
                    first = first < at ? first : at;
                    last = at + bytes;
                }
            }
            if (first >= last) {
                continue;
            }
            // One write a page, unchanged slots between changed ones included: they are the same bytes again.
            if (!flush_records()) {
                return false;
            }
            const bool written = write(copy + (first - page), last - first, segment_offset(index) + first);
            for (std::uint32_t at = first; at < last; at += bytes) {
                segment.shadow[(at - kSegmentHeaderBytes) / bytes] = written ? tokens[(at - from) / bytes] : kUnknown;
            }
            if (!written) {
                return false;
            }
        }
        return !grew || write_segment_header(index, committed);
    }

    // Writes all records committed so far. The lock is what makes ids resolve: a slot that was copied before it and
    // names a record shows that the record was committed before it (the record's own lock came first).
    bool flush_records() noexcept {
        std::uint32_t last;
        {
            const Locked lock(impl_.mutex);
            if (impl_.records_to_write == kNoSegment) {
                impl_.records_to_write = impl_.records.first;
            }
            last = impl_.records.last;
            if (last == kNoSegment) {
                return true;
            }
            last_committed_ = impl_.segments()[last].committed;
        }
        for (std::uint32_t i = impl_.records_to_write;;) {
            Segment& segment = impl_.segments()[i];
            const std::uint32_t committed = i == last ? last_committed_ : segment.committed;
            if (committed != segment.written) {
                const std::uint32_t from = kSegmentHeaderBytes + segment.written;
                if (!write(segment.memory + from, committed - segment.written, segment_offset(i) + from) ||
                    !write_segment_header(i, committed)) {
                    return false;
                }
            }
            impl_.records_to_write = i;
            if (i == last) {
                return true;
            }
            i = segment.next;
        }
    }

    bool write_segment_header(std::uint32_t index, std::uint32_t committed) noexcept {
        Segment& segment = impl_.segments()[index];
        // All 256 bytes the first time: nothing but zeros may lie in the reserved part.
        alignas(SegmentHeader) std::uint8_t bytes[kSegmentHeaderBytes] = {};
        SegmentHeader header{};
        header.magic = kSegmentMagic;
        header.kind = segment.kind;
        header.index = index;
        header.committed = committed;
        header.crc = crc32c(&header, offsetof(SegmentHeader, crc));
        std::memcpy(bytes, &header, sizeof header);
        if (!write(bytes, segment.written == 0 ? sizeof bytes : sizeof header, segment_offset(index))) {
            return false;
        }
        segment.written = committed;
        return true;
    }

    bool write_file_header(std::uint32_t count, std::uint64_t now_ns, FileState state) noexcept {
        const bool first = !impl_.header_written;
        FileHeader header{};
        std::memcpy(header.magic, kMagic, sizeof kMagic);
        header.version = kFormatVersion;
        header.minimum_reader = kMinimumReader;
        header.header_bytes = kHeaderBytes;
        header.segment_bytes = kSegmentBytes;
        header.segment_count = count;
        header.state = state;
        header.snapshots = first ? 0 : impl_.snapshots + 1;
        header.snapshot_ns = now_ns;
        header.start_ns = impl_.start_ns;
        header.start_realtime_ns = impl_.start_realtime_ns;
        header.pid = impl_.pid;
        header.crc = crc32c(&header, offsetof(FileHeader, crc));
        std::uint8_t bytes[kHeaderBytes] = {};
        std::memcpy(bytes, &header, sizeof header);
        if (!write(bytes, first ? sizeof bytes : sizeof header, 0)) {
            return false;
        }
        impl_.header_written = true;
        impl_.snapshots = header.snapshots;
        impl_.written_segments = count;
        impl_.written_state = state;
        impl_.header_stale = first;
        return true;
    }

    bool write(const void* data, std::size_t bytes, std::uint64_t offset) noexcept {
        long done;
        do {
            errno = 0;
            done = write_at(descriptor_, data, bytes, offset);
        } while (done < 0 && errno == EINTR);
        if (done == static_cast<long>(bytes)) {
            impl_.header_stale = true;
            return true;
        }
        // A short write to a regular file is a full disk, quota or size limit; the next call would say which.
        error_ = errno != 0 ? errno : ENOSPC;
        return false;
    }

    Impl& impl_;
    int descriptor_;
    int error_ = 0;
    std::uint32_t last_committed_ = 0;
};

std::uint64_t Image::snapshots() const noexcept {
    return impl_->snapshots;
}

SnapshotResult Image::snapshot(int descriptor, std::uint64_t now_ns, FileState state) noexcept {
    const KeepErrno keep;
    Impl::Snapshot run(*impl_, descriptor);
    const bool written = run.write_all(now_ns, state);
    return {written, run.error()};
}

}  // namespace pincheck::report
