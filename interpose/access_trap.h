// Catches the processor's accesses to buffers while a copy of theirs is in flight, at the instruction or system call
// that makes them (option races=trap). Knows nothing of CUDA, and catches nothing itself: trap_session.h takes the
// signals and faults, and tells of each access here.
//
// A source may not be written: stores into its pages wait for an answer (write_faults.h). Of the bytes in pages that it
// shares with others, those that were changed after a neighbour's store had lifted the protection are compared.
//
// A destination may not be touched: all rights are taken from the pages that it has for itself (mprotect; DMA is not
// disturbed: measured, H200, driver 580.159.04). Its parts of shared pages are not guarded, and counted. Only of memory
// that is readable and writable: those are the rights that it is given back.
//
// Of memory that was requested write-combined no source is guarded (the kernel refuses: EINVAL). Reads of it, which are
// slow, are looked for at times that the owner chooses: a sample takes all rights from its pages, and tells of what
// reads them. Stores are let go on and not told of; x86-64 has no right to write without the right to read. An
// instruction that reads and writes the same bytes counts as a store (the fault says so).
//
// Who is inside a system call on such memory holds it: a page that is closed meanwhile would make the call fail.
//
// What is caught is let go on: its page is released for all copies, so each page tells of one access, and a copy whose
// pages tell of too many is released as a whole.
//
// Thread rules: any member from any thread, after open(); look() and release() in signal handlers too, where no member
// is below them on the stack: nothing here touches the memory that it guards. One lock, held over system calls. In a
// fork's child, whose memory has the guards and not who answers for them, release() gives the rights back and every
// other member does nothing. No heap. errno may change.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "edge_bytes.h"
#include "read_sample.h"
#include "report/mutex.h"
#include "watch_pages.h"
#include "watched_memory.h"
#include "write_faults.h"
#include "write_watch.h"

namespace pincheck {

struct TrapAccess {
    std::uintptr_t address = 0;
    std::size_t bytes = 1;
    bool writes = false;
    bool in_system_call = false;
    bool is_nobodys = false;    // the driver's own, or the tool's: let go on, and not told of
    std::uint32_t site = 0;     // of kind host-access; 0: not known
    std::uint32_t thread = 0;   // ThreadSlot::thread; 0: not known
    std::uint32_t call = 0;     // string id of the function or system call; 0: an instruction
    std::uint64_t when_ns = 0;  // when it was caught
};

// Accesses by one site to one buffer: from the first to the last byte that was seen, relative to it.
struct TrapCulprit {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    TrapAccess access;
};

struct TrapFinding {
    static constexpr std::uint32_t kMost = 4;

    WatchEnd end = WatchEnd::unknown;
    std::uint32_t count = 0;
    TrapCulprit culprits[kMost];
    // Changed where a neighbour's store had lifted the protection: by whom is not known.
    std::uint64_t changed_begin = 0;
    std::uint64_t changed_end = 0;
    std::uint32_t faults = 0;
    bool is_changed() const noexcept { return changed_begin < changed_end; }
};

// A read of memory whose reads are looked for: `culprit` is relative to what is looked at.
struct SampledRead {
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t pin_site = 0;
    TrapCulprit culprit;
};
// Called where the access was caught, which may be in a signal handler.
using SampledReadTeller = void (*)(void* context, const SampledRead& read) noexcept;

struct ReadRequest {
    std::uintptr_t address = 0;  // of memory that was added as write-combined, as a whole
    std::uint64_t bytes = 0;
    std::uintptr_t near = 0;  // in it: where to look if it is too large
    std::uint32_t pin_site = 0;
};

class AccessTrap {
  public:
    static constexpr std::uint32_t kMostGuards = 256;  // destinations at one time: each may split a mapping in three
    static constexpr std::uint32_t kMostHolds = 64;
    // Looked at for reads at one time: taking and giving the rights of more takes a millisecond (measured: H200's host,
    // 0.5 ms for each of the two).
    static constexpr std::uint64_t kMostSampledBytes = std::uint64_t{64} << 20;
    static constexpr std::uint32_t kMostFaults = 64;  // of one copy, then it is released as a whole

    AccessTrap() = default;
    AccessTrap(const AccessTrap&) = delete;
    AccessTrap& operator=(const AccessTrap&) = delete;
    ~AccessTrap();

    // Once, before everything else. `destinations`: accesses to them are told of. False: neither can be trapped.
    bool open(bool sources, bool destinations) noexcept;
    bool traps(WatchedSide side) const noexcept {
        return side == WatchedSide::source ? faults_.is_open() : destinations_wanted_;
    }
    void close_in_child() noexcept;
    // Whoever serves the faults waits there.
    WriteFaults& faults() noexcept { return faults_; }

    // As WriteWatch's: page-locked memory came to be, or goes. The latter ends the watches on it.
    void add_memory(std::uintptr_t address, std::uint64_t bytes, bool write_combined = false) noexcept;
    void remove_memory(std::uintptr_t address) noexcept;

    // A ticket is known by the trap that gave it.
    Armed arm(const WatchRequest& request) noexcept;
    TrapFinding retire(WatchTicket ticket) noexcept;
    // Who is told of reads; before the first sample.
    void tell_reads(SampledReadTeller teller, void* context) noexcept;
    // Begins to look for reads. The ticket is retired like a copy's; what was found has been told by then.
    Armed arm_reads(const ReadRequest& request) noexcept;
    std::uint64_t sample_faults() const noexcept { return sample_faults_.load(std::memory_order_relaxed); }
    static bool is_own(WatchTicket ticket) noexcept { return (ticket.index & kOwn) != 0; }
    // From now on no destination is guarded: the signals do not come any more.
    void stop_guarding() noexcept;

    // Changes whenever pages are protected.
    std::uint64_t arms() const noexcept { return arms_.load(std::memory_order_relaxed); }
    // Quickly: nothing in [begin, begin + bytes) can be memory that was ever added.
    bool is_elsewhere(std::uintptr_t begin, std::size_t bytes) const noexcept {
        return begin >= high_.load(std::memory_order_relaxed) || begin + bytes <= low_.load(std::memory_order_relaxed);
    }
    bool is_any_armed() const noexcept { return armed_.load(std::memory_order_relaxed) != 0; }
    enum class Target : std::uint8_t {
        foreign,  // no memory of ours
        idle,     // nobody wants to be told of it
        minded,   // a copy in flight does, or reads are looked for
    };
    Target look(std::uintptr_t address, std::size_t bytes, bool writes) noexcept;
    // The access is about to go on: told to the copies that mind it, and its pages are released.
    void release(const TrapAccess& access) noexcept;
    // A system call is about to use the memory, before its release(). Returns the number of the hold: `held`, if that
    // is one of the same call, else a new one; 0: none is needed.
    std::uint32_t hold(std::uint32_t held, std::uintptr_t address, std::size_t bytes) noexcept;
    void let_go(std::uint32_t held) noexcept;
    // [begin, begin + bytes) is about to get other rights from the program, or to be unmapped: copies that have a part
    // of it are not followed any further, and its memory is never guarded again.
    void give_up(std::uintptr_t begin, std::size_t bytes, bool unmapped) noexcept;

  private:
    static constexpr std::uint32_t kOwn = 1u << 31;
    static constexpr std::uint32_t kGuard = 1u << 30;

    struct Notes {
        std::uint32_t count;
        std::uint32_t faults;
        bool head_lifted;
        bool tail_lifted;
        bool released;  // as a whole
        TrapCulprit culprits[TrapFinding::kMost];
        ReadSample sample;
        std::uint32_t pin_site;
    };
    struct Hold {
        std::uintptr_t begin;
        std::uintptr_t end;  // not above: free
    };

    bool is_usable() const noexcept { return live_ != nullptr && live_->load(std::memory_order_relaxed) != 0; }
    Armed arm_source(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept;
    Armed arm_destination(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept;
    void count_armed() noexcept;
    Notes& notes_of(const Watch& watch) const noexcept {
        return (watch.side == WatchedSide::source ? source_notes_ : guard_notes_)[watch.index];
    }
    // The culprit that was not known yet; null: none.
    const TrapCulprit* note(Watch& watch, const TrapAccess& access) noexcept;
    void take_out(WatchPages& pages, Watch& watch) noexcept;
    void close_pages(const Watch& watch, std::uintptr_t begin, std::uintptr_t end) noexcept;
    static constexpr std::size_t kMostTold = 8;  // as a rule one: each is memory of its own
    std::size_t release_pages(const TrapAccess& access, SampledRead (&told)[kMostTold]) noexcept;
    bool release_sampled(Watch& watch, const TrapAccess& access, SampledRead& told) noexcept;
    void narrow(Watch& watch) noexcept;
    bool is_held(std::uintptr_t begin, std::uintptr_t end) const noexcept;
    void lift(Watch& watch, std::uintptr_t begin, std::uintptr_t end) noexcept;
    void lift_gaps(Watch& watch) noexcept;
    void end_watches(WatchPages& pages, const MemoryRange& range, WatchEnd end) noexcept;
    void compare(Watch& watch, TrapFinding& finding) noexcept;
    void release_in_child(const TrapAccess& access) noexcept;

    Mutex mutex_;
    std::atomic<std::uint32_t>* live_ = nullptr;  // 0 in a fork's child
    bool destinations_wanted_ = false;
    WriteFaults faults_;
    WatchedMemory memory_;
    WatchPages sources_;
    WatchPages guards_;
    EdgeBytes edges_;
    Notes* source_notes_ = nullptr;
    Notes* guard_notes_ = nullptr;
    std::uint32_t samples_ = 0;  // in guards_
    SampledReadTeller teller_ = nullptr;
    void* teller_context_ = nullptr;
    bool any_combined_ = false;
    Hold holds_[kMostHolds] = {};
    std::uint32_t holds_beyond_ = 0;  // that found no room
    std::atomic<std::uint64_t> sample_faults_{0};
    std::atomic<std::uint64_t> arms_{0};
    std::atomic<std::uint32_t> armed_{0};
    std::atomic<std::uintptr_t> low_{UINTPTR_MAX};
    std::atomic<std::uintptr_t> high_{0};
};

}  // namespace pincheck
