// What an Image is made of; shared by image.cpp and image_slots.cpp (filling it) and snapshot.cpp (writing it out).
#pragma once

#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "image.h"
#include "mutex.h"

namespace pincheck::report {

inline constexpr std::uint32_t kPageBytes = 4096;
inline constexpr std::uint32_t kSegmentCapacity = kSegmentBytes - kSegmentHeaderBytes;
inline constexpr std::uint32_t kNoSegment = 0xffffffff;

// A slot in two pages could be torn by a kill between the two; it must not cross one.
static_assert(kPageBytes % sizeof(CounterSlot) == 0 && kSegmentHeaderBytes % sizeof(CounterSlot) == 0);
static_assert(kPageBytes % sizeof(ThreadSlot) == 0 && kSegmentHeaderBytes % sizeof(ThreadSlot) == 0);
static_assert(kPageBytes % sizeof(RangeSlot) == 0 && kSegmentHeaderBytes % sizeof(RangeSlot) == 0);
static_assert(kPageBytes % sizeof(WaitSlot) == 0 && kSegmentHeaderBytes % sizeof(WaitSlot) == 0);
static_assert(kPageBytes % sizeof(RaceSlot) == 0 && kSegmentHeaderBytes % sizeof(RaceSlot) == 0);
static_assert(kPageBytes % sizeof(TransferSlot) == 0 && kSegmentHeaderBytes % sizeof(TransferSlot) == 0);
static_assert(kPageBytes % sizeof(LossSlot) == 0 && kSegmentHeaderBytes % sizeof(LossSlot) == 0);
static_assert(kHeaderBytes % kPageBytes == 0 && kSegmentBytes % kPageBytes == 0);

constexpr std::uint32_t slot_bytes(SegmentKind kind) noexcept {
    switch (kind) {
        case SegmentKind::counters:
            return sizeof(CounterSlot);
        case SegmentKind::ranges:
            return sizeof(RangeSlot);
        case SegmentKind::threads:
            return sizeof(ThreadSlot);
        case SegmentKind::losses:
            return sizeof(LossSlot);
        case SegmentKind::waits:
            return sizeof(WaitSlot);
        case SegmentKind::races:
            return sizeof(RaceSlot);
        case SegmentKind::transfers:
            return sizeof(TransferSlot);
        case SegmentKind::reads:
            return sizeof(ReadSlot);
        case SegmentKind::records:
            break;
    }
    return 0;
}

struct Segment {
    // 64 KiB as they lie in the file, aligned to their size, so that a slot's address leads to its segment. The first
    // 256 bytes hold only the index here; a snapshot makes the header that goes to the file.
    std::uint8_t* memory;
    std::size_t mapped_bytes;
    SegmentKind kind;
    std::uint32_t committed;  // release after the bytes, acquire before reading them
    std::uint32_t next;       // of the same kind, or kNoSegment

    // Ranges only, under the mutex: freed slots, by number.
    std::uint16_t* free_slots;
    std::uint32_t free_count;

    // Snapshot only.
    std::uint32_t written;  // `committed` as the file's segment header has it; 0: that header was never written
    std::uint32_t* shadow;  // per slot, what the file holds: see shadow_of() in snapshot.cpp
};

// The segments of one kind in the order they were made.
struct Chain {
    std::uint32_t first = kNoSegment;
    std::uint32_t last = kNoSegment;
};

struct Image::Impl {
    class Snapshot;

    ImageLimits limits;
    std::uint32_t pid;
    std::uint64_t start_ns;
    std::uint64_t start_realtime_ns;
    std::size_t mapped_bytes;  // of this struct and the table of segments behind it

    Mutex mutex;
    // All below: under the mutex.
    std::uint32_t segment_count = 0;
    std::uint64_t bytes_used = 0;
    Chain records, counters, ranges, threads, waits, transfers, races, reads;
    std::uint32_t free_ranges = 0;
    std::uint32_t string_count = 0, module_count = 0, stack_count = 0, site_count = 0, overflow_site_count = 0;
    std::uint32_t stream_count = 0;

    // The losses have their memory from the start (the first loss may be that there is no memory), but a place in the
    // file only once there is one.
    std::uint32_t losses_segment = kNoSegment;
    std::uint32_t losses_shadow[kLossKinds];
    alignas(64) std::uint8_t losses_memory[kSegmentHeaderBytes + kLossKinds * sizeof(LossSlot)];

    // Snapshot only.
    std::uint32_t records_to_write = kNoSegment;  // first records segment that may have unwritten bytes
    bool header_written = false;
    bool header_stale = false;  // something reached the file that its header does not count yet
    FileState written_state = FileState::running;
    std::uint32_t written_segments = 0;
    std::uint64_t snapshots = 0;

    Segment* segments() noexcept { return reinterpret_cast<Segment*>(this + 1); }
    LossSlot& loss(std::uint32_t kind) noexcept {
        return *reinterpret_cast<LossSlot*>(losses_memory + kSegmentHeaderBytes + kind * sizeof(LossSlot));
    }

    Segment* add_segment(SegmentKind kind, Chain& chain) noexcept;
    bool append(RecordType type, const void* fixed, std::size_t fixed_bytes, const void* rest,
                std::size_t rest_bytes) noexcept;
    template <class Slot>
    Slot* new_slot(SegmentKind kind, Chain& chain) noexcept;
    std::uint8_t* hand_out(SegmentKind kind, Chain& chain, std::uint32_t bytes) noexcept;
};
static_assert(alignof(Segment) <= 64);

using Locked = std::lock_guard<Mutex>;

inline std::uint64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// The host program's errno is not ours to change.
class KeepErrno {
  public:
    KeepErrno() noexcept : saved_(errno) {}
    ~KeepErrno() { errno = saved_; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

  private:
    int saved_;
};

}  // namespace pincheck::report
