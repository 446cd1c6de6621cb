// Which bytes of a buffer were written: a few disjoint ranges, the lowest ones exactly. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pincheck {

class DirtyRanges {
  public:
    static constexpr std::uint32_t kMost = 8;
    struct Range {
        std::uint64_t begin;
        std::uint64_t end;
    };

    // Adds [begin, end). Returns how many of its bytes were not in yet. With more than kMost ranges apart the highest
    // are forgotten, and bytes of theirs that are added again count again: then bytes() is the most it can be.
    std::uint64_t add(std::uint64_t begin, std::uint64_t end) noexcept {
        if (begin >= end) {
            return 0;
        }
        std::uint32_t first = 0;
        while (first < count_ && ranges_[first].end < begin) {
            ++first;
        }
        std::uint32_t last = first;  // [first, last): overlap or touch
        std::uint64_t there = 0;
        Range merged{begin, end};
        for (; last < count_ && ranges_[last].begin <= end; ++last) {
            const Range& old = ranges_[last];
            there += std::max(std::min(end, old.end), begin) - std::min(std::max(begin, old.begin), end);
            merged = {std::min(merged.begin, old.begin), std::max(merged.end, old.end)};
        }
        const std::uint64_t added = end - begin - there;
        bytes_ += added;
        replace(first, last, merged);
        return added;
    }

    bool empty() const noexcept { return count_ == 0; }
    // The lowest range, whole.
    Range first() const noexcept { return empty() ? Range{0, 0} : ranges_[0]; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    bool exact() const noexcept { return !forgot_; }

  private:
    void replace(std::uint32_t first, std::uint32_t last, const Range& range) noexcept {
        if (first == last) {
            if (first == kMost) {
                forgot_ = true;
                return;
            }
            if (count_ == kMost) {
                forgot_ = true;
                --count_;
            }
            std::copy_backward(ranges_ + first, ranges_ + count_, ranges_ + count_ + 1);
            ++count_;
        } else {
            std::copy(ranges_ + last, ranges_ + count_, ranges_ + first + 1);
            count_ -= last - first - 1;
        }
        ranges_[first] = range;
    }

    Range ranges_[kMost];
    std::uint32_t count_ = 0;
    bool forgot_ = false;
    std::uint64_t bytes_ = 0;
};

}  // namespace pincheck
