// The parts of a report that change in place while the program runs: one struct a kind of slot (see records.h for what
// a file is made of, and which types a slot refers to).
#pragma once

#include <cstdint>

#include "records.h"

namespace pincheck::report {

inline constexpr std::uint32_t kHistogramBuckets = 16;

enum class SlotState : std::uint16_t { free = 0, live = 1, ended = 2 };

// What one thread's calls of one size at one site added up to. Only the owning thread writes; readers sum over threads.
// A snapshot can fall between two fields of one call, so fields agree exactly only in a file whose state is `ended`.
struct CounterSlot {
    std::uint32_t crc;  // CRC-32C of every byte after it
    SlotState state;
    std::uint16_t size_class;  // of every call's bytes (see size_class()); 0 for calls that move nothing
    std::uint32_t site;
    std::uint32_t thread;
    std::uint64_t bytes;  // moved, allocated or registered by the calls that succeeded
    std::uint64_t host_ns;
    std::uint64_t host_ns_max;
    std::uint64_t failed;
    std::uint64_t then_synchronized;  // the thread's next seen CUDA call waited for the same stream
    std::uint64_t bytes_min;
    std::uint64_t bytes_max;
    std::uint64_t first_ns;
    std::uint64_t last_ns;
    std::uint64_t histogram[kHistogramBuckets];  // calls by host time; their sum is the number of calls
    std::uint32_t allocation_site;               // of the host memory last copied; 0 when not known
    std::uint32_t last_error;                    // of the last call that failed
    std::uint8_t reserved2[32];
};
static_assert(sizeof(CounterSlot) == 256);

// Bucket 0 is below 1,024 ns, bucket i holds [2^(9+i), 2^(10+i)) ns, bucket 15 all from 16.8 ms on.
constexpr std::uint32_t histogram_bucket(std::uint64_t ns) noexcept {
    const std::uint64_t scaled = ns >> 10;
    const std::uint32_t width = scaled == 0 ? 0 : 64u - static_cast<std::uint32_t>(__builtin_clzll(scaled));
    return width < kHistogramBuckets ? width : kHistogramBuckets - 1;
}
constexpr std::uint64_t histogram_lower_bound(std::uint32_t bucket) noexcept {
    return bucket == 0 ? 0 : std::uint64_t{1} << (9 + bucket);
}

// Sizes in steps of four: class c >= 1 holds [4^(c-1), 4^c) bytes, so that 1 MiB, 4 MiB, 16 MiB … begin one. 0: no
// bytes.
constexpr std::uint16_t size_class(std::uint64_t bytes) noexcept {
    return bytes == 0 ? 0 : static_cast<std::uint16_t>((63u - static_cast<unsigned>(__builtin_clzll(bytes))) / 2 + 1);
}
constexpr std::uint64_t size_class_lower_bound(std::uint16_t size_class) noexcept {
    return size_class == 0 ? 0 : std::uint64_t{1} << (2 * (size_class - 1));
}
inline constexpr std::uint16_t kSizeClasses = 33;  // one more than the highest

enum class RangeKind : std::uint16_t { pinned = 1, registered = 2, managed = 3 };

// A live page-locked or managed range. The slot is freed and used again when the range is released.
struct RangeSlot {
    std::uint32_t crc;
    SlotState state;
    RangeKind kind;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t requested_flags;  // the API's own flag bits
    std::uint32_t site;             // where it was allocated or registered
    std::uint32_t thread;
    std::uint32_t reserved;
    std::uint64_t created_ns;
    std::uint8_t reserved2[16];
};
static_assert(sizeof(RangeSlot) == 64);

enum ThreadFlags : std::uint32_t {
    kThreadDriverOwned = 1u << 0,  // started by the driver: no query is made on it
};

// A thread that made CUDA calls. A slot of an ended thread is taken over by the next new one.
struct ThreadSlot {
    std::uint32_t crc;
    SlotState state;
    std::uint16_t reserved;
    std::uint32_t thread;  // id used by the counters
    std::uint32_t tid;
    std::uint32_t threads;  // how many threads have used this slot
    std::uint32_t flags;    // ThreadFlags
    std::uint64_t started_ns;
    std::uint64_t in_call_since_ns;  // 0: not inside a call
    std::uint32_t in_call_api;       // string id
    std::uint32_t reserved2;
    std::uint64_t calls;
    char name[16];
    std::uint8_t reserved3[56];
};
static_assert(sizeof(ThreadSlot) == 128);

// Why a call held the host.
enum class WaitCause : std::uint16_t {
    unknown = 0,
    staging = 1,          // the driver moved the bytes of pageable memory through the CPU, or waited for room to do so
    earlier_work = 2,     // work queued before it in the same stream, or that the stream was ordered behind
    device_wide = 3,      // everything on the device: cudaFree, cudaFreeHost, cudaHostUnregister and their kind
    queue_full = 4,       // the stream's queue had no free slot
    legacy_stream = 5,    // the legacy default stream and the blocking streams wait for each other
    managed = 6,          // an asynchronous copy of managed memory
    idle_sync = 7,        // a wait for work that the host knew to be complete: the call was not needed
    host_to_host = 8,     // a copy between two places of the host
    lock = 9,             // another thread was inside a call that holds the driver's lock
    pinning = 10,         // page-locking or unlocking: a cost, not a wait
    module_loading = 11,  // lazy loading of a module or a kernel: a cost, not a wait
    requested = 12,       // a synchronisation that the program asked for and that had work to wait for
    synchronous_copy = 13,  // a copy that is documented to return when it is done
};

// How a cause was found, weakest first.
enum class WaitEvidence : std::uint32_t {
    call = 1,    // by what the call is and the memory it names
    order = 2,   // by what the host knew to be complete when the call began
    device = 3,  // by the device's times of the copy, or its overhead records (CUPTI)
};

// Calls of one thread at one site that held the host for the threshold or longer (idle_sync: for however long), by
// cause and evidence. Their time is also in the site's counters.
struct WaitSlot {
    std::uint32_t crc;
    SlotState state;
    WaitCause cause;
    std::uint32_t site;
    std::uint32_t thread;
    std::uint64_t calls;
    std::uint64_t ns;
    std::uint64_t ns_max;
    std::uint64_t first_ns;
    std::uint64_t last_ns;
    WaitEvidence evidence;
    std::uint32_t stream;       // StreamRecord id of the stream waited for in the longest call; 0: none or not known
    std::uint32_t behind_site;  // site of the newest recorded work in front of the longest call; for `lock`, of the
                                // other thread's call
    std::uint32_t kernel;       // string id: the kernel that ran meanwhile in the longest call, where it is known
    std::uint64_t items;  // queue_full: items that the host had issued into the stream and not known complete, at most
    // Other streams that this thread issued work into next: work that the wait delayed. 0 where there are fewer.
    std::uint32_t delayed_streams[4];
    std::uint8_t reserved[32];
};
static_assert(sizeof(WaitSlot) == 128);

// What the device did for the copies of one size at one site, as CUPTI reported it. Written by the tool's thread, only
// for copies whose records came and could be matched with their call.
struct TransferSlot {
    std::uint32_t crc;
    SlotState state;
    std::uint16_t size_class;
    std::uint32_t site;
    std::uint32_t reserved;
    std::uint64_t copies;
    std::uint64_t bytes;
    std::uint64_t device_ns;  // end - start on the device
    std::uint64_t device_ns_min;
    std::uint64_t device_ns_max;
    // Of the calls that made these copies (one each; a graph's launch counts once, with its last copy):
    std::uint64_t calls;
    std::uint64_t host_ns;         // inside the call
    std::uint64_t completion_ns;   // from the call's start to the copy's end, or to the call's end where that was later
    std::uint64_t before_ns;       // inside the call before the copy started on the device
    std::uint64_t during_ns;       // inside the call while the copy ran
    std::uint64_t returned_early;  // calls that returned before their copy had ended
    std::uint8_t reserved2[24];
};
static_assert(sizeof(TransferSlot) == 128);

enum class Loss : std::uint32_t {
    sites = 1,   // calls that went to an overflow site
    stacks = 2,  // sites without a stack
    strings = 3,
    modules = 4,
    ranges = 5,            // live ranges that were not remembered
    threads = 6,           // threads without counters: calls not recorded
    counters = 7,          // calls without a counter slot: not recorded
    image_full = 8,        // the image reached its limit or memory was refused
    write_failed = 9,      // snapshots that could not be written
    descriptor_lost = 10,  // the program closed or replaced the report's descriptor
    not_classified = 11,   // copies whose memory could not be asked for
    unrecorded = 12,       // calls that passed through unrecorded while the tool started or after it gave up
    waits = 13,            // calls that held the host whose cause was not remembered
    transfers = 14,        // device times that CUPTI dropped, or that could not be matched with their call
    streams = 15,          // streams or events that were not followed
    unseen_copies = 16,    // copies that CUPTI counted and no hook saw
};
inline constexpr std::uint32_t kLossKinds = 17;  // one more than the highest

struct LossSlot {
    std::uint32_t crc;
    SlotState state;
    std::uint16_t reserved;
    Loss kind;
    std::int32_t error;  // errno of the last one, 0 when it has none
    std::uint64_t count;
    std::uint64_t first_ns;
    std::uint64_t last_ns;
    std::uint8_t reserved2[24];
};
static_assert(sizeof(LossSlot) == 64);

}  // namespace pincheck::report
