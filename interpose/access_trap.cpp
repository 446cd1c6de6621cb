#include "access_trap.h"

#include <sys/mman.h>

#include <mutex>  // lock_guard
#include <new>

#include "interval.h"
#include "memory.h"
#include "page_rights.h"
#include "watch_edges.h"

namespace pincheck {
namespace {

constexpr std::uint8_t kComplete = static_cast<std::uint8_t>(WatchEnd::complete);
constexpr std::uint8_t kGone = static_cast<std::uint8_t>(WatchEnd::mapping_gone);

}  // namespace

AccessTrap::~AccessTrap() {
    faults_.close();
    unmap_memory(source_notes_, (WatchPages::kMaxWatches + 1) * sizeof(Notes));
    unmap_memory(guard_notes_, (WatchPages::kMaxWatches + 1) * sizeof(Notes));
    unmap_memory(live_, kPageBytes);
}

bool AccessTrap::open(bool sources, bool destinations) noexcept {
    source_notes_ = map_array<Notes>(WatchPages::kMaxWatches + 1);
    guard_notes_ = map_array<Notes>(WatchPages::kMaxWatches + 1);
    void* page = map_memory(kPageBytes);
    if (source_notes_ == nullptr || guard_notes_ == nullptr || page == nullptr ||
        madvise(page, kPageBytes, MADV_WIPEONFORK) != 0) {
        unmap_memory(page, kPageBytes);
        return false;
    }
    if (sources) {
        faults_.open();
    }
    destinations_wanted_ = destinations;
    if (!faults_.is_open() && !destinations) {
        unmap_memory(page, kPageBytes);
        return false;
    }
    live_ = new (page) std::atomic<std::uint32_t>(1);
    return true;
}

void AccessTrap::close_in_child() noexcept {
    faults_.close();
}

void AccessTrap::add_memory(std::uintptr_t address, std::uint64_t bytes, bool write_combined) noexcept {
    if (!is_usable() || bytes == 0 || address + bytes < address || address + bytes > UINTPTR_MAX - kPageBytes) {
        return;
    }
    // Before the lock: it takes a while.
    const bool is_data = is_plain_data(page_floor(address), page_ceil(address + bytes));
    const std::lock_guard lock(mutex_);
    MemoryRange range{address, address + bytes, is_data ? MemoryState::registered : MemoryState::refused};
    while (MemoryRange* stale = memory_.overlapping(range.begin, range.end)) {
        end_watches(sources_, *stale, WatchEnd::mapping_gone);
        end_watches(guards_, *stale, WatchEnd::mapping_gone);
        memory_.erase(stale);
    }
    if (write_combined) {
        range.state = is_data ? MemoryState::write_combined : MemoryState::refused;
        any_combined_ = true;
    } else if (faults_.is_open()) {
        switch (faults_.add(page_floor(range.begin), page_ceil(range.end))) {
            case WriteFaults::Answer::done:
                break;
            case WriteFaults::Answer::busy:
                range.state = MemoryState::busy;
                break;
            default:
                range.state = MemoryState::refused;
                break;
        }
    }
    if (memory_.insert(range)) {
        low_.store(lesser(low_.load(), page_floor(range.begin)));
        high_.store(greater(high_.load(), page_ceil(range.end)));
    }
}

void AccessTrap::remove_memory(std::uintptr_t address) noexcept {
    if (!is_usable() || address == UINTPTR_MAX) {
        return;
    }
    const std::lock_guard lock(mutex_);
    MemoryRange* found = memory_.overlapping(address, address + 1);
    if (found == nullptr || found->begin != address) {
        return;
    }
    const MemoryRange range = *found;
    end_watches(sources_, range, WatchEnd::released);
    end_watches(guards_, range, WatchEnd::released);
    memory_.erase(found);
    if (faults_.is_open() && range.state == MemoryState::registered) {
        const WatchedMemory::Pages pages = memory_.own_pages(range);
        if (pages.begin < pages.end) {
            faults_.remove(pages.begin, pages.end);
        }
    }
}

void AccessTrap::end_watches(WatchPages& pages, const MemoryRange& range, WatchEnd end) noexcept {
    for (;;) {
        Watch* next = nullptr;
        pages.for_each(page_floor(range.begin), page_ceil(range.end), [&](Watch& watch) {
            next = overlap(watch.begin, watch.begin + watch.bytes, range.begin, range.end) ? &watch : nullptr;
            return next == nullptr;
        });
        if (next == nullptr) {
            return;
        }
        next->end = next->end == kComplete ? static_cast<std::uint8_t>(end) : next->end;
        take_out(pages, *next);
        lift_gaps(*next);
    }
}

void AccessTrap::take_out(WatchPages& pages, Watch& watch) noexcept {
    samples_ -= watch.side == WatchedSide::reads ? 1 : 0;
    pages.remove(watch);
}

void AccessTrap::stop_guarding() noexcept {
    const std::lock_guard lock(mutex_);
    destinations_wanted_ = false;
    guards_.for_each(0, UINTPTR_MAX, [&](Watch& watch) {
        lift(watch, watch.first_page, watch.end_page);
        return true;
    });
}

Armed AccessTrap::arm(const WatchRequest& request) noexcept {
    const std::uintptr_t begin = request.address;
    const std::uint64_t bytes = request.bytes;
    const bool source = request.side == WatchedSide::source;
    if (!is_usable() || bytes == 0 || begin + bytes < begin || begin + bytes > UINTPTR_MAX - kPageBytes) {
        return {{}, Unwatched::off, bytes};
    }
    if (request.write_combined && source) {
        return {{}, Unwatched::write_combined, bytes};
    }
    const std::lock_guard lock(mutex_);
    if (!traps(request.side)) {
        return {{}, Unwatched::off, bytes};
    }
    const MemoryRange* memory = memory_.overlapping(begin, begin + 1);
    if (memory == nullptr || memory->end < begin + bytes) {
        return {{}, Unwatched::not_added, bytes};
    }
    const bool is_guarded = !source && memory->state == MemoryState::write_combined;
    if (memory->state != MemoryState::registered && !is_guarded) {
        return {{}, memory->state == MemoryState::busy ? Unwatched::busy : Unwatched::refused, bytes};
    }
    const std::uintptr_t first = source ? page_floor(begin) : page_ceil(begin);
    const std::uintptr_t end = source ? page_ceil(begin + bytes) : page_floor(begin + bytes);
    if (first >= end) {
        return {{}, Unwatched::shared_page, bytes};
    }
    return source ? arm_source(request, first, end) : arm_destination(request, first, end);
}

Armed AccessTrap::arm_source(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept {
    Watch* watch = sources_.make();
    if (watch == nullptr) {
        return {{}, Unwatched::no_room, request.bytes};
    }
    watch->begin = request.address;
    watch->bytes = request.bytes;
    watch->side = WatchedSide::source;
    watch->first_page = first;
    watch->end_page = end;
    save_edges(*watch, edges_);
    notes_of(*watch) = Notes{};
    // In the tree before the first fault can come.
    sources_.insert(*watch, first, end);
    const WriteFaults::Answer answer = faults_.protect(first, end);
    if (answer != WriteFaults::Answer::done) {
        sources_.remove(*watch);
        lift_gaps(*watch);
        give_back_edges(*watch, edges_);
        sources_.recycle(*watch);
        return {{}, answer == WriteFaults::Answer::gone ? Unwatched::mapping_gone : Unwatched::off, request.bytes};
    }
    count_armed();
    return {{watch->index | kOwn, watch->generation}, Unwatched::none, 0};
}

Armed AccessTrap::arm_destination(const WatchRequest& request, std::uintptr_t first, std::uintptr_t end) noexcept {
    Watch* watch = guards_.size() - samples_ < kMostGuards ? guards_.make() : nullptr;
    if (watch == nullptr) {
        return {{}, Unwatched::no_room, request.bytes};
    }
    watch->begin = request.address;
    watch->bytes = request.bytes;
    watch->side = WatchedSide::destination;
    watch->first_page = first;
    watch->end_page = end;
    watch->unwatched_bytes = request.bytes - (end - first);
    notes_of(*watch) = Notes{};
    guards_.insert(*watch, first, end);
    if (!take_rights(first, end)) {
        guards_.remove(*watch);
        lift_gaps(*watch);
        guards_.recycle(*watch);
        return {{}, Unwatched::mapping_gone, request.bytes};
    }
    count_armed();
    return {{watch->index | kOwn | kGuard, watch->generation},
            watch->unwatched_bytes != 0 ? Unwatched::shared_page : Unwatched::none,
            watch->unwatched_bytes};
}

void AccessTrap::count_armed() noexcept {
    armed_.fetch_add(1, std::memory_order_relaxed);
    arms_.fetch_add(1, std::memory_order_relaxed);
}

// With the lock held, like the rest. A page that cannot be given its rights alone (another mapping would come of it,
// and the process has too many) gets them with all others of the copy: no new one comes of that.
void AccessTrap::lift(Watch& watch, std::uintptr_t begin, std::uintptr_t end) noexcept {
    if (watch.side == WatchedSide::source) {
        faults_.lift(begin, end);
    } else if (!give_rights(begin, end)) {
        give_rights(watch.first_page, watch.end_page);
    }
}

// Of a watch that is no longer in its tree.
void AccessTrap::lift_gaps(Watch& watch) noexcept {
    const WatchPages& pages = watch.side == WatchedSide::source ? sources_ : guards_;
    pages.for_each_gap(watch.first_page, watch.end_page,
                       [&](std::uintptr_t begin, std::uintptr_t end) { lift(watch, begin, end); });
}

TrapFinding AccessTrap::retire(WatchTicket ticket) noexcept {
    TrapFinding finding;
    if (!is_usable()) {
        return finding;
    }
    const std::lock_guard lock(mutex_);
    WatchPages& pages = (ticket.index & kGuard) != 0 ? guards_ : sources_;
    Watch* watch = pages.find(ticket.index & ~(kOwn | kGuard), ticket.generation);
    if (watch == nullptr) {
        return finding;
    }
    if (watch->in_tree) {
        if (!KernelPageWatch::is_mapped(watch->first_page, watch->end_page)) {
            watch->end = kGone;
        }
        take_out(pages, *watch);
        lift_gaps(*watch);
    }
    const Notes& notes = notes_of(*watch);
    finding.end = static_cast<WatchEnd>(watch->end);
    finding.count = notes.count;
    finding.faults = notes.faults;
    for (std::uint32_t i = 0; i < notes.count; ++i) {
        finding.culprits[i] = notes.culprits[i];
    }
    if (watch->side == WatchedSide::source) {
        compare(*watch, finding);
        give_back_edges(*watch, edges_);
    }
    pages.recycle(*watch);
    armed_.fetch_sub(1, std::memory_order_relaxed);
    return finding;
}

void AccessTrap::compare(Watch& watch, TrapFinding& finding) noexcept {
    const Notes& notes = notes_of(watch);
    for (const WatchEdge* edge : {&watch.head, &watch.tail}) {
        const bool lifted = edge == &watch.head ? notes.head_lifted : notes.tail_lifted;
        unsigned char now[kPageBytes];
        if (!lifted || edge->block == 0 || watch.end != kComplete || finding.is_changed() ||
            !read_own_memory(edge->begin, now, edge->bytes)) {
            continue;
        }
        const ChangedBytes changed = changed_bytes(*edge, edges_, now);
        const std::uint64_t at = edge->begin - watch.begin;
        bool is_known = false;
        for (std::uint32_t i = 0; i < finding.count; ++i) {
            const TrapCulprit& culprit = finding.culprits[i];
            is_known |= overlap(culprit.begin, culprit.end, at, at + edge->bytes);
        }
        if (changed && !is_known) {
            finding.changed_begin = at + changed.begin;
            finding.changed_end = at + changed.end;
        }
    }
}

}  // namespace pincheck
