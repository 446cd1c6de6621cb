// Finds the processor's writes into buffers while a copy of theirs is in flight. Knows nothing of CUDA: the caller says
// what memory there is (add_memory(), once for each page-locked range), when a copy of a buffer begins (arm()) and when
// the host has learned that it is complete (retire()).
//
// A source may not be written: its whole range is watched. Where it shares its first or last page with others, a copy
// of its bytes there is compared; there, and with checksums, a write of the value that was there before goes unseen. A
// destination is written by the device, whose DMA leaves no mark in the page tables (measured: H200, driver
// 580.159.04), so any mark is the processor's; its parts of shared pages cannot be judged so and are counted as
// unwatched. What kernel_page_watch.h cannot see is not seen here either: above all what other processes write.
//
// Several watches may be on one page. Arming protects it anew, so what was written until then is given to the watches
// that are there; retiring lifts the protection where none is left.
//
// Where the kernel does not help (refusal()), sources up to a size are judged by a checksum.
//
// Marks: each call brings a value of the caller's, such as the number of the CUDA call it belongs to. A finding says
// under which mark a write was found and under which one the buffer was last seen unwritten: it happened in between.
// Looking for another watch counts as well.
//
// Thread rules: any member from any thread, after open(). One lock, held over system calls on the watched memory and,
// for checksums, over reading it (0.2 ms a MiB); no call out of the unit. In a fork's child every member does nothing
// (a MADV_WIPEONFORK page tells), close_in_child() closes the child's copies of the descriptors.
// No heap. errno may change. A thread cannot be cancelled in here, but in open(). Nothing here faults on memory that is
// gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "edge_bytes.h"
#include "kernel_page_watch.h"
#include "report/mutex.h"
#include "watch_pages.h"
#include "watched_memory.h"

namespace pincheck {

struct WatchSettings {
    bool use_kernel = true;
    bool use_checksums = true;
    std::uint64_t most_checksum_bytes = std::uint64_t{1} << 20;
    // Registering a part of a mapping splits it. 0: half of what /proc/sys/vm/max_map_count allows the process.
    std::uint32_t most_mappings = 0;
};

struct WatchTicket {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    explicit operator bool() const noexcept { return index != 0; }
};

struct WatchRequest {
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
    WatchedSide side = WatchedSide::source;
    bool write_combined = false;  // never read, never watched
    std::uint64_t mark = 0;
    bool pageable = false;  // a source that was not added: registered as long as it is watched
};

// Why a buffer, or a part of one, is not watched.
enum class Unwatched : std::uint8_t {
    none,
    off,             // not open, or in a fork's child
    write_combined,  // the kernel cannot (EINVAL), and reading it is slow
    not_added,       // not within one range of add_memory()
    capped,          // in memory past the cap on mappings, too large for a checksum
    busy,            // in memory that the program watches itself
    refused,         // in memory that cannot be protected page by page
    no_help,         // a destination, and the kernel does not help
    too_large,       // for a checksum
    shared_page,     // of a destination: in pages that it does not have for itself; of a pageable source: in added ones
    no_room,         // the tables are full
    mapping_gone,    // nothing is there to be read or protected
    count
};

struct Armed {
    WatchTicket ticket;  // empty: not watched at all
    Unwatched why = Unwatched::none;
    std::uint64_t unwatched_bytes = 0;
    explicit operator bool() const noexcept { return static_cast<bool>(ticket); }
};

enum class WatchEnd : std::uint8_t {
    complete,      // watched until now
    released,      // remove_memory() came first: what was found is of until then
    mapping_gone,  // unmapped in flight, at least in part
    lost,          // not known: the program closed the descriptors, or the kernel has no memory for an answer
    unknown,       // no such ticket, or a fork's child
};

struct WatchFinding {
    WatchEnd end = WatchEnd::unknown;
    // The lowest written range, relative to the buffer; of pages that were the buffer's own, whole pages. Empty: none.
    std::uint64_t begin = 0;
    std::uint64_t end_byte = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t written_pages = 0;
    bool exact = true;    // false: written_bytes and written_pages are the most it can be
    bool located = true;  // false: by checksum, it is not known where
    std::uint64_t unwatched_bytes = 0;
    std::uint64_t found_mark = 0;   // of the call that found the first write, where there is one
    std::uint64_t before_mark = 0;  // of the last call before it that looked at all of the buffer
    std::uint64_t found_ns = 0;     // the write was made before that time, and not before the next
    std::uint64_t before_ns = 0;
    std::uint64_t faulted_pages = 0;  // found dirty by this call; of retire(): about as many page faults
    bool written() const noexcept { return written_bytes != 0; }
};

struct WatchStats {
    WatchRefusal refusal = WatchRefusal::off;
    std::uint64_t armed = 0;
    std::uint64_t by_checksum = 0;  // of them
    std::uint64_t retired = 0;
    std::uint64_t written = 0;   // of them
    std::uint64_t released = 0;  // of them, like the next
    std::uint64_t mapping_gone = 0;
    std::uint64_t lost = 0;
    std::uint64_t unwatched[static_cast<std::size_t>(Unwatched::count)] = {};  // arm() calls, wholly or in part
    std::uint64_t unwatched_bytes = 0;
    std::uint64_t ranges_capped = 0;  // add_memory() calls
    std::uint64_t ranges_busy = 0;
    std::uint64_t ranges_refused = 0;
    std::uint64_t ranges_forgotten = 0;  // no room in the table
    std::uint64_t ranges_stale = 0;      // found in the place of a new one: their release was not seen
    std::uint32_t ranges = 0;            // now
    std::uint32_t mappings = 0;          // that registrations may have added, now
    std::uint32_t most_mappings = 0;
    std::uint32_t watches = 0;  // armed now
};

class WriteWatch {
  public:
    WriteWatch() = default;
    WriteWatch(const WriteWatch&) = delete;
    WriteWatch& operator=(const WriteWatch&) = delete;
    ~WriteWatch();

    // Once, before everything else. False: nothing will be watched, not even by checksum; refusal() says why there is
    // no help of the kernel's.
    bool open(const WatchSettings& settings) noexcept;
    WatchRefusal refusal() const noexcept { return refusal_.load(std::memory_order_relaxed); }
    // First thing in a fork's child that knows of its parent's object. Takes no lock. Not after vfork.
    void close_in_child() noexcept;

    // Page-locked memory came to be: after the real call, where it succeeded. Not for write-combined memory.
    MemoryState add_memory(std::uintptr_t address, std::uint64_t bytes) noexcept;
    // It goes: before the real call. Returns how many watches were on it; these end here and say `released`.
    std::uint32_t remove_memory(std::uintptr_t address, std::uint64_t mark) noexcept;

    // Before the copy is issued: a write from another thread between the two is none into a buffer in flight, but a
    // write after the copy began is never missed.
    Armed arm(const WatchRequest& request) noexcept;
    // What was found until now.
    WatchFinding check(WatchTicket ticket, std::uint64_t mark) noexcept;
    // The same, and ends the watch: before the program may touch the buffer again.
    WatchFinding retire(WatchTicket ticket, std::uint64_t mark) noexcept;

    WatchStats stats() noexcept;

  private:
    using Answer = KernelPageWatch::Answer;
    static constexpr std::uint32_t kFewRegions = 16;
    static constexpr std::uint32_t kRegions = 512;  // the kernel's own portion
    static constexpr std::size_t kScratchBytes = 64 * 1024;
    static constexpr int kMostRemarked = 64;

    bool is_usable() const noexcept { return live_ != nullptr && live_->load(std::memory_order_relaxed) != 0; }
    Armed not_armed(Unwatched why, std::uint64_t bytes) noexcept;
    Armed arm_pages(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept;
    Armed arm_pageable(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept;
    void unregister_unwatched(std::uintptr_t first, std::uintptr_t end) noexcept;
    Armed arm_checksum(const WatchRequest& request) noexcept;
    Armed armed(Watch& watch, Unwatched why) noexcept;
    void forget(Watch& watch) noexcept;
    void lose() noexcept;
    std::uint32_t end_watches(const MemoryRange& range, WatchEnd end, std::uint64_t mark) noexcept;

    Watch* looked_at(WatchTicket ticket, std::uint64_t mark, std::uint64_t& dirty_pages) noexcept;

    // write_watch_scan.cpp
    Answer scan_and_share(std::uintptr_t begin, std::uintptr_t end, bool protect, std::uint64_t mark,
                          std::uint64_t& dirty_pages) noexcept;
    void give(Watch& watch, std::uintptr_t begin, std::uintptr_t end, std::uint64_t mark) noexcept;
    std::uint64_t compare_edge(Watch& watch, WatchEdge& edge) noexcept;
    void look(Watch& watch, std::uint64_t mark, std::uint64_t& dirty_pages) noexcept;
    bool checksum(std::uintptr_t address, std::uint64_t bytes, std::uint64_t& sum) noexcept;
    void unprotect_unwatched(Watch& watch) noexcept;
    WatchFinding finding(const Watch& watch) const noexcept;

    Mutex mutex_;
    std::atomic<std::uint32_t>* live_ = nullptr;  // 0 in a fork's child
    std::atomic<WatchRefusal> refusal_{WatchRefusal::off};
    WatchSettings settings_;
    KernelPageWatch kernel_;
    WatchedMemory memory_;
    WatchPages pages_;
    EdgeBytes edges_;
    WatchStats stats_;
    unsigned char* scratch_ = nullptr;
    std::uintptr_t page_in_scratch_ = 0;
    bool page_was_readable_ = false;
    uffd::PageRegion regions_[kRegions];
};

}  // namespace pincheck
