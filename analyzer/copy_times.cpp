#include "copy_times.h"

#include <algorithm>

#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

bool is_counted(const CaptureSite& site) {
    const MemoryClass host = site.host_memory().kind;
    return site.kind == SiteKind::copy && !site.is_captured() && !site.is_in_graph() &&
           (site.direction == Direction::host_to_device || site.direction == Direction::device_to_host) &&
           (host == MemoryClass::pageable || host == MemoryClass::pinned || host == MemoryClass::registered);
}

// Time from the calls to the copies' ends, without what the calls spent behind other work and, of page-locked copies,
// what the copies spent in the queue after the call had returned. Waits are known of a site and not of a size: they
// count by the sizes' time before the copy started.
std::uint64_t time_of(const CaptureSite& site, const CaptureTransfer& transfer) {
    std::uint64_t before = 0;
    for (const CaptureTransfer& one : site.transfers) {
        before += one.before_ns;
    }
    std::uint64_t behind = 0;
    for (const WaitCause cause :
         {WaitCause::earlier_work, WaitCause::queue_full, WaitCause::legacy_stream, WaitCause::lock}) {
        behind += waited_ns(site, cause);
    }
    const double part = before == 0 ? 0 : std::min(1.0, static_cast<double>(behind) / static_cast<double>(before));
    const auto waited = static_cast<std::uint64_t>(part * static_cast<double>(transfer.before_ns));
    const bool queued = site.is_async() && site.host_memory().kind != MemoryClass::pageable;
    const std::uint64_t whole =
        queued ? std::min(transfer.completion_ns, transfer.before_ns + transfer.device_ns) : transfer.completion_ns;
    return whole > waited ? whole - waited : 0;
}

void add_calls(CopyTimes& times, const CaptureSite& site, const CaptureSize& size) {
    const std::uint64_t done = size.calls - std::min(size.calls, size.failed);
    if (done == 0) {
        return;
    }
    times.bytes_min = times.calls == 0 ? size.bytes_min : std::min(times.bytes_min, size.bytes_min);
    times.bytes_max = std::max(times.bytes_max, size.bytes_max);
    times.calls += done;
    if (site.is_async()) {
        for (std::uint32_t bucket = 0; bucket < kHistogramBuckets; ++bucket) {
            times.histogram[bucket] += size.histogram[bucket];
        }
    }
}

}  // namespace

double CopyTimes::gigabytes_per_second() const noexcept {
    return ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns);
}

std::uint64_t CopyTimes::copy_ns() const noexcept {
    return copies == 0 ? 0 : ns / copies;
}

std::uint64_t CopyTimes::call_below_ns() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t count : histogram) {
        all += count;
    }
    std::uint64_t left = all / 2;
    for (std::uint32_t bucket = 0; bucket + 1 < kHistogramBuckets; ++bucket) {
        if (left < histogram[bucket]) {
            return histogram_lower_bound(bucket + 1);
        }
        left -= histogram[bucket];
    }
    return 0;
}

CopyTimesTable copy_times(const Capture& capture) {
    CopyTimesTable table;
    for (const CaptureSite& site : capture.sites) {
        if (!is_counted(site)) {
            continue;
        }
        CopyKey key{site.direction, site.host_memory().kind != MemoryClass::pageable, 0};
        for (const CaptureSize& size : site.sizes) {
            key.size_class = size.size_class;
            if (size.bytes_max != 0) {
                add_calls(table[key], site, size);
            }
        }
        for (const CaptureTransfer& transfer : site.transfers) {
            key.size_class = transfer.size_class;
            const auto found = table.find(key);
            if (found == table.end() || transfer.calls == 0) {
                continue;
            }
            CopyTimes& times = found->second;
            times.by_device = true;
            times.copies += transfer.calls;
            times.bytes += transfer.bytes;
            times.ns += time_of(site, transfer);
            times.share_host_ns += transfer.host_ns;
            times.share_completion_ns += transfer.completion_ns;
        }
    }
    for (const CaptureSite& site : capture.sites) {
        if (!is_counted(site) || site.is_async()) {
            continue;
        }
        for (const CaptureSize& size : site.sizes) {
            const auto found =
                table.find({site.direction, site.host_memory().kind != MemoryClass::pageable, size.size_class});
            if (found != table.end() && !found->second.by_device && size.failed == 0) {
                found->second.copies += size.calls;
                found->second.bytes += size.bytes;
                found->second.ns += size.host_ns;
            }
        }
    }
    return table;
}

}  // namespace pincheck
