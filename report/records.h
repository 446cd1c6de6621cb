// What a pincheck report is made of: the structs that lie in the file as they lie here, little endian, naturally
// aligned; slots are in slots.h. report/format.md draws the same bytes and keeps the version history. Nothing here
// depends on CUDA.
//
// A file is one header and then segments of kSegmentBytes. A segment holds either records (appended, never changed) or
// slots of one kind (changed in place, each by one writer at a time, each with its own checksum). Ids start at 1; 0
// means "none" or "was dropped". Times are CLOCK_MONOTONIC nanoseconds unless a name says realtime; sizes are bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck::report {

inline constexpr char kMagic[8] = {'P', 'I', 'N', 'C', 'H', 'E', 'C', 'K'};
// Version 0: no promise yet. From version 1 on every later reader reads it.
inline constexpr std::uint32_t kFormatVersion = 0;
inline constexpr std::uint32_t kMinimumReader = 0;
// Feature bits that a reader must understand to read the file at all. None so far.
inline constexpr std::uint64_t kKnownFeatures = 0;

inline constexpr std::uint32_t kHeaderBytes = 4096;
inline constexpr std::uint32_t kSegmentBytes = 64 * 1024;
inline constexpr std::uint32_t kSegmentHeaderBytes = 256;
inline constexpr std::uint32_t kMaxFrames = 64;
inline constexpr std::uint32_t kMaxKeyFrames = 8;

enum class FileState : std::uint32_t {
    running = 0,  // the process was running, or ended without its exit handlers (_exit, exec, SIGKILL)
    ended = 1,    // the exit handlers ran and everything up to then is in the file
};

struct FileHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t minimum_reader;
    std::uint64_t features;
    std::uint32_t header_bytes;
    std::uint32_t segment_bytes;
    std::uint32_t segment_count;  // segments that this snapshot knows
    FileState state;
    std::uint64_t snapshots;  // how many were taken, this one included
    std::uint64_t snapshot_ns;
    std::uint64_t start_ns;
    std::uint64_t start_realtime_ns;
    std::uint32_t pid;
    std::uint8_t reserved[48];
    std::uint32_t crc;  // CRC-32C of every byte before it
};
static_assert(sizeof(FileHeader) == 128);

enum class SegmentKind : std::uint32_t {
    records = 1,
    counters = 2,
    ranges = 3,
    threads = 4,
    losses = 5,
    waits = 6,
    transfers = 7,
    races = 8,
    reads = 9,
};

struct SegmentHeader {
    std::uint32_t magic;  // kSegmentMagic
    SegmentKind kind;
    std::uint32_t index;      // position in the file
    std::uint32_t committed;  // bytes in use after this header; slots: bytes handed out
    std::uint32_t reserved[3];
    std::uint32_t crc;  // CRC-32C of every byte before it
};
static_assert(sizeof(SegmentHeader) == 32);
inline constexpr std::uint32_t kSegmentMagic = 0x47455350;  // "PSEG"

// ---- Records
// ---------------------------------------------------------------------------------------------------------

enum class RecordType : std::uint16_t {
    process = 1,
    string = 2,
    module = 3,
    stack = 4,
    site = 5,
    device = 6,
    coverage = 7,
    symbol = 8,  // added after the process ended, by `pincheck resolve` or `run`
    memory = 9,
    stream = 10,
};

// Every record: this header, then the struct of its type, then its variable part, padded with zeros to 8 bytes.
struct RecordHeader {
    std::uint32_t bytes;  // of the whole record, header and padding included
    RecordType type;
    std::uint16_t reserved;
    std::uint32_t payload;  // bytes after this header that mean something
    std::uint32_t crc;      // CRC-32C of the 12 bytes before it and of all bytes after it
};
static_assert(sizeof(RecordHeader) == 16);

// A text or other bytes, not terminated. Follows: `length` bytes.
struct StringRecord {
    std::uint32_t id;
    std::uint32_t length;
};

// Who ran. Text fields are string ids; `command_line` holds the arguments separated by NUL.
struct ProcessRecord {
    std::uint32_t pid;
    std::uint32_t parent_pid;
    std::uint32_t executable;
    std::uint32_t command_line;
    std::uint32_t working_directory;
    std::uint32_t host;
    std::uint32_t options;
    std::uint32_t tool_version;
    std::uint32_t rank;             // of the MPI / launcher job; kNoRank when there is none
    std::uint32_t after_cuda_fork;  // 1: child of a process that had used CUDA; CUDA does not work here
};
inline constexpr std::uint32_t kNoRank = 0xffffffff;

// A mapped object. `base` is its load bias: file offset of an address = address - base. Follows: build-id bytes.
struct ModuleRecord {
    std::uint32_t id;
    std::uint32_t path;  // string id; 0 for the nameless
    std::uint64_t base;
    std::uint64_t begin;  // lowest mapped address
    std::uint64_t end;    // one past the highest
    std::uint32_t build_id_bytes;
    std::uint32_t reserved;
};

// One return address. `module` 0: in no known module, `offset` is then the absolute address.
struct Frame {
    std::uint32_t module;
    std::uint32_t reserved;
    std::uint64_t offset;
};
static_assert(sizeof(Frame) == 16);

enum class StackOrigin : std::uint32_t {
    unwound = 1,
    return_address = 2,  // no unwinder could be used: only the caller of the API is known
};

// Innermost first; the first frame is the caller of the intercepted function. Follows: `count` frames.
struct StackRecord {
    std::uint32_t id;
    std::uint32_t count;
    StackOrigin origin;
    std::uint32_t cut;  // 1: the stack was deeper than the limit
};

enum class SiteKind : std::uint8_t {
    copy = 1,
    allocate = 2,
    release = 3,
    synchronize = 4,
    fill = 5,          // cuMemset*
    prefetch = 6,      // cuMemPrefetch*
    graph_setup = 7,   // instantiation or update of an executable graph
    graph_launch = 8,  // its host time is that of the whole launch
    // Of a kernel, or the record of an event, or a stream's wait for one. Most pass by unrecorded: the site counts
    // those only that held the host for the threshold or longer.
    launch = 9,
    stream_setup = 10,  // creation or destruction of a stream or an event
    query = 11,         // of a stream or an event
    host_function = 12,
    module_load = 13,
    // The host reads or writes memory of a copy in flight, or reads write-combined memory (races=trap); the stack is
    // that of the instruction.
    host_access = 14,
};

enum class Direction : std::uint8_t {
    none = 0,
    host_to_host = 1,
    host_to_device = 2,
    device_to_host = 3,
    device_to_device = 4,
    unknown = 5,
};

// When a copy may read its source (CUDA Driver API, CUmemcpySrcAccessOrder; batch copies choose).
enum class SourceOrder : std::uint8_t {
    stream = 0,       // when the stream gets to it
    during_call = 1,  // before the call returns
    any = 2,          // at any time, even before earlier work of the stream
};
constexpr SourceOrder source_order(int cuda) noexcept {
    return cuda == 2 ? SourceOrder::during_call : cuda == 3 ? SourceOrder::any : SourceOrder::stream;
}

enum class StreamKind : std::uint8_t { none = 0, legacy_default = 1, per_thread_default = 2, created = 3 };

enum class MemoryClass : std::uint8_t {
    none = 0,  // this side plays no part (a wait, an allocation)
    unknown = 1,
    pageable = 2,
    pinned = 3,      // allocated page-locked (cuMemHostAlloc, cudaMallocHost …)
    registered = 4,  // page-locked by registration
    partly_registered = 5,
    managed = 6,
    device = 7,
    array = 8,
    device_symbol = 9,
    // Host memory of a memory pool (cuMemAllocFromPoolAsync, location host) that no device was given access to: copies
    // to and from it are staged and wait like those of pageable memory (measured: H200, driver 580.159.04).
    host_pool = 10,
};

// Flags as the program requested them when it allocated or registered; queries cannot tell (facts: every pinned range
// reads back as mapped under unified addressing).
enum MemoryFlags : std::uint16_t {
    kMemoryPortable = 1u << 0,
    kMemoryMapped = 1u << 1,
    kMemoryWriteCombined = 1u << 2,
    kMemoryReadOnly = 1u << 3,
    kMemoryIoMemory = 1u << 4,
    kMemoryFlagsKnown = 1u << 15,  // the request was seen; otherwise the other bits say nothing
};

struct Memory {
    MemoryClass kind;
    std::uint8_t reserved;
    std::uint16_t flags;  // MemoryFlags
};

enum SiteFlags : std::uint16_t {
    kSiteAsync = 1u << 0,           // the API is named or documented as asynchronous
    kSiteCaptured = 1u << 1,        // into a graph: the call copies nothing by itself
    kSiteExactStack = 1u << 2,      // every call of this site had this stack; otherwise it is the first one's
    kSiteOverflow = 1u << 3,        // the table of sites was full: all further calls of one API, without a stack
    kSiteOnDriverThread = 1u << 4,  // made on a thread that the driver started (a host function)
    // Calls are copies (or fills) that launches of executable graphs did; the stack is where the node came from. Their
    // host time is their share of the launches', which the launch's site has too.
    kSiteInGraph = 1u << 5,
};

// Where calls come from. Two calls share a site when everything here is equal, the key included. Follows: `key_count`
// frames of the key, then `python_count` pairs of code object and instruction (reserved, always 0 in version 0).
struct SiteRecord {
    std::uint32_t id;
    std::uint32_t api;  // string id of the outermost intercepted function
    std::uint32_t stack;
    SiteKind kind;
    Direction direction;
    StreamKind stream;
    SourceOrder source_order;
    Memory destination;
    Memory source;
    std::uint16_t flags;  // SiteFlags
    std::uint16_t key_count;
    std::uint16_t python_count;
    std::uint16_t reserved2;
};
static_assert(sizeof(SiteRecord) == 32);

// A device that copies went to. Attributes are those that decide verdicts.
struct DeviceRecord {
    std::uint32_t ordinal;
    std::uint32_t name;            // string id
    std::uint32_t driver_version;  // as cuDriverGetVersion: 13000 is CUDA 13.0
    std::uint32_t async_engines;
    std::uint32_t pageable_access;
    std::uint32_t host_page_tables;
    std::uint32_t integrated;
    std::uint32_t reserved;
};

enum class CoverageKind : std::uint32_t {
    library = 1,  // a CUDA library in the process; text: its path
    route = 2,  // a way by which calls reach the hooks is live; text: exported-runtime, exported-driver, dlsym, lookup
    unknown_address = 3,  // a listed function was resolved to an address that the tool does not know; text: its name
    no_unwinder = 4,      // libunwind is missing: stacks end where it would be needed; text: why
    exports_off = 5,
    foreign_provider = 6,  // another library defines a listed function; calls to it are not seen; text: name and path
    bypassed = 7,  // an object's CUDA calls do not come to the hooks; text: its path and what it found by itself
    unlisted = 8,  // a function outside the list that moves or sets memory was found, perhaps called; text: its name
    device_times = 9,        // CUPTI gives device times; text: which library, and of what
    no_device_times = 10,    // from here on it does not; text: why
    some_device_times = 11,  // from here on of a sample; text: of which
    // How buffers in flight are followed; text: off, order, watch or trap, and where less than that was possible ": "
    // and why. Beside it, where accesses were to be trapped and could not be: "no trap: " and why.
    races = 12,
    watched_copies = 13,  // text: "N of M", copies of page-locked memory whose memory was watched
    // Reads of write-combined memory; text: "N of M; S samples, F faults": allocations that were sampled, of all, and
    // what the samples caught, stores and reads.
    sampled_reads = 14,
};

// What the tool could see, or could not.
struct CoverageRecord {
    CoverageKind kind;
    std::uint32_t text;  // string id
    std::uint64_t time_ns;
};

// What a frame is in the source, so that a report says it on another machine. One record for each function that was
// inlined at that address and one for the function itself.
struct SymbolRecord {
    std::uint32_t module;
    std::uint32_t level;     // 0: innermost
    std::uint64_t offset;    // as in Frame
    std::uint32_t function;  // string id, demangled; 0 when not known
    std::uint32_t file;      // string id; 0 when not known
    std::uint32_t line;      // 0 when not known
    std::uint32_t exact;     // 1: from debug information; 0: the nearest exported symbol
};
static_assert(sizeof(SymbolRecord) == 32);

enum StreamFlags : std::uint8_t {
    kStreamNonBlocking = 1u << 0,  // does not wait for the legacy default stream, nor that for it
};

// A stream that work was issued into. A handle that is destroyed and made again is another stream.
struct StreamRecord {
    std::uint32_t id;
    std::uint32_t site;     // where it was created; 0: not seen, or a default stream
    std::uint32_t context;  // 1, 2, …: in the order the contexts were seen; 0: not known
    std::uint32_t device;   // ordinal; kNoDevice: not known
    std::uint64_t handle;
    StreamKind kind;
    std::uint8_t flags;  // StreamFlags
    std::uint16_t reserved;
    std::uint32_t reserved2;
};
static_assert(sizeof(StreamRecord) == 32);
inline constexpr std::uint32_t kNoDevice = 0xffffffff;

enum class MemoryDetail : std::uint32_t {
    stack = 1,     // of the thread that copied
    file = 2,      // a mapped file; text: its path
    boundary = 3,  // value: bytes from the start of the copied range to where its page-locked part begins or ends
};

// More about the host memory of a site's first call.
struct MemoryRecord {
    std::uint32_t site;
    MemoryDetail detail;
    std::uint32_t text;  // string id; 0 when there is none
    std::uint32_t reserved;
    std::uint64_t value;
};
static_assert(sizeof(MemoryRecord) == 24);

}  // namespace pincheck::report
