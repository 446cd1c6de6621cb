#include "watched_copies.h"

#include <mutex>  // lock_guard
#include <new>

#include "clock.h"
#include "log.h"
#include "memory.h"

namespace pincheck {

using report::RaceRule;

TrapRefusal WatchedCopies::open_trap(State& state) noexcept {
    const KeepErrno keep;
    trap_.tell_reads(
        [](void* reads, const SampledRead& read) noexcept { static_cast<CombinedReads*>(reads)->add(read); },
        &combined_reads_);
    return trap_refusal_ = pincheck::open_trap(state, trap_);
}

bool WatchedCopies::open(WatchBudget::Policy policy, std::uint64_t permille, std::uint64_t now_ns) noexcept {
    const KeepErrno keep;
    sites_ = map_array<WatchSite>(kSites);
    // One of the two has the sources: the kernel lets only one have a page.
    const bool all_trapped = traps(WatchedSide::source) && traps(WatchedSide::destination);
    if (sites_ == nullptr || (!all_trapped && !watch_.open(WatchSettings{}) && !traps(WatchedSide::destination))) {
        return false;
    }
    budget_ = new (budget_room_) WatchBudget(policy, now_ns, permille);
    open_.store(true, std::memory_order_release);
    return true;
}

void WatchedCopies::memory_made(std::uintptr_t address, std::uint64_t bytes) noexcept {
    if (is_open()) {
        const KeepErrno keep;
        if (trap_refusal_ == TrapRefusal::none) {
            trap_.add_memory(address, bytes);
        }
        watch_.add_memory(address, bytes);
    }
}

// The kernel cannot watch such memory (EINVAL).
void WatchedCopies::combined_made(std::uintptr_t address, std::uint64_t bytes, std::uint32_t pin_site,
                                  bool device_known) noexcept {
    if (is_open() && traps(WatchedSide::destination)) {
        const KeepErrno keep;
        combined_.made(address, bytes, pin_site, device_known);
    }
}

void WatchedCopies::combined_used(std::uintptr_t address, bool device_known) noexcept {
    if (!is_open() || !device_known || !traps(WatchedSide::destination)) {
        return;
    }
    const KeepErrno keep;
    if (!has_trap_signal()) {
        trap_.stop_guarding();
    }
    combined_.used(address);
}

void WatchedCopies::set_device(bool uses_host_page_tables) noexcept {
    if (uses_host_page_tables) {
        open_.store(false, std::memory_order_relaxed);
        stopped_.store(true, std::memory_order_relaxed);
        contexts_may_end();
    }
}

// Whether anything is watched by now or not: a sample must not outlive its memory.
void WatchedCopies::contexts_may_end() noexcept {
    if (trap_refusal_ == TrapRefusal::none) {
        const KeepErrno keep;
        combined_.end_all();
    }
}

void WatchedCopies::memory_goes(std::uintptr_t address, std::uint32_t site) noexcept {
    if (trap_refusal_ == TrapRefusal::none) {
        const KeepErrno keep;
        combined_.goes(address);
    }
    if (!is_open()) {
        return;
    }
    const KeepErrno keep;
    if (trap_refusal_ == TrapRefusal::none) {
        trap_.remove_memory(address);
    }
    watch_.remove_memory(address, site);
    if (any()) {
        learned(site);  // what was found until now; the watches themselves are over
    }
}

WatchTicket WatchedCopies::begin(const WatchRequest& request) noexcept {
    const KeepErrno keep;
    const std::uint64_t start = now_ns();
    if (traps(WatchedSide::destination) && request.side == WatchedSide::destination && !has_trap_signal()) {
        trap_.stop_guarding();
    }
    const Armed armed = traps(request.side) ? trap_.arm(request) : watch_.arm(request);
    budget_->spent(now_ns() - start, 0);
    if (!armed) {
        unwatched_.fetch_add(1, std::memory_order_relaxed);
    }
    return armed.ticket;
}

void WatchedCopies::issued(WatchTicket watch, const RangeUse& use) noexcept {
    const KeepErrno keep;
    const bool followed = static_cast<bool>(use.ticket);
    // Behind a host function, or whatever waits for the host: what it does to the memory is right.
    if (followed && streams_.is_armed(use.ticket)) {
        const std::lock_guard lock(mutex_);
        Copy* place = nullptr;
        for (std::uint32_t i = 0; i < used_ && place == nullptr; ++i) {
            place = copies_[i].watch ? nullptr : &copies_[i];
        }
        if (place == nullptr && used_ < kMax) {
            place = &copies_[used_++];
        }
        if (place != nullptr) {
            *place = {watch, use};
            count_.fetch_add(1, std::memory_order_relaxed);
            watched_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    const std::uint64_t start = now_ns();
    forget(watch);
    budget_->spent(now_ns() - start, 0);
    if (followed) {
        unwatched_.fetch_add(1, std::memory_order_relaxed);
    }
}

void WatchedCopies::forget(WatchTicket watch) noexcept {
    if (AccessTrap::is_own(watch)) {
        trap_.retire(watch);
    } else {
        watch_.retire(watch, 0);
    }
}

void WatchedCopies::learned(std::uint32_t site) noexcept {
    const KeepErrno keep;
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < used_; ++i) {
        if (copies_[i].watch && streams_.is_known_complete(copies_[i].use.ticket)) {
            end(copies_[i], site);
        }
    }
}

void WatchedCopies::ended(std::uintptr_t context, int device) noexcept {
    contexts_may_end();
    if (!any()) {
        return;
    }
    const KeepErrno keep;
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < used_; ++i) {
        if (copies_[i].watch && streams_.is_in(copies_[i].use.ticket, context, device)) {
            end(copies_[i], 0, context != 0 || device >= 0);
        }
    }
}

// With the lock held.
void WatchedCopies::end(Copy& copy, std::uint32_t site, bool with_context) noexcept {
    // The kernel's part of a trapped access and the switches of threads (measured: H200's host, 100 to 150 us).
    constexpr std::uint64_t kTrapFaults = 100'000 / WatchBudget::kFaultNs;
    const std::uint64_t start = now_ns();
    if (AccessTrap::is_own(copy.watch)) {
        const TrapFinding finding = trap_.retire(copy.watch);
        budget_->spent(now_ns() - start, finding.faults * kTrapFaults);
        judge(finding, copy.use, site, with_context);
    } else {
        const WatchFinding finding = watch_.retire(copy.watch, site);
        budget_->spent(now_ns() - start, finding.faulted_pages);
        judge(finding, copy.use, site, with_context);
    }
    copy.watch = {};
    count_.fetch_sub(1, std::memory_order_relaxed);
}

void WatchedCopies::judge(const TrapFinding& finding, const RangeUse& use, std::uint32_t site,
                          bool with_context) noexcept {
    FoundRace race;
    race.copy = use;
    race.wait_site = finding.end == WatchEnd::complete ? site : 0;
    for (std::uint32_t i = 0; i < finding.count; ++i) {
        const TrapCulprit& culprit = finding.culprits[i];
        race.level = report::RaceLevel::trap;
        race.rule = !use.writes()           ? RaceRule::source_overwritten_in_flight
                    : culprit.access.writes ? RaceRule::destination_overwritten_in_flight
                                            : RaceRule::destination_read_in_flight;
        race.flags = static_cast<std::uint16_t>((culprit.access.in_system_call ? report::kRaceInSystemCall : 0) |
                                                (races_.may_be_awaited(use) ? report::kRacePresumed : 0));
        race.other_site = culprit.access.site;
        race.other_thread = culprit.access.thread;
        race.call = culprit.access.call;
        race.access_begin_ns = race.access_end_ns = culprit.access.when_ns;
        race.begin = culprit.begin;
        race.end = culprit.end;
        races_.add(race);
    }
    WatchFinding rest;
    rest.end = finding.end;
    rest.begin = finding.changed_begin;
    rest.end_byte = finding.changed_end;
    rest.written_bytes = finding.changed_end - finding.changed_begin;
    judge(rest, use, site, with_context);
}

void WatchedCopies::judge(const WatchFinding& finding, const RangeUse& use, std::uint32_t site,
                          bool with_context) noexcept {
    const bool gone = finding.end == WatchEnd::mapping_gone && !with_context;
    if (!finding.written() && !gone) {
        if (finding.end == WatchEnd::lost) {
            unwatched_.fetch_add(1, std::memory_order_relaxed);
        }
        return;
    }
    FoundRace race;
    race.level = report::RaceLevel::watch;
    race.rule = (use.flags & kUsePageable) != 0 ? RaceRule::relies_on_staging
                : gone                          ? RaceRule::released_in_flight
                : use.writes()                  ? RaceRule::destination_overwritten_in_flight
                                                : RaceRule::source_overwritten_in_flight;
    race.flags = static_cast<std::uint16_t>((gone ? report::kRaceReleased : 0) |
                                            (finding.located || gone ? 0 : report::kRaceByChecksum) |
                                            (!gone && races_.may_be_awaited(use) ? report::kRacePresumed : 0));
    race.copy = use;
    race.wait_site = finding.end == WatchEnd::complete ? site : 0;
    race.after_site = static_cast<std::uint32_t>(finding.before_mark);
    race.before_site = static_cast<std::uint32_t>(finding.found_mark);
    race.access_begin_ns = gone ? 0 : finding.before_ns;
    race.access_end_ns = gone ? 0 : finding.found_ns;
    race.begin = gone ? 0 : finding.begin;
    race.end = gone ? use.bytes : finding.end_byte;
    races_.add(race);
}

}  // namespace pincheck
