#include "combined_memory.h"

#include <algorithm>
#include <mutex>  // lock_guard

#include "memory.h"
#include "watch_budget.h"

namespace pincheck {

CombinedMemory::~CombinedMemory() {
    unmap_memory(ranges_, kMostRanges * sizeof(Range));
}

std::uint32_t CombinedMemory::first_behind(std::uintptr_t address) const noexcept {
    const Range* found = std::upper_bound(ranges_, ranges_ + count_, address,
                                          [](std::uintptr_t value, const Range& range) { return value < range.end; });
    return static_cast<std::uint32_t>(found - ranges_);
}

void CombinedMemory::erase(std::uint32_t index) noexcept {
    end(ranges_[index]);
    std::copy(ranges_ + index + 1, ranges_ + count_, ranges_ + index);
    --count_;
}

void CombinedMemory::made(std::uintptr_t address, std::uint64_t bytes, std::uint32_t pin_site, bool now) noexcept {
    if (bytes == 0 || address + bytes < address) {
        return;
    }
    trap_.add_memory(address, bytes, true);
    const std::lock_guard lock(mutex_);
    ++allocations_;
    if (ranges_ == nullptr) {
        ranges_ = map_array<Range>(kMostRanges);
    }
    std::uint32_t index = ranges_ == nullptr ? 0 : first_behind(address);
    while (index < count_ && ranges_[index].begin < address + bytes) {
        erase(index);  // released by a call that was not seen
    }
    if (ranges_ == nullptr || count_ == kMostRanges) {
        return;
    }
    std::copy_backward(ranges_ + index, ranges_ + count_, ranges_ + count_ + 1);
    ++count_;
    ranges_[index] = {address, address + bytes, pin_site, false, 0, 0, {}};
    if (now) {
        arm(ranges_[index], address);
    }
}

void CombinedMemory::goes(std::uintptr_t address) noexcept {
    const std::lock_guard lock(mutex_);
    const std::uint32_t index = first_behind(address);
    if (index < count_ && ranges_[index].begin == address) {
        erase(index);
    }
}

void CombinedMemory::used(std::uintptr_t address) noexcept {
    const std::lock_guard lock(mutex_);
    const std::uint32_t index = first_behind(address);
    if (index == count_ || ranges_[index].begin > address) {
        return;
    }
    if (WatchBudget::is_watched_by_count(++ranges_[index].uses)) {
        arm(ranges_[index], address);
    }
}

void CombinedMemory::end_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t i = 0; i < count_; ++i) {
        end(ranges_[i]);
    }
}

void CombinedMemory::end(Range& range) noexcept {
    if (range.sample) {
        trap_.retire(range.sample);
        range.sample = {};
        --armed_;
    }
}

void CombinedMemory::arm(Range& range, std::uintptr_t near) noexcept {
    end(range);
    if (may_arm_ != nullptr && !may_arm_()) {
        return;
    }
    if (armed_ == kMostArmed) {
        Range* oldest = nullptr;
        for (std::uint32_t i = 0; i < count_; ++i) {
            Range& other = ranges_[i];
            oldest = other.sample && (oldest == nullptr || other.armed_as < oldest->armed_as) ? &other : oldest;
        }
        end(*oldest);
    }
    const Armed armed = trap_.arm_reads({range.begin, range.end - range.begin, near, range.pin_site});
    if (!armed) {
        return;
    }
    range.sample = armed.ticket;
    range.armed_as = ++samples_;
    ++armed_;
    sampled_ += range.sampled ? 0 : 1;
    range.sampled = true;
}

CombinedMemory::Counts CombinedMemory::counts() const noexcept {
    const std::lock_guard lock(mutex_);
    return {allocations_, sampled_, samples_, trap_.sample_faults()};
}

}  // namespace pincheck
