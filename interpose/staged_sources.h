// Pageable sources that were copied behind a host function which had not run: the driver has taken the bytes inside the
// call (measured: H200, driver 580.159.04), so that what the function fills in comes too late.
//
// What the source holds is compared after the function: whether it filled that source is seen, not guessed.
//
// Thread rules: every member from any thread; one lock. errno may change.
#pragma once

#include <cstdint>
#include <mutex>  // lock_guard

#include "range_book.h"
#include "report/mutex.h"
#include "streams.h"

namespace pincheck {

// Hash of a few words of a range, the first and the last among them: enough to see that it was filled anew. Only of
// memory that can be read for sure.
std::uint64_t sample_content(std::uintptr_t address, std::uint64_t bytes) noexcept;
// The same of memory that may be gone: false.
bool sample_content_safely(std::uintptr_t address, std::uint64_t bytes, std::uint64_t& content) noexcept;

class StagedSources {
  public:
    static constexpr std::uint32_t kMax = 64;

    // The newest take the place of the oldest.
    void add(const RangeUse& use) noexcept {
        const std::lock_guard lock(mutex_);
        uses_[next_++ % kMax] = use;
    }
    // Takes out a source whose copy is in that stream behind its operation `sequence`; false: there is none.
    bool take_behind(std::uint32_t stream, std::uint64_t sequence, RangeUse& use) noexcept {
        const std::lock_guard lock(mutex_);
        for (RangeUse& one : uses_) {
            if (one.ticket.stream == stream && one.ticket.sequence > sequence && stream != 0) {
                use = one;
                one = {};
                return true;
            }
        }
        return false;
    }
    bool is_empty() const noexcept { return next_ == 0; }

  private:
    Mutex mutex_;
    std::uint32_t next_ = 0;
    RangeUse uses_[kMax];
};

}  // namespace pincheck
