// Reads of write-combined memory: when its pages are closed, and how the program goes on that touches them.
#include <mutex>  // lock_guard

#include "access_trap.h"
#include "interval.h"
#include "page_rights.h"

namespace pincheck {

void AccessTrap::tell_reads(SampledReadTeller teller, void* context) noexcept {
    teller_ = teller;
    teller_context_ = context;
}

Armed AccessTrap::arm_reads(const ReadRequest& request) noexcept {
    const std::uintptr_t begin = request.address;
    const std::uint64_t bytes = request.bytes;
    if (!is_usable() || bytes == 0 || begin + bytes < begin || begin + bytes > UINTPTR_MAX - kPageBytes) {
        return {{}, Unwatched::off, bytes};
    }
    const std::lock_guard lock(mutex_);
    if (!destinations_wanted_) {
        return {{}, Unwatched::off, bytes};
    }
    const MemoryRange* memory = memory_.overlapping(begin, begin + 1);
    if (memory == nullptr || memory->begin != begin || memory->end != begin + bytes) {
        return {{}, Unwatched::not_added, bytes};
    }
    if (memory->state != MemoryState::write_combined) {
        return {{}, Unwatched::refused, bytes};
    }
    std::uintptr_t first = page_ceil(begin);
    std::uintptr_t end = page_floor(begin + bytes);
    if (first >= end) {
        return {{}, Unwatched::shared_page, bytes};
    }
    if (end - first > kMostSampledBytes) {
        first = greater(first, lesser(page_floor(request.near), end - kMostSampledBytes));
        end = first + kMostSampledBytes;
    }
    if (is_held(first, end)) {
        return {{}, Unwatched::busy, bytes};
    }
    Watch* watch = guards_.make();
    if (watch == nullptr) {
        return {{}, Unwatched::no_room, bytes};
    }
    watch->begin = begin;
    watch->bytes = bytes;
    watch->side = WatchedSide::reads;
    watch->first_page = first;
    watch->end_page = end;
    Notes& notes = notes_of(*watch);
    notes = Notes{};
    notes.pin_site = request.pin_site;
    guards_.insert(*watch, first, end);
    ++samples_;
    if (!take_rights(first, end)) {
        take_out(guards_, *watch);
        lift_gaps(*watch);
        guards_.recycle(*watch);
        return {{}, Unwatched::mapping_gone, bytes};
    }
    count_armed();
    return {{watch->index | kOwn | kGuard, watch->generation}, Unwatched::none, 0};
}

// With the lock held, like the rest. The pages of the access are open by now.
// True: `told` is to be told of.
bool AccessTrap::release_sampled(Watch& watch, const TrapAccess& access, SampledRead& told) noexcept {
    Notes& notes = notes_of(watch);
    sample_faults_.fetch_add(1, std::memory_order_relaxed);
    ReadSample::Step step;
    bool tells = false;
    if (access.writes && !access.in_system_call && !access.is_nobodys) {
        step = notes.sample.stored(page_floor(access.address));
    } else {
        const TrapCulprit* culprit = access.writes ? nullptr : note(watch, access);
        if (culprit != nullptr) {
            told = {watch.begin, watch.bytes, notes.pin_site, *culprit};
            tells = true;
        }
        step = notes.sample.other();
    }
    switch (step.then) {
        case ReadSample::Then::go_on:
            break;
        case ReadSample::Then::narrow:
            narrow(watch);
            return tells;
        case ReadSample::Then::end:
            take_out(guards_, watch);
            lift_gaps(watch);
            return tells;
    }
    for (std::uint32_t i = 0; i < step.count; ++i) {
        close_pages(watch, step.close[i], step.close[i] + kPageBytes);
    }
    return tells;
}

// From now on only pages that stores have passed are closed.
void AccessTrap::narrow(Watch& watch) noexcept {
    take_out(guards_, watch);
    lift_gaps(watch);
    const ReadSample& sample = notes_of(watch).sample;
    std::uintptr_t first = UINTPTR_MAX;
    std::uintptr_t end = 0;
    for (const std::uintptr_t page : sample.passed()) {
        first = lesser(first, page);
        end = greater(end, page + kPageBytes);
    }
    watch.first_page = greater(first, watch.first_page);
    watch.end_page = lesser(end, watch.end_page);
    if (watch.first_page >= watch.end_page) {
        return;
    }
    guards_.insert(watch, watch.first_page, watch.end_page);
    ++samples_;
    for (const std::uintptr_t page : sample.passed()) {
        if (!sample.is_open(page)) {
            close_pages(watch, page, page + kPageBytes);
        }
    }
}

void AccessTrap::close_pages(const Watch& watch, std::uintptr_t begin, std::uintptr_t end) noexcept {
    if (begin >= watch.first_page && end <= watch.end_page && destinations_wanted_ && !is_held(begin, end)) {
        arms_.fetch_add(1, std::memory_order_relaxed);
        take_rights(begin, end);
    }
}

bool AccessTrap::is_held(std::uintptr_t begin, std::uintptr_t end) const noexcept {
    if (holds_beyond_ != 0) {
        return true;
    }
    for (const Hold& hold : holds_) {
        if (hold.begin < hold.end && overlap(hold.begin, hold.end, begin, end)) {
            return true;
        }
    }
    return false;
}

std::uint32_t AccessTrap::hold(std::uint32_t held, std::uintptr_t address, std::size_t bytes) noexcept {
    if (!is_usable() || bytes == 0 || held > kMostHolds) {
        return held;
    }
    const std::lock_guard lock(mutex_);
    const std::uintptr_t begin = page_floor(address);
    const std::uintptr_t end = page_ceil(address + bytes);
    if (!any_combined_ || memory_.overlapping(begin, end) == nullptr) {
        return held;
    }
    if (held == 0) {
        for (std::uint32_t i = 0; i < kMostHolds; ++i) {
            if (holds_[i].begin >= holds_[i].end) {
                holds_[i] = {begin, end};
                return i + 1;
            }
        }
        ++holds_beyond_;
        return kMostHolds + 1;
    }
    Hold& known = holds_[held - 1];
    known = {lesser(known.begin, begin), greater(known.end, end)};
    return held;
}

void AccessTrap::let_go(std::uint32_t held) noexcept {
    if (!is_usable() || held == 0) {
        return;
    }
    const std::lock_guard lock(mutex_);
    if (held <= kMostHolds) {
        holds_[held - 1] = {};
    } else if (holds_beyond_ != 0) {
        --holds_beyond_;
    }
}

}  // namespace pincheck
