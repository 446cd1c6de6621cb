#include "write_watch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <mutex>  // lock_guard
#include <new>

#include "clock.h"
#include "memory.h"
#include "small_file.h"
#include "watch_edges.h"

namespace pincheck {
namespace {

// A registered range in the middle of a mapping makes three of one.
constexpr std::uint32_t kMappingsOfRange = 2;
constexpr std::uint32_t kDefaultMapCount = 65530;  // the kernel's

std::uint32_t half_of_map_count() noexcept {
    char text[32];
    const std::size_t length = read_file("/proc/sys/vm/max_map_count", text, sizeof(text) - 1);
    text[length] = '\0';
    const long count = std::strtol(text, nullptr, 10);
    return count > 0 && count <= INT32_MAX ? static_cast<std::uint32_t>(count) / 2 : kDefaultMapCount / 2;
}

}  // namespace

WriteWatch::~WriteWatch() {
    kernel_.close();
    unmap_memory(scratch_, kScratchBytes);
    unmap_memory(live_, kPageBytes);
}

bool WriteWatch::open(const WatchSettings& settings) noexcept {
    settings_ = settings;
    if (settings_.most_mappings == 0) {
        settings_.most_mappings = half_of_map_count();
    }
    scratch_ = static_cast<unsigned char*>(map_memory(kScratchBytes));
    void* page = map_memory(kPageBytes);
    if (scratch_ == nullptr || page == nullptr) {
        unmap_memory(page, kPageBytes);
        refusal_.store(WatchRefusal::no_resources, std::memory_order_relaxed);
        return false;
    }
    // A kernel without it (before 4.14) has no asynchronous protection either, and a child's checksums do no harm.
    madvise(page, kPageBytes, MADV_WIPEONFORK);
    const WatchRefusal refusal = settings_.use_kernel ? kernel_.open() : WatchRefusal::off;
    refusal_.store(refusal, std::memory_order_relaxed);
    live_ = new (page) std::atomic<std::uint32_t>(1);
    // Under a filter, reading memory through the kernel is an unusual call as well.
    return refusal == WatchRefusal::none || (settings_.use_checksums && refusal != WatchRefusal::seccomp_filter);
}

void WriteWatch::close_in_child() noexcept {
    if (live_ != nullptr) {
        live_->store(0, std::memory_order_relaxed);
    }
    kernel_.close();
}

void WriteWatch::lose() noexcept {
    kernel_.close();
    refusal_.store(WatchRefusal::closed_by_program, std::memory_order_relaxed);
    // What is added again has a chance of a checksum, like what is added from now on.
    memory_.for_each([](MemoryRange& range) {
        range.state = range.state == MemoryState::registered ? MemoryState::plain : range.state;
    });
    stats_.mappings = 0;
}

MemoryState WriteWatch::add_memory(std::uintptr_t address, std::uint64_t bytes) noexcept {
    if (!is_usable() || bytes == 0 || address + bytes < address || address + bytes > UINTPTR_MAX - kPageBytes) {
        return MemoryState::refused;
    }
    const std::lock_guard lock(mutex_);
    MemoryRange range{address, address + bytes, MemoryState::plain};
    while (MemoryRange* stale = memory_.overlapping(range.begin, range.end)) {
        // Its pages are not unregistered: they are the new range's now, or somebody else's.
        end_watches(*stale, WatchEnd::mapping_gone, 0);
        stats_.mappings -= stale->state == MemoryState::registered ? kMappingsOfRange : 0;
        memory_.erase(stale);
        ++stats_.ranges_stale;
    }
    // A pageable source that is watched became page-locked: for that its pages were written, or so it looks.
    end_watches(range, WatchEnd::lost, 0);
    if (kernel_.is_open()) {
        if (stats_.mappings + kMappingsOfRange > settings_.most_mappings) {
            range.state = MemoryState::capped;
            ++stats_.ranges_capped;
        } else {
            switch (kernel_.add(page_floor(range.begin), page_ceil(range.end))) {
                case Answer::done:
                    range.state = MemoryState::registered;
                    break;
                case Answer::busy:
                    range.state = MemoryState::busy;
                    ++stats_.ranges_busy;
                    break;
                case Answer::lost:
                    lose();
                    break;
                default:
                    range.state = MemoryState::refused;
                    ++stats_.ranges_refused;
                    break;
            }
        }
    }
    if (!memory_.insert(range)) {
        ++stats_.ranges_forgotten;
        const WatchedMemory::Pages pages = memory_.own_pages(range);
        if (range.state == MemoryState::registered && pages.begin < pages.end) {
            kernel_.remove(pages.begin, pages.end);
        }
        return MemoryState::refused;
    }
    stats_.mappings += range.state == MemoryState::registered ? kMappingsOfRange : 0;
    return range.state;
}

std::uint32_t WriteWatch::remove_memory(std::uintptr_t address, std::uint64_t mark) noexcept {
    if (!is_usable() || address == UINTPTR_MAX) {
        return 0;
    }
    const std::lock_guard lock(mutex_);
    MemoryRange* found = memory_.overlapping(address, address + 1);
    if (found == nullptr || found->begin != address) {
        return 0;
    }
    const std::uint32_t ended = end_watches(*found, WatchEnd::released, mark);
    const MemoryRange range = *found;
    memory_.erase(found);
    if (range.state == MemoryState::registered && kernel_.is_open()) {
        stats_.mappings -= kMappingsOfRange;
        const WatchedMemory::Pages pages = memory_.own_pages(range);
        if (pages.begin < pages.end && kernel_.remove(pages.begin, pages.end) == Answer::lost) {
            lose();
        }
    }
    return ended;
}

// Takes every watch on the range out of the tree, with what was found until now.
std::uint32_t WriteWatch::end_watches(const MemoryRange& range, WatchEnd end, std::uint64_t mark) noexcept {
    std::uint32_t ended = 0;
    for (;;) {
        Watch* next = nullptr;
        // A neighbour's watches on a shared page stay.
        pages_.for_each(page_floor(range.begin), page_ceil(range.end), [&](Watch& watch) {
            next = watch.begin < range.end && watch.begin + watch.bytes > range.begin ? &watch : nullptr;
            return next == nullptr;
        });
        if (next == nullptr) {
            return ended;
        }
        std::uint64_t pages = 0;
        if (end == WatchEnd::released) {
            look(*next, mark, pages);
        }
        if (next->end == static_cast<std::uint8_t>(WatchEnd::complete)) {
            next->end = static_cast<std::uint8_t>(end);
        }
        pages_.remove(*next);
        unprotect_unwatched(*next);
        ++ended;
    }
}

Armed WriteWatch::not_armed(Unwatched why, std::uint64_t bytes) noexcept {
    ++stats_.unwatched[static_cast<std::size_t>(why)];
    stats_.unwatched_bytes += bytes;
    return {{}, why, bytes};
}

Armed WriteWatch::arm(const WatchRequest& request) noexcept {
    const std::uintptr_t begin = request.address;
    const std::uint64_t bytes = request.bytes;
    if (!is_usable() || bytes == 0 || begin + bytes < begin || begin + bytes > UINTPTR_MAX - kPageBytes) {
        return {{}, Unwatched::off, bytes};
    }
    const std::lock_guard lock(mutex_);
    if (request.write_combined) {
        return not_armed(Unwatched::write_combined, bytes);
    }
    if (!kernel_.is_open()) {
        return arm_checksum(request);
    }
    if (request.pageable) {
        return arm_pageable(request, page_floor(begin), page_ceil(begin + bytes));
    }
    const MemoryRange* memory = memory_.overlapping(begin, begin + 1);
    if (memory == nullptr || memory->end < begin + bytes) {
        return not_armed(Unwatched::not_added, bytes);
    }
    switch (memory->state) {
        case MemoryState::registered:
            break;
        case MemoryState::capped: {
            const bool small = request.side == WatchedSide::source && settings_.use_checksums &&
                               bytes <= settings_.most_checksum_bytes;
            return small ? arm_checksum(request) : not_armed(Unwatched::capped, bytes);
        }
        case MemoryState::busy:
            return not_armed(Unwatched::busy, bytes);
        default:
            return not_armed(Unwatched::refused, bytes);
    }
    const bool whole_pages = request.side == WatchedSide::destination;
    const std::uintptr_t first = whole_pages ? page_ceil(begin) : page_floor(begin);
    const std::uintptr_t end = whole_pages ? page_floor(begin + bytes) : page_ceil(begin + bytes);
    return first < end ? arm_pages(request, first, end) : not_armed(Unwatched::shared_page, bytes);
}

Armed WriteWatch::arm_pageable(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept {
    if (memory_.overlapping(first, end) != nullptr) {
        return not_armed(Unwatched::shared_page, request.bytes);
    }
    if (stats_.mappings + kMappingsOfRange > settings_.most_mappings) {
        return not_armed(Unwatched::capped, request.bytes);
    }
    switch (kernel_.add(first, end)) {
        case Answer::done:
            break;
        case Answer::lost:
            lose();
            return arm_checksum(request);
        case Answer::busy:
            return not_armed(Unwatched::busy, request.bytes);
        default:
            return not_armed(Unwatched::refused, request.bytes);
    }
    stats_.mappings += kMappingsOfRange;
    return arm_pages(request, first, end);
}

// What a watch of pageable memory had registered, where nobody else needs it.
void WriteWatch::unregister_unwatched(std::uintptr_t first, std::uintptr_t end) noexcept {
    stats_.mappings -= kMappingsOfRange;
    bool lost = false;
    pages_.for_each_gap(first, end, [&](std::uintptr_t gap, std::uintptr_t gap_end) {
        while (gap < gap_end && !lost) {
            const MemoryRange* added = memory_.overlapping(gap, gap_end);
            const std::uintptr_t stop = added != nullptr ? page_floor(added->begin) : gap_end;
            lost = stop > gap && kernel_.remove(gap, stop) == Answer::lost;
            gap = added != nullptr ? page_ceil(added->end) : gap_end;
        }
    });
    if (lost) {
        lose();
    }
}

Armed WriteWatch::arm_pages(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept {
    Watch* watch = pages_.make();
    if (watch == nullptr) {
        if (request.pageable) {
            unregister_unwatched(first, end);
        }
        return not_armed(Unwatched::no_room, request.bytes);
    }
    watch->begin = request.address;
    watch->bytes = request.bytes;
    watch->side = request.side;
    watch->pageable = request.pageable;
    watch->first_page = first;
    watch->end_page = end;
    watch->last_mark = request.mark;
    watch->last_ns = now_ns();
    std::uint64_t pages = 0;
    const Answer answer =
        pages_.any(first, end) ? scan_and_share(first, end, true, request.mark, pages) : kernel_.protect(first, end);
    if (answer == Answer::lost) {
        lose();
        pages_.recycle(*watch);
        return arm_checksum(request);
    }
    if (answer != Answer::done) {
        pages_.recycle(*watch);
        if (request.pageable) {
            unregister_unwatched(first, end);
        }
        return not_armed(answer == Answer::gone ? Unwatched::mapping_gone : Unwatched::no_room, request.bytes);
    }
    Unwatched why = Unwatched::none;
    if (request.side == WatchedSide::destination) {
        watch->unwatched_bytes = request.bytes - (end - first);
        why = watch->unwatched_bytes != 0 ? Unwatched::shared_page : Unwatched::none;
    } else if (!save_edges(*watch, edges_)) {
        why = Unwatched::no_room;
    }
    pages_.insert(*watch, first, end);
    if (watch->unwatched_bytes == request.bytes) {
        pages_.remove(*watch);
        unprotect_unwatched(*watch);
        forget(*watch);
        return not_armed(why, request.bytes);
    }
    return armed(*watch, why);
}

Armed WriteWatch::armed(Watch& watch, Unwatched why) noexcept {
    ++stats_.armed;
    stats_.by_checksum += watch.by_checksum ? 1 : 0;
    if (why != Unwatched::none) {
        not_armed(why, watch.unwatched_bytes);
    }
    return {{watch.index, watch.generation}, why, watch.unwatched_bytes};
}

Armed WriteWatch::arm_checksum(const WatchRequest& request) noexcept {
    if (!settings_.use_checksums || request.side != WatchedSide::source) {
        return not_armed(Unwatched::no_help, request.bytes);
    }
    if (request.bytes > settings_.most_checksum_bytes) {
        return not_armed(Unwatched::too_large, request.bytes);
    }
    std::uint64_t sum;
    if (!checksum(request.address, request.bytes, sum)) {
        return not_armed(Unwatched::mapping_gone, request.bytes);
    }
    Watch* watch = pages_.make();
    if (watch == nullptr) {
        return not_armed(Unwatched::no_room, request.bytes);
    }
    watch->begin = request.address;
    watch->bytes = request.bytes;
    watch->side = request.side;
    watch->by_checksum = true;
    watch->checksum = sum;
    watch->last_mark = request.mark;
    watch->last_ns = now_ns();
    pages_.insert(*watch, request.address, request.address + request.bytes);
    return armed(*watch, Unwatched::none);
}

void WriteWatch::forget(Watch& watch) noexcept {
    give_back_edges(watch, edges_);
    pages_.recycle(watch);
}

// With the lock held: the watch, after a look at its memory; null: there is none.
Watch* WriteWatch::looked_at(WatchTicket ticket, std::uint64_t mark, std::uint64_t& dirty_pages) noexcept {
    Watch* watch = pages_.find(ticket.index, ticket.generation);
    if (watch != nullptr) {
        look(*watch, mark, dirty_pages);
    }
    return watch;
}

WatchFinding WriteWatch::check(WatchTicket ticket, std::uint64_t mark) noexcept {
    if (!is_usable()) {
        return {};
    }
    const std::lock_guard lock(mutex_);
    std::uint64_t pages = 0;
    const Watch* watch = looked_at(ticket, mark, pages);
    if (watch == nullptr) {
        return {};
    }
    WatchFinding result = finding(*watch);
    result.faulted_pages = pages;
    return result;
}

WatchFinding WriteWatch::retire(WatchTicket ticket, std::uint64_t mark) noexcept {
    if (!is_usable()) {
        return {};
    }
    const std::lock_guard lock(mutex_);
    std::uint64_t pages = 0;
    Watch* watch = looked_at(ticket, mark, pages);
    if (watch == nullptr) {
        return {};
    }
    if (watch->in_tree) {
        pages_.remove(*watch);
        unprotect_unwatched(*watch);
    }
    WatchFinding result = finding(*watch);
    result.faulted_pages = pages;
    forget(*watch);
    ++stats_.retired;
    stats_.written += result.written() ? 1 : 0;
    stats_.released += result.end == WatchEnd::released ? 1 : 0;
    stats_.mapping_gone += result.end == WatchEnd::mapping_gone ? 1 : 0;
    stats_.lost += result.end == WatchEnd::lost ? 1 : 0;
    return result;
}

WatchStats WriteWatch::stats() noexcept {
    WatchStats result;
    if (!is_usable()) {
        result.refusal = refusal();
        return result;
    }
    const std::lock_guard lock(mutex_);
    result = stats_;
    result.refusal = refusal();
    result.ranges = memory_.size();
    result.watches = pages_.size();
    result.most_mappings = settings_.most_mappings;
    return result;
}

}  // namespace pincheck
