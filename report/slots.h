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

// Two uses of one range whose order nothing guarantees, or a result that nobody can have waited for.
enum class RaceRule : std::uint16_t {
    unordered_copies = 1,  // two streams use one range, one of them writes, and neither is ordered behind the other
    source_overwritten_in_flight = 2,       // host memory is written while a copy may still read it
    destination_overwritten_in_flight = 3,  // the host writes memory that a copy may still write
    destination_read_in_flight = 4,         // memory is read before the copy into it is known to be complete
    result_never_awaited = 5,  // a download's destination is copied over, released, or left at exit, and the host never
                               // learned that the download was complete: no legal read can have happened
    graph_buffer_gone = 6,     // a graph's copy uses stack memory of a function that has returned
    released_in_flight = 7,    // page-locked memory is given back while a copy may still use it
    staged_too_early = 8,      // a pageable source was read before a host function queued earlier had filled it
    relies_on_staging = 9,     // safe only as long as the driver stages pageable memory inside the call
};

// What found it, weakest first (option `races`).
enum class RaceLevel : std::uint16_t {
    order = 1,  // the order of calls
    watch = 2,  // the kernel's record of written pages, or a checksum
    trap = 3,   // the access itself
};

enum RaceFlags : std::uint16_t {
    kRacePresumed = 1u << 0,      // an order may exist that cannot be seen: streams that signal through memory, or work
                                  // that the tool lost
    kRaceAtExit = 1u << 1,        // the program ended
    kRaceReleased = 1u << 2,      // the range was released; `other_site` released it
    kRaceOnDevice = 1u << 3,      // the range is device memory
    kRaceInSystemCall = 1u << 4,  // the access was made by a system call; `call` names it
    kRaceByChecksum = 1u << 5,    // the kernel's record of written pages could not be used
    kRaceEarlyEvent = 1u << 6,    // since the copy's call the host had waited for an event of the copy's stream, which
                                  // was recorded before the copy
};

// Races of one rule between the same two parties. The copy that was in flight is the first party; the other one is what
// used its range too early: another copy or fill, a release, a launch, or an access by the host.
struct RaceSlot {
    std::uint32_t crc;
    SlotState state;
    RaceRule rule;
    std::uint32_t copy_site;
    std::uint32_t other_site;    // 0: none (at exit), or an access by the host that was not seen itself (watch)
    std::uint32_t pin_site;      // where the host memory was page-locked; 0: not, or not known
    std::uint32_t wait_site;     // the call that told the host that the copy was complete, too late; 0: none did
    std::uint32_t after_site;    // watch: the access came after this call …
    std::uint32_t before_site;   // … and before this one ended
    std::uint32_t stream;        // StreamRecord id, of the copy; 0: not known
    std::uint32_t other_stream;  // of the other party, where that is in a stream
    RaceLevel level;
    std::uint16_t flags;  // RaceFlags
    std::uint32_t call;   // string id: the system call or libc function that made the access; 0: none
    std::uint64_t count;
    std::uint64_t corrupting;  // of these: the copy was still to come or running, by the device's times (CUPTI)
    std::uint64_t latent;      // of these: the device had finished the copy, but nobody had asked
    std::uint64_t first_ns;    // when it was found
    std::uint64_t last_ns;
    // Of the first one:
    std::uint64_t address;         // of the copy's range
    std::uint64_t copy_bytes;      // that the copy spans
    std::uint64_t begin;           // of the part that both use: offset in the copy's range …
    std::uint64_t end;             // … and one past its last byte
    std::uint32_t thread;          // that made the copy; ThreadSlot::thread
    std::uint32_t other_thread;    // that the other party ran in; 0: not known
    std::uint64_t graph_launches;  // graph_buffer_gone: launches of the graph so far
    std::uint8_t reserved[120];
};
static_assert(sizeof(RaceSlot) == 256);

enum ReadFlags : std::uint16_t {
    kReadInSystemCall = 1u << 0,  // the read was made by a system call; `call` names it
};

// Reads by the host from memory that was requested write-combined, made at one place (races=trap). They are looked for
// at some times only, so what is counted is in how many such samples the place read, not how often.
struct ReadSlot {
    std::uint32_t crc;
    SlotState state;
    std::uint16_t flags;     // ReadFlags
    std::uint32_t site;      // of kind host-access
    std::uint32_t pin_site;  // where the memory was allocated; 0: not known
    std::uint32_t call;      // string id: the system call or libc function that read; 0: an instruction
    std::uint32_t thread;    // of the first one; ThreadSlot::thread; 0: not known
    std::uint64_t samples;
    std::uint64_t first_ns;
    std::uint64_t last_ns;
    // Of the first one:
    std::uint64_t address;  // of the allocation
    std::uint64_t bytes;    // of the allocation
    std::uint64_t begin;    // what was read first: offset in the allocation ...
    std::uint64_t end;      // ... and one past its last byte that is known to have been read
    std::uint8_t reserved[48];
};
static_assert(sizeof(ReadSlot) == 128);

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
    in_flight = 17,        // copies whose ranges were not followed: races with them were not looked for
    races = 18,            // races that were found and not remembered
    unwatched = 19,        // copies whose memory was not watched for accesses by the host (races=watch, trap)
    unsampled = 20,        // write-combined allocations whose reads by the host were never sampled (races=trap)
    reads = 21,            // places that read write-combined memory and were not remembered
};
inline constexpr std::uint32_t kLossKinds = 22;  // one more than the highest

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
