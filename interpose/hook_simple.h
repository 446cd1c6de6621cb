// Page-locking and releasing host memory, and waiting: calls whose facts are simple. One hook each way.
#pragma once

#include "hook.h"
#include "recorder.h"
#include "wait_cause.h"

namespace pincheck {

class SimpleHook : public Hook {
  public:
    using Hook::Hook;

    // False: pass on unrecorded.
    bool before(report::SiteKind kind, report::StreamKind stream = report::StreamKind::none) noexcept;
    void after(int status, std::uint64_t bytes) noexcept;
    void after(int status, std::uint64_t bytes, std::uint64_t end_ns) noexcept;
    // Id of the call's site, between before() and after(); 0 when it was dropped.
    std::uint32_t site() const noexcept { return counters_ != nullptr ? counters_->site : 0; }

    // A page-locked range came to be; call between before() and after(), on success.
    void add_range(std::uintptr_t address, std::uint64_t bytes, report::RangeKind kind, unsigned requested) noexcept;
    // A range is about to be released. It is taken out of the map before the real call, since another thread may get
    // the same address right after it; put back when the call failed.
    void take_range(std::uintptr_t address) noexcept;
    void range_released(int status) noexcept;

    void device_memory_freed(int status) noexcept;

    std::uint64_t start_ns() const noexcept { return start_ns_; }

    // The call page-locks or unlocks host memory: that alone takes time.
    void page_locks() noexcept { page_locks_ = true; }
    // A graph launch: the graph copies memory that makes launches wait.
    void stages() noexcept { stages_ = true; }

    // The wait that this call is: does it wait for the stream of the thread's last copy?
    void waits_for_stream(void* stream) noexcept;
    void waits_for_everything() noexcept;

  private:
    void held(int status, std::uint64_t end_ns) noexcept;

    report::SiteKind kind_{};
    bool page_locks_ = false;
    bool stages_ = false;
    report::CounterSlot* counters_ = nullptr;
    report::CounterSlot* copy_ = nullptr;  // the copy that the previous call of this thread made
    std::uintptr_t copy_stream_ = 0;
    bool awaited_ = false;
    PinnedRange taken_{};
    RangeBook::Found* released_ = nullptr;  // of the shard
    std::uint64_t start_ns_ = 0;
    std::uint64_t own_ns_ = 0;  // ThreadState::own_ns then
};

}  // namespace pincheck
