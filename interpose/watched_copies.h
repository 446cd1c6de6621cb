// Host memory of copies in flight, watched for accesses by the processor (options races=watch and trap): which copies
// are watched, from right before the driver's call until the host knows that they are complete, and what was found.
// Trapped (access_trap.h) where that is wanted and can be; else the kernel's record of written pages (write_watch.h).
//
// A watch ends where the host learns that its copy is complete: before the hook of the call that told it returns, and
// before a host function's own code runs. Nobody may have touched the memory before that, whatever the device had done.
//
// Thread rules: every member from any thread. One lock, held while the memory is looked at: who learns the same from
// another call must not go on before that. errno is kept. No CUDA call is made.
#pragma once

#include <atomic>
#include <cstdint>

#include "access_trap.h"
#include "combined_memory.h"
#include "combined_reads.h"
#include "races.h"
#include "report/image.h"
#include "report/mutex.h"
#include "streams.h"
#include "trap_session.h"
#include "watch_budget.h"
#include "write_watch.h"

namespace pincheck {

class WatchedCopies {
  public:
    static constexpr std::uint32_t kMax = 1024;  // at one time

    WatchedCopies(report::Image& image, Streams& streams, Races& races) noexcept
        : image_(image), streams_(streams), races_(races) {}
    WatchedCopies(const WatchedCopies&) = delete;
    WatchedCopies& operator=(const WatchedCopies&) = delete;

    // Once, before the program's first call goes on. False: nothing is watched.
    bool open(WatchBudget::Policy policy, std::uint64_t permille, std::uint64_t now_ns) noexcept;
    WatchRefusal refusal() const noexcept { return watch_.refusal(); }
    bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
    // What the driver says of a device, before the first watch of a copy of its own. One that goes through the host's
    // page tables (CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) leaves the host's marks there, and
    // what is taken from the host is taken from it: nothing is watched from then on.
    void set_device(bool uses_host_page_tables) noexcept;
    bool is_stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }
    // The same before open(), with accesses trapped. Not `none`: they are not.
    TrapRefusal open_trap(State& state) noexcept;
    TrapRefusal trap_refusal() const noexcept { return trap_refusal_; }
    bool traps(WatchedSide side) const noexcept { return trap_refusal_ == TrapRefusal::none && trap_.traps(side); }
    // In a fork's child, of its parent's object.
    void close_in_child() noexcept {
        watch_.close_in_child();
        trap_.close_in_child();
    }

    // Page-locked memory came to be, after the call; or goes, before it.
    void memory_made(std::uintptr_t address, std::uint64_t bytes) noexcept;
    // The same of memory that was requested write-combined, by the site `pin_site`; and after a copy from it or to it.
    // `device_known`: set_device() was told of the device that uses it.
    void combined_made(std::uintptr_t address, std::uint64_t bytes, std::uint32_t pin_site, bool device_known) noexcept;
    void combined_used(std::uintptr_t address, bool device_known) noexcept;
    CombinedMemory::Counts combined_counts() const noexcept { return combined_.counts(); }
    void memory_goes(std::uintptr_t address, std::uint32_t site) noexcept;

    // Whether this copy of the site is one to be watched; it is counted. `now_ns` may be some microseconds old.
    bool wants(std::uint32_t site, std::uint64_t now_ns) noexcept {
        if (site == 0 || site >= kSites || !is_open()) {
            return false;
        }
        if (budget_->wants(sites_[site], now_ns)) {
            return true;
        }
        passed_over_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    // Before the driver's call that makes such a copy; of a pageable source, which is read inside that call, after it.
    // The request's mark is the site. Empty: this one is not watched.
    WatchTicket begin(const WatchRequest& request) noexcept;
    void count_unwatched() noexcept { unwatched_.fetch_add(1, std::memory_order_relaxed); }
    // After it. `use.ticket` empty: there is no copy, or none that is followed.
    void issued(WatchTicket watch, const RangeUse& use) noexcept;

    // The host has learned that work is complete; site 0: the call that told it has none.
    bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
    void learned(std::uint32_t site) noexcept;
    // Contexts may be about to end, and their memory with them.
    void contexts_may_end() noexcept;
    // The process ends, or contexts do (`context` and `device`: of which; 0 and -1: any): nobody learned of the rest.
    // Memory that is gone by then went with its context.
    void ended(std::uintptr_t context, int device) noexcept;

    // Copies that were not watched, of those that might have been: for want of budget, and because it could not be.
    std::uint64_t passed_over() const noexcept { return passed_over_.load(std::memory_order_relaxed); }
    std::uint64_t watched() const noexcept { return watched_.load(std::memory_order_relaxed); }
    std::uint64_t unwatched() const noexcept { return unwatched_.load(std::memory_order_relaxed); }

  private:
    // Sites beyond are not watched: their calls could not be told apart.
    static constexpr std::uint32_t kSites = 65536;
    struct Copy {
        WatchTicket watch;  // empty: free
        RangeUse use;
    };

    void end(Copy& copy, std::uint32_t site, bool with_context = false) noexcept;
    void judge(const WatchFinding& finding, const RangeUse& use, std::uint32_t site, bool with_context) noexcept;
    void judge(const TrapFinding& finding, const RangeUse& use, std::uint32_t site, bool with_context) noexcept;
    void forget(WatchTicket watch) noexcept;

    report::Image& image_;
    Streams& streams_;
    Races& races_;
    std::atomic<bool> open_{false};
    std::atomic<bool> stopped_{false};
    TrapRefusal trap_refusal_ = TrapRefusal::off;
    AccessTrap trap_;
    CombinedReads combined_reads_{image_};
    CombinedMemory combined_{trap_, &may_sample_reads};
    WriteWatch watch_;
    WatchBudget* budget_ = nullptr;
    alignas(WatchBudget) unsigned char budget_room_[sizeof(WatchBudget)];
    WatchSite* sites_ = nullptr;
    Mutex mutex_;  // of what follows
    Copy copies_[kMax];
    std::uint32_t used_ = 0;  // places that were ever used
    std::atomic<std::uint32_t> count_{0};
    std::atomic<std::uint64_t> watched_{0};
    std::atomic<std::uint64_t> passed_over_{0};
    std::atomic<std::uint64_t> unwatched_{0};
};

}  // namespace pincheck
