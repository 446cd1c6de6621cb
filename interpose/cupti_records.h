// From CUPTI's records to work of known calls. Pure: no CUPTI function is called here. One thread at a time.
#pragma once

#include <cstdint>

#include "cupti_abi.h"
#include "cupti_calls.h"
#include "cupti_clock.h"
#include "device_work.h"

namespace pincheck::cupti {

struct RecordCounts {
    std::uint64_t delivered = 0;  // copies and memsets handed to the sink
    std::uint64_t unmatched = 0;  // whose call is not known (any more)
    std::uint64_t unhooked = 0;   // copies of calls that no hook saw
    std::uint64_t without_times = 0;
    std::uint64_t kernels = 0;
};

class RecordReader {
  public:
    // `calls` and `clock` stay the caller's. `overhead_has_correlation`: see kOverheadHasCorrelation.
    RecordReader(const CallTable& calls, const ClockPairs& clock, bool overhead_has_correlation) noexcept
        : calls_(calls), clock_(clock), overhead_has_correlation_(overhead_has_correlation) {}

    // Twice for all records at hand: overheads and kernels count in the first pass, so that the copies of the second
    // know of them.
    void read(unsigned pass, const Record& record, const DeviceSink& sink) noexcept;

    // Again for those whose call had not returned. `at_end`: those that still run count as unmatched.
    void retry(const DeviceSink& sink, bool at_end) noexcept;

    const RecordCounts& counts() const noexcept { return counts_; }

  private:
    // Records that come before their call's end: the copy is done, the call is not. More are counted as unmatched.
    static constexpr unsigned kWaiting = 1024;
    static constexpr unsigned kQueueFull = 256;
    static constexpr unsigned kKernels = 1024;

    struct QueueFull {
        std::uint32_t correlation;
        std::uint64_t ns;
    };
    struct Kernel {
        std::uint64_t stream;  // context and stream
        std::uint64_t end;     // CUPTI's
        const char* name;
    };

    void overhead(const OverheadRecord& record, const DeviceSink& sink) noexcept;
    void kernel(const KernelRecord& record, const DeviceSink& sink) noexcept;
    void arrived(const DeviceWork& work, const DeviceSink& sink) noexcept;
    bool deliver(const DeviceWork& work, const DeviceSink& sink) noexcept;
    std::uint64_t queue_full_of(std::uint32_t correlation) const noexcept;
    const Kernel* kernel_before(const DeviceWork& work) const noexcept;

    const CallTable& calls_;
    const ClockPairs& clock_;
    bool overhead_has_correlation_;
    RecordCounts counts_;
    DeviceWork waiting_[kWaiting];  // device times are CUPTI's still
    unsigned waiting_count_ = 0;
    QueueFull queue_full_[kQueueFull] = {};
    unsigned queue_full_next_ = 0;
    bool queue_full_seen_ = false;
    Kernel kernels_[kKernels] = {};
    unsigned kernels_next_ = 0;
};

}  // namespace pincheck::cupti
