#include "watched_memory.h"

#include <algorithm>

namespace pincheck {

std::uint32_t WatchedMemory::first_behind(std::uintptr_t address) const noexcept {
    const MemoryRange* found =
        std::upper_bound(ranges_, ranges_ + count_, address,
                         [](std::uintptr_t value, const MemoryRange& range) { return value < range.end; });
    return static_cast<std::uint32_t>(found - ranges_);
}

// Moving what lies behind costs 20 us for a full table: page-locking a single page costs more.
bool WatchedMemory::insert(const MemoryRange& range) noexcept {
    if (ranges_ == nullptr) {
        ranges_ = map_array<MemoryRange>(kMaxRanges);
    }
    if (ranges_ == nullptr || count_ == kMaxRanges) {
        return false;
    }
    const std::uint32_t index = first_behind(range.begin);
    std::copy_backward(ranges_ + index, ranges_ + count_, ranges_ + count_ + 1);
    ranges_[index] = range;
    ++count_;
    return true;
}

void WatchedMemory::erase(const MemoryRange* range) noexcept {
    const auto index = static_cast<std::uint32_t>(range - ranges_);
    std::copy(ranges_ + index + 1, ranges_ + count_, ranges_ + index);
    --count_;
}

MemoryRange* WatchedMemory::overlapping(std::uintptr_t begin, std::uintptr_t end) const noexcept {
    const std::uint32_t index = first_behind(begin);
    return index < count_ && ranges_[index].begin < end ? &ranges_[index] : nullptr;
}

WatchedMemory::Pages WatchedMemory::own_pages(const MemoryRange& range) const noexcept {
    Pages pages{page_floor(range.begin), page_ceil(range.end)};
    // Any number of small ranges may lie in the page, the next of them registered or not.
    for (std::uint32_t i = first_behind(pages.begin); i < count_ && ranges_[i].begin < range.begin; ++i) {
        if (ranges_[i].state == MemoryState::registered) {
            pages.begin += kPageBytes;
            break;
        }
    }
    for (std::uint32_t i = first_behind(range.end); i < count_ && ranges_[i].begin < pages.end; ++i) {
        if (ranges_[i].begin >= range.end && ranges_[i].state == MemoryState::registered) {
            pages.end -= kPageBytes;
            break;
        }
    }
    return pages;
}

}  // namespace pincheck
