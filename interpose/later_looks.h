// Things of the program's threads that are only understood when the device's records come in (CUPTI): kept for some
// snapshots of the tool's thread. They come rarely, one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>  // lock_guard

#include "report/mutex.h"
#include "report/slots.h"

namespace pincheck {

// A call that held the host and waited for the device, until the kernels that ran meanwhile are known (cupti=full). At
// most one in the option `threshold` and thread.
struct WaitedCall {
    std::uint32_t site = 0;
    std::uint32_t thread = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t call_ns = 0;  // as it was recorded: without what the tool did inside
    unsigned looks = 0;         // for its kernel, so far
};

// The call of a copy, as the device's records name it.
struct CopyCall {
    std::uint32_t site = 0;
    std::uint32_t thread = 0;
    std::uint64_t call_ns = 0;  // when it began; 0: not known
    bool operator==(const CopyCall&) const = default;
};

// An access to memory of a copy in flight, until it is known when the device had finished the copy.
struct TimedAccess {
    report::RaceSlot* slot = nullptr;
    CopyCall copy;
    CopyCall other;              // that made the access; call_ns 0: the host did
    std::uint64_t begin_ns = 0;  // the host's access was made then or later
    std::uint64_t end_ns = 0;    // and then or earlier; of another copy: when the race was found
    unsigned looks = 0;
};

// Any thread; one lock.
template <class T>
class LaterLooks {
  public:
    static constexpr unsigned kMax = 256;
    // Records come up to so many snapshots later: two seconds.
    static constexpr unsigned kLooks = 8;

    // Takes the place of the oldest where there is no room.
    void add(const T& one) noexcept {
        const std::lock_guard lock(mutex_);
        T* place = count_ < kMax ? &all_[count_++] : std::min_element(all_, all_ + kMax, [](const T& a, const T& b) {
            return a.end_ns < b.end_ns;
        });
        *place = one;
    }

    // Moves all to `out`, which has room for kMax, and returns how many.
    unsigned take(T* out) noexcept {
        const std::lock_guard lock(mutex_);
        const unsigned count = count_;
        std::copy(all_, all_ + count, out);
        count_ = 0;
        return count;
    }
    // It is looked at again, kLooks times in all.
    void put_back(T one) noexcept {
        if (++one.looks < kLooks) {
            add(one);
        }
    }

  private:
    Mutex mutex_;
    unsigned count_ = 0;
    T all_[kMax];
};

}  // namespace pincheck
