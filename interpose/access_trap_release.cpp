// What is done about an access that was caught: who minds it, and how it goes on.
#include <mutex>  // lock_guard

#include "access_trap.h"
#include "interval.h"
#include "page_rights.h"

namespace pincheck {
namespace {

constexpr std::uint8_t kGone = static_cast<std::uint8_t>(WatchEnd::mapping_gone);

Watch* first_of(const WatchPages& pages, std::uintptr_t begin, std::uintptr_t end) noexcept {
    Watch* first = nullptr;
    pages.for_each(begin, end, [&](Watch& watch) {
        first = &watch;
        return false;
    });
    return first;
}

bool is_by(const TrapCulprit& culprit, const TrapAccess& access) noexcept {
    const TrapAccess& other = culprit.access;
    return other.site == access.site && other.thread == access.thread && other.call == access.call &&
           other.writes == access.writes;
}

}  // namespace

AccessTrap::Target AccessTrap::look(std::uintptr_t address, std::size_t bytes, bool writes) noexcept {
    if (!is_usable()) {
        return memory_.overlapping(address, address + 1) != nullptr ? Target::idle : Target::foreign;
    }
    const std::lock_guard lock(mutex_);
    if (memory_.overlapping(page_floor(address), page_ceil(address + bytes)) == nullptr) {
        return Target::foreign;
    }
    bool minded = false;
    guards_.for_each(address, address + bytes, [&](const Watch& watch) {
        minded = watch.side != WatchedSide::reads || !writes;
        return !minded;
    });
    if (writes && !minded) {
        sources_.for_each(address, address + bytes, [&](const Watch& watch) {
            minded = overlap(watch.begin, watch.begin + watch.bytes, address, address + bytes);
            return !minded;
        });
    }
    return minded ? Target::minded : Target::idle;
}

const TrapCulprit* AccessTrap::note(Watch& watch, const TrapAccess& access) noexcept {
    Notes& notes = notes_of(watch);
    ++notes.faults;
    const std::uintptr_t begin = greater(access.address, watch.begin);
    const std::uintptr_t end = lesser(access.address + access.bytes, watch.begin + watch.bytes);
    if (begin >= end || access.is_nobodys) {
        return nullptr;
    }
    TrapCulprit* culprit = nullptr;
    for (std::uint32_t i = 0; i < notes.count && culprit == nullptr; ++i) {
        culprit = is_by(notes.culprits[i], access) ? &notes.culprits[i] : nullptr;
    }
    if (culprit == nullptr) {
        if (notes.count == TrapFinding::kMost) {
            return nullptr;
        }
        culprit = &notes.culprits[notes.count++];
        *culprit = {begin - watch.begin, end - watch.begin, access};
        return culprit;
    }
    culprit->begin = lesser(culprit->begin, begin - watch.begin);
    culprit->end = greater(culprit->end, end - watch.begin);
    return nullptr;
}

void AccessTrap::release(const TrapAccess& access) noexcept {
    if (!is_usable()) {
        release_in_child(access);
        return;
    }
    // Whoever is told may map and unmap memory of its own, which comes here (give_up): not with the lock held.
    SampledRead told[kMostTold];
    const std::size_t count = release_pages(access, told);
    for (std::size_t i = 0; i < count && teller_ != nullptr; ++i) {
        teller_(teller_context_, told[i]);
    }
}

// Returns how many reads are to be told of.
std::size_t AccessTrap::release_pages(const TrapAccess& access, SampledRead (&told)[kMostTold]) noexcept {
    const std::lock_guard lock(mutex_);
    const std::uintptr_t first = page_floor(access.address);
    const std::uintptr_t end = page_ceil(access.address + access.bytes);
    constexpr std::size_t kMostSampled = kMostTold;
    Watch* sampled[kMostSampled];
    std::size_t sampled_count = 0;
    const auto release_watch = [&](Watch& watch) {
        if (watch.side == WatchedSide::reads) {
            lift(watch, greater(first, watch.first_page), lesser(end, watch.end_page));
            if (sampled_count < kMostSampled) {
                sampled[sampled_count++] = &watch;
            }
            return true;
        }
        Notes& notes = notes_of(watch);
        note(watch, access);
        notes.head_lifted |= overlap(watch.head.begin, watch.head.begin + watch.head.bytes, first, end);
        notes.tail_lifted |= overlap(watch.tail.begin, watch.tail.begin + watch.tail.bytes, first, end);
        if (notes.faults >= kMostFaults) {
            lift(watch, watch.first_page, watch.end_page);
        } else {
            lift(watch, greater(first, watch.first_page), lesser(end, watch.end_page));
        }
        return true;
    };
    guards_.for_each(first, end, release_watch);
    std::size_t count = 0;
    for (std::size_t i = 0; i < sampled_count; ++i) {
        count += release_sampled(*sampled[i], access, told[count]) ? 1 : 0;
    }
    if (access.writes) {
        sources_.for_each(first, end, release_watch);
        // Whoever waits at a page whose copy has ended meanwhile.
        if (faults_.is_open() && end - first == kPageBytes) {
            faults_.lift(first, end);
        }
    }
    return count;
}

void AccessTrap::give_up(std::uintptr_t begin, std::size_t bytes, bool unmapped) noexcept {
    if (!is_usable() || bytes == 0 || begin + bytes < begin || begin + bytes > UINTPTR_MAX - kPageBytes) {
        return;
    }
    const std::lock_guard lock(mutex_);
    const std::uintptr_t first = page_floor(begin);
    const std::uintptr_t end = page_ceil(begin + bytes);
    // Rights that are given back later would be others than the program's.
    for (WatchPages* pages : {&guards_, unmapped ? &sources_ : &guards_}) {
        for (Watch* watch = first_of(*pages, first, end); watch != nullptr; watch = first_of(*pages, first, end)) {
            watch->end = unmapped ? kGone : watch->end;
            take_out(*pages, *watch);
            lift_gaps(*watch);
        }
    }
    memory_.for_each([&](MemoryRange& range) {
        if (overlap(page_floor(range.begin), page_ceil(range.end), first, end)) {
            range.state = MemoryState::refused;
        }
    });
}

// Without the lock, which another of the parent's threads may have held.
void AccessTrap::release_in_child(const TrapAccess& access) noexcept {
    const std::uintptr_t first = page_floor(access.address);
    const std::uintptr_t end = page_ceil(access.address + access.bytes);
    memory_.for_each([&](const MemoryRange& range) {
        const std::uintptr_t begin = greater(page_floor(range.begin), first);
        const std::uintptr_t stop = lesser(page_ceil(range.end), end);
        const bool is_guarded = range.state == MemoryState::registered || range.state == MemoryState::write_combined;
        if (begin < stop && is_guarded) {
            give_rights(begin, stop);
        }
    });
}

}  // namespace pincheck
