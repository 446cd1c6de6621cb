// The reports of one job as one thing: sites of all processes and threads added up. Facts only; judgement is in
// findings.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/reader.h"

namespace pincheck {

// A source position of a frame; several when functions were inlined there, innermost first.
struct SourceLine {
    std::string function;  // demangled; "" when not known
    std::string file;      // as the debug information has it; "" when not known
    std::uint32_t line = 0;
    bool exact = false;        // from debug information, not the nearest exported symbol
    bool launch_stub = false;  // a kernel's host function, see launch_stubs.h
};

struct CaptureModule {
    std::string path;
    std::string build_id;  // hexadecimal
};

struct CaptureFrame {
    std::uint32_t module = kNoModule;  // index into Capture::modules
    std::uint64_t offset = 0;          // absolute address where there is no module
    std::vector<SourceLine> lines;     // empty until resolved
    static constexpr std::uint32_t kNoModule = 0xffffffff;
};

// One process of the job.
struct CaptureProcess {
    std::string file;  // the report's path
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::string executable;
    std::vector<std::string> command_line;
    std::string working_directory;
    std::string host;
    std::string options;
    std::string tool_version;
    std::uint32_t rank = report::kNoRank;
    bool after_cuda_fork = false;
    bool ended = false;             // its exit handlers ran
    std::uint64_t duration_ns = 0;  // from the first CUDA call to the last snapshot
    std::uint64_t start_realtime_ns = 0;
    std::uint64_t cuda_calls = 0;  // recorded ones
    struct Device {
        std::string name;
        std::uint32_t driver_version = 0;
        std::uint32_t ordinal = 0;
        std::uint32_t async_engines = 0;
        bool pageable_access = false;
        bool host_page_tables = false;
        bool integrated = false;
    };
    std::vector<Device> devices;
    struct Coverage {
        report::CoverageKind kind{};
        std::string text;
    };
    std::vector<Coverage> coverage;
    struct LossCount {
        report::Loss kind{};
        std::uint64_t count = 0;
        int error = 0;
    };
    std::vector<LossCount> losses;
    std::vector<std::string> problems;  // of reading the file
    // Threads that were inside a call when the report ends.
    struct InCall {
        std::uint32_t tid = 0;
        std::string name;
        std::string api;
        std::uint64_t since_ns = 0;  // before the last snapshot
    };
    std::vector<InCall> in_call;
    std::uint64_t pinned_bytes = 0;  // live at the end
    std::uint64_t pinned_ranges = 0;
    // Of its sites together:
    std::uint64_t held_ns = 0;  // in CaptureSite::waits, without idle_sync
    std::uint64_t copies = 0;
    std::uint64_t copied_bytes = 0;
};

// Calls of one site that held the host for the recorder's threshold or longer (idle_sync: for however long), by cause
// and by how the cause was found, over all processes and threads.
struct CaptureWait {
    report::WaitCause cause{};
    report::WaitEvidence evidence{};
    std::uint64_t calls = 0;
    std::uint64_t ns = 0;
    std::uint64_t ns_max = 0;
    std::uint64_t first_ns = 0;  // since the process's first CUDA call, the earliest
    std::uint64_t last_ns = 0;
    std::uint32_t threads = 0;
    // Of the longest call:
    std::uint32_t stream = 0;       // CaptureStream::id of the stream waited for; 0: none or not known
    std::uint32_t behind_site = 0;  // id of the site of the newest work before it, for `lock` of the other thread's
                                    // call; 0 when not known
    std::string kernel;             // that ran meanwhile; "" when not known
    std::uint64_t items = 0;        // queue_full: issued and not known complete, the most in any call
    std::vector<std::uint32_t> delayed_streams;  // ids of streams that the threads issued work into next, sorted
};

// Calls of one site by the bytes of one call: see report::size_class().
struct CaptureSize {
    std::uint16_t size_class = 0;
    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;      // of the calls that succeeded
    std::uint64_t bytes_min = 0;  // of one call
    std::uint64_t bytes_max = 0;
    std::uint64_t host_ns = 0;
    std::uint64_t host_ns_max = 0;
    std::uint64_t histogram[report::kHistogramBuckets] = {};

    // The bucket that holds the median call; kHistogramBuckets when there was no call.
    std::uint32_t median_bucket() const noexcept;
};

// What the device reported of one site's copies of one size class; only copies that could be matched with their calls.
struct CaptureTransfer {
    std::uint16_t size_class = 0;
    std::uint64_t copies = 0;
    std::uint64_t bytes = 0;
    std::uint64_t device_ns = 0;  // end - start on the device
    std::uint64_t device_ns_min = 0;
    std::uint64_t device_ns_max = 0;
    std::uint64_t calls = 0;          // that made these copies; what follows is of them
    std::uint64_t host_ns = 0;        // inside the calls
    std::uint64_t completion_ns = 0;  // from the call's start to the copy's end, or the call's end where that was later
    std::uint64_t before_ns = 0;      // inside the calls before the copy started on the device
    std::uint64_t during_ns = 0;      // inside the calls while the copy ran
    std::uint64_t returned_early = 0;  // calls that returned before their copy had ended
};

// A stream that work was issued into.
struct CaptureStream {
    std::uint32_t id = 0;       // 1, 2, …: position in Capture::streams plus one, stable for one set of files
    std::uint32_t process = 0;  // index into Capture::processes
    std::uint32_t site = 0;     // id of the site that created it; 0: not seen, or a default stream
    report::StreamKind kind{};
    std::uint32_t context = 0;                 // 1, 2, … of the process; 0 when not known
    std::uint32_t device = report::kNoDevice;  // ordinal
    bool non_blocking = false;
};

// A site's processes that are named, whatever their number.
inline constexpr std::size_t kNamedProcesses = 4;

// Calls of one place, over all processes and threads. Two sites are one when API, kind, direction, stream, memory,
// flags and stack (module path or build-id, and offset) agree.
struct CaptureSite {
    std::uint32_t id = 0;  // 1, 2, …: position in Capture::sites plus one, stable for one set of files
    std::string api;
    report::SiteKind kind{};
    report::Direction direction{};
    report::StreamKind stream{};
    report::SourceOrder source_order{};
    report::Memory destination{};
    report::Memory source{};
    std::uint16_t flags = 0;          // report::SiteFlags
    std::vector<CaptureFrame> stack;  // innermost first; empty for overflow sites
    bool stack_cut = false;

    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_min = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t host_ns = 0;
    std::uint64_t host_ns_max = 0;
    std::uint64_t then_synchronized = 0;
    std::uint64_t first_ns = 0;  // since the process's first CUDA call, the earliest
    std::uint64_t last_ns = 0;
    std::uint64_t histogram[report::kHistogramBuckets] = {};
    std::uint32_t last_error = 0;
    std::uint32_t threads = 0;
    std::uint32_t processes = 0;
    std::vector<std::uint32_t>
        in_processes;  // the first of them, kNamedProcesses at most; of Capture::processes, sorted
    // Of the host's memory in the first call: the file that it maps, whether it lies on the thread's stack, and for a
    // partly registered range the bytes to where the registration begins or ends; "", false and 0 when not known.
    std::string memory_file;
    bool memory_on_stack = false;
    std::uint64_t memory_boundary = 0;
    std::uint32_t allocation_site = 0;       // id of the site that page-locked the memory last copied; 0 when not known
    std::vector<CaptureWait> waits;          // most time first
    std::vector<CaptureSize> sizes;          // by size class
    std::vector<CaptureTransfer> transfers;  // by size class; none without the device's times
    std::uint32_t threads_held = 0;          // that are in `waits` with more than waits for nothing

    // The host's side of a copy; kind none for other sites.
    const report::Memory& host_memory() const noexcept {
        return direction == report::Direction::device_to_host ? destination : source;
    }
    bool is_async() const noexcept { return (flags & report::kSiteAsync) != 0; }
    // Put into a graph: copied nothing itself. Its launches are in a site of their own, which is_in_graph().
    bool is_captured() const noexcept { return (flags & report::kSiteCaptured) != 0; }
    bool is_in_graph() const noexcept { return (flags & report::kSiteInGraph) != 0; }
    // Lower bound of the histogram bucket that holds the median call.
    std::uint64_t median_ns() const noexcept;
};

// Races of one rule between the same two parties, found at one level and with the same flags, over all processes.
struct CaptureRace {
    report::RaceRule rule{};
    report::RaceLevel level{};
    std::uint16_t flags = 0;       // report::RaceFlags
    std::uint32_t copy_site = 0;   // id of the site of the copy that was in flight; never 0
    std::uint32_t other_site = 0;  // of what used its range too early; 0: none, or an access that was not seen itself
    std::uint64_t count = 0;
    std::uint64_t corrupting = 0;  // of these, by the device's times: the copy was still to come or running
    std::uint64_t latent = 0;      // of these, by the device's times: the copy had ended
    std::uint64_t first_ns = 0;    // since the process's first CUDA call, the earliest
    std::uint64_t last_ns = 0;
    std::uint32_t processes = 0;
    // Of the first:
    std::uint32_t process = 0;      // index into Capture::processes
    std::uint32_t pin_site = 0;     // id of the site that page-locked the host memory; 0: not, or not known
    std::uint32_t wait_site = 0;    // of the call that told the host, too late, that the copy was complete; 0: none did
    std::uint32_t after_site = 0;   // level watch: the access came after a call of this site …
    std::uint32_t before_site = 0;  // … and before one of this site ended; 0: not known
    std::uint32_t stream = 0;       // CaptureStream::id, of the copy; 0: not known
    std::uint32_t other_stream = 0;
    std::string call;  // system call or libc function that made the access; "": none
    std::uint64_t address = 0;
    std::uint64_t copy_bytes = 0;
    std::uint64_t begin = 0;  // of the part that both use, in the copy's range
    std::uint64_t end = 0;
    std::uint32_t thread = 0;  // the recorder's number of the thread that made the copy
    std::uint32_t other_thread = 0;
    std::uint64_t graph_launches = 0;

    bool has(report::RaceFlags flag) const noexcept { return (flags & flag) != 0; }
};

// Reads from memory that was requested write-combined, made at one place, over all processes. What is counted is the
// samples that caught it.
struct CaptureRead {
    std::uint32_t site = 0;      // id of the site, of kind host-access; never 0
    std::uint32_t pin_site = 0;  // of the site that allocated the memory; 0: not known
    std::string call;            // system call or libc function that read; "": an instruction
    std::uint64_t samples = 0;
    std::uint64_t first_ns = 0;  // since the process's first CUDA call, the earliest
    std::uint64_t last_ns = 0;
    std::uint32_t processes = 0;
    // Of the first:
    std::uint32_t process = 0;  // index into Capture::processes
    std::uint32_t thread = 0;   // the recorder's number; 0: of a thread that made no CUDA call
    std::uint64_t address = 0;  // of the allocation
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  // of what was read, in the allocation
    std::uint64_t end = 0;
};

struct Capture {
    std::vector<CaptureProcess> processes;
    std::vector<CaptureModule> modules;
    std::vector<CaptureSite> sites;
    std::vector<CaptureStream> streams;  // by process, in the order in which the process used them
    std::vector<CaptureRace> races;      // by rule, then by the ids of their sites
    std::vector<CaptureRead> reads;      // by the ids of their sites
    std::string since;                   // the mark that it begins at (marks.h); "": it is of the whole runs

    std::uint64_t total_host_ns() const noexcept;  // in all recorded calls; a graph's copies are in its launches
};

struct LoadResult {
    Capture capture;
    // One line per file that could not be read, each with the next step.
    std::vector<std::string> errors;
};

// Loads and merges. A path may be a folder, all *.pcr in it (not deeper), or a process id (live_process.h). Symbols
// that a report carries are filled into the frames. `since`: of a mark, what came after it; no report has it: no
// capture.
LoadResult load_capture(const std::vector<std::string>& paths, const std::string& since = "");

// The same of what came since the last call with `before`, by file, which is then of now; all of it for files that it
// does not have yet.
LoadResult load_next(const std::vector<std::string>& paths, std::map<std::string, report::Report>& before);

}  // namespace pincheck
