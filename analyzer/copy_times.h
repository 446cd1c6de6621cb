// How long copies took by direction, memory and size: what a table of pageable against page-locked copies needs, and
// what an estimate of pinning's gain is made of. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "capture.h"

namespace pincheck {

// Copies of one size class between the device and one kind of host memory.
struct CopyTimes {
    std::uint64_t calls = 0;  // that did not fail, of asynchronous and synchronous copies
    std::uint64_t bytes_min = 0;
    std::uint64_t bytes_max = 0;
    // From the call to the copy's end. By the device's times where there are any; else host time of synchronous copies,
    // which return when the copy is done. None of either: 0 copies.
    bool by_device = false;
    std::uint64_t copies = 0;
    std::uint64_t bytes = 0;
    std::uint64_t ns = 0;
    // Call share: host time in the calls and time to completion, of the same calls; 0: no device's times.
    std::uint64_t share_host_ns = 0;
    std::uint64_t share_completion_ns = 0;
    // Of asynchronous calls: by host time, as in CaptureSite::histogram.
    std::uint64_t histogram[report::kHistogramBuckets] = {};

    double gigabytes_per_second() const noexcept;  // 10^9 bytes; 0 when not known
    std::uint64_t copy_ns() const noexcept;        // mean; 0 when not known
    // What half of the asynchronous calls took less than; 0 when not known (none, or the histogram's last bucket).
    std::uint64_t call_below_ns() const noexcept;
};

struct CopyKey {
    report::Direction direction{};
    bool page_locked = false;  // pinned or registered; false: pageable
    std::uint16_t size_class = 0;
    auto operator<=>(const CopyKey&) const = default;
};
// Host-to-device and device-to-host copies of pageable, pinned and registered memory, without copies in graphs.
using CopyTimesTable = std::map<CopyKey, CopyTimes>;
CopyTimesTable copy_times(const Capture& capture);

}  // namespace pincheck
