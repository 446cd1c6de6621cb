#include "saving.h"

#include <fmt/format.h>

#include <algorithm>

#include "render_text_layout.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

// How far from its own size class a copy's time may be estimated: 16 times smaller or larger.
constexpr int kNearest = 2;
// What page-locking costs where this run has not measured it: allocating and freeing 1 MiB took 0.95 ms, and tens of
// microseconds below that (measured: H200, driver 580.159).
constexpr std::uint64_t kPinningNsPerMiB = 950'000;
constexpr std::uint64_t kPinningNsAtLeast = 50'000;

struct Estimate {
    std::uint64_t call_ns = 0;
    std::uint64_t copy_ns = 0;  // 0 when not known
    std::uint64_t reference_bytes = 0;
    bool found = false;
};

// A page-locked call and copy of so many bytes, from the nearest size class that has any.
Estimate page_locked(const CopyTimesTable& times, Direction direction, std::uint16_t size_class, std::uint64_t bytes) {
    Estimate estimate;
    for (int away = 0; away <= kNearest; ++away) {
        for (const int sign : {-1, 1}) {
            const int wanted = size_class + sign * away;
            if (wanted < 1 || wanted >= kSizeClasses) {
                continue;
            }
            const auto found = times.find({direction, true, static_cast<std::uint16_t>(wanted)});
            if (found == times.end()) {
                continue;
            }
            const CopyTimes& one = found->second;
            if (!estimate.found && one.call_below_ns() != 0) {
                estimate.found = true;
                estimate.call_ns = one.call_below_ns();
                estimate.reference_bytes = size_class_lower_bound(found->first.size_class);
            }
            if (estimate.copy_ns == 0 && one.bytes != 0) {
                // By rate, and not below what a smaller copy took.
                const double scaled =
                    static_cast<double>(one.ns) * static_cast<double>(bytes) / static_cast<double>(one.bytes);
                const std::uint64_t least = wanted <= size_class ? one.copy_ns() : 0;
                estimate.copy_ns = std::max(static_cast<std::uint64_t>(scaled), least);
            }
        }
    }
    return estimate;
}

// Page-locking a buffer of so many bytes once.
std::uint64_t pinning_ns(const Capture& capture, std::uint64_t bytes) {
    std::uint64_t calls = 0;
    std::uint64_t ns = 0;
    for (const CaptureSite& site : capture.sites) {
        const bool locks =
            site.kind == SiteKind::allocate &&
            (site.api.find("HostAlloc") != site.api.npos || site.api.find("AllocHost") != site.api.npos ||
             site.api.find("MallocHost") != site.api.npos || site.api.find("HostRegister") != site.api.npos);
        for (const CaptureSize& size : site.sizes) {
            if (locks && size.size_class == size_class(bytes)) {
                calls += size.calls;
                ns += size.host_ns;
            }
        }
    }
    if (calls != 0) {
        return ns / calls;
    }
    const double mib = static_cast<double>(bytes) / (1 << 20);
    return std::max(kPinningNsAtLeast, static_cast<std::uint64_t>(mib * static_cast<double>(kPinningNsPerMiB)));
}

// Of this time, how much may have been waiting for earlier work.
std::uint64_t presumed_ns(const Capture& capture, const CaptureSite& site, std::uint64_t held) {
    if (site.waits.empty()) {
        return knows_waits(capture) ? 0 : held;
    }
    std::uint64_t ns = 0;
    for (const CauseTotal& total : causes_of(site)) {
        ns += total.presumed ? total.ns : 0;
    }
    return ns;
}

Saving withheld(std::string why) {
    Saving saving;
    saving.state = Saving::State::withheld;
    saving.text = std::move(why);
    return saving;
}

}  // namespace

Saving saving_of(const Capture& capture, const CopyTimesTable& times, const CaptureSite& site, bool waited_for) {
    // What was downloaded is needed by the host: its wait for the copy moves from the call to the event.
    const bool download = site.direction == Direction::device_to_host;
    const bool takes_copy = waited_for || download;
    std::uint64_t held = 0;
    std::uint64_t pinned = 0;
    Saving saving;
    for (const CaptureSize& size : site.sizes) {
        const std::uint64_t done = size.calls - std::min(size.calls, size.failed);
        if (done == 0 || size.bytes == 0) {
            continue;
        }
        const Estimate one = page_locked(times, site.direction, size.size_class, size.bytes / done);
        if (!one.found) {
            return withheld(
                "no page-locked asynchronous copy of this direction and about this size was made in this "
                "run");
        }
        if (takes_copy && one.copy_ns == 0) {
            return withheld(
                "the host waits for the copy in any case, and how long a page-locked copy takes was not "
                "measured in this run");
        }
        held += size.host_ns;
        pinned += done * (takes_copy ? std::max(one.copy_ns, one.call_ns) : one.call_ns);
        saving.pinned_call_ns = std::max(saving.pinned_call_ns, one.call_ns);
        saving.pinned_size = std::max(saving.pinned_size, one.reference_bytes);
    }
    if (held == 0) {
        return withheld("the calls' sizes are not known");
    }
    // Smaller uploads do not wait for earlier work, except for room.
    constexpr std::uint64_t kStagedBytes = 2u << 20;
    const bool may_wait = download || site.bytes_max > kStagedBytes;
    const std::uint64_t presumed = may_wait ? presumed_ns(capture, site, held) : 0;
    const std::uint64_t earlier = waited_ns(site, WaitCause::earlier_work) + waited_ns(site, WaitCause::legacy_stream);
    if (presumed != 0 && earlier + presumed >= held / 2) {
        return withheld(
            "how much of the time was waiting for earlier work, which page-locked memory does not end, is not known");
    }
    if (earlier >= held / 2) {
        return withheld(
            "the calls wait for earlier work: with page-locked memory that wait moves to where the result is "
            "needed");
    }
    const std::uint64_t spent = earlier + presumed + pinned;
    const std::uint64_t gain = held > spent ? held - spent : 0;
    const std::uint64_t cost = std::max<std::uint64_t>(site.threads, 1) * pinning_ns(capture, site.bytes_max);
    if (gain <= cost) {
        saving.state = Saving::State::not_worth;
        saving.text = fmt::format("page-locked memory would save at most {}, and page-locking it costs about {}",
                                  rough_duration_text(gain), rough_duration_text(cost));
        return saving;
    }
    saving.state = Saving::State::given;
    saving.ns = gain;
    saving.text = download ? "the buffer is page-locked once, and an event is waited for before it is read"
                           : "the buffer is page-locked once, and an event is waited for before it is written again";
    return saving;
}

}  // namespace pincheck
