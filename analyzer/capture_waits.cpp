#include "capture_waits.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "capture_merge.h"
#include "dwarf_module.h"

namespace pincheck {

std::string kernel_name(const std::string& recorded) {
    constexpr std::size_t kLongest = 256;
    return recorded.size() <= kLongest ? demangled(recorded.c_str()) : recorded;
}
namespace {

using namespace report;

using Sites = std::unordered_map<std::uint32_t, std::size_t>;
using Streams = std::unordered_map<std::uint32_t, std::uint32_t>;

// The entry of a list with this key, made where there is none.
template <class T, class Matches>
T& entry(std::vector<T>& list, Matches matches) {
    const auto found = std::ranges::find_if(list, matches);
    return found == list.end() ? list.emplace_back() : *found;
}

Streams add_streams(Capture& capture, const Report& report, const Sites& sites) {
    Streams result;
    for (const auto& [id, record] : report.streams) {
        CaptureStream& stream = capture.streams.emplace_back();
        stream.process = static_cast<std::uint32_t>(capture.processes.size() - 1);
        stream.site = site_in(sites, record.site);
        stream.kind = record.kind;
        stream.context = record.context;
        stream.device = record.device;
        stream.non_blocking = (record.flags & kStreamNonBlocking) != 0;
        result.emplace(id, static_cast<std::uint32_t>(capture.streams.size()));
    }
    return result;
}

void add_wait(CaptureWait& wait, const WaitSlot& slot, const Report& report, const Sites& sites,
              const Streams& streams) {
    const std::uint64_t first = since(report.header.start_ns, slot.first_ns);
    wait.cause = slot.cause;
    wait.evidence = slot.evidence;
    wait.first_ns = wait.calls == 0 ? first : std::min(wait.first_ns, first);
    wait.last_ns = std::max(wait.last_ns, since(report.header.start_ns, slot.last_ns));
    wait.calls += slot.calls;
    wait.ns += slot.ns;
    wait.items = std::max(wait.items, slot.items);
    ++wait.threads;
    const auto stream_of = [&](std::uint32_t id) {
        const auto found = streams.find(id);
        return found == streams.end() ? 0 : found->second;
    };
    if (slot.ns_max >= wait.ns_max) {
        const std::string* kernel = report.string(slot.kernel);
        wait.ns_max = slot.ns_max;
        wait.stream = stream_of(slot.stream);
        wait.behind_site = site_in(sites, slot.behind_site);
        wait.kernel = kernel == nullptr ? "" : kernel_name(*kernel);
    }
    for (const std::uint32_t id : slot.delayed_streams) {
        if (const std::uint32_t stream = stream_of(id); stream != 0) {
            wait.delayed_streams.push_back(stream);
        }
    }
}

void add_size(CaptureSize& size, const CounterSlot& slot, std::uint64_t calls) {
    size.size_class = slot.size_class;
    size.bytes_min = size.calls == 0 ? slot.bytes_min : std::min(size.bytes_min, slot.bytes_min);
    size.bytes_max = std::max(size.bytes_max, slot.bytes_max);
    size.calls += calls;
    size.failed += slot.failed;
    size.bytes += slot.bytes;
    size.host_ns += slot.host_ns;
    size.host_ns_max = std::max(size.host_ns_max, slot.host_ns_max);
    for (std::uint32_t bucket = 0; bucket < kHistogramBuckets; ++bucket) {
        size.histogram[bucket] += slot.histogram[bucket];
    }
}

void add_transfer(CaptureTransfer& transfer, const TransferSlot& slot) {
    transfer.size_class = slot.size_class;
    transfer.device_ns_min =
        transfer.copies == 0 ? slot.device_ns_min : std::min(transfer.device_ns_min, slot.device_ns_min);
    transfer.device_ns_max = std::max(transfer.device_ns_max, slot.device_ns_max);
    transfer.copies += slot.copies;
    transfer.bytes += slot.bytes;
    transfer.device_ns += slot.device_ns;
    transfer.calls += slot.calls;
    transfer.host_ns += slot.host_ns;
    transfer.completion_ns += slot.completion_ns;
    transfer.before_ns += slot.before_ns;
    transfer.during_ns += slot.during_ns;
    transfer.returned_early += slot.returned_early;
}

}  // namespace

std::uint32_t CaptureSize::median_bucket() const noexcept {
    return median_bucket_of(calls, histogram);
}

Streams add_waits(Capture& capture, const Report& report, const Sites& sites) {
    Streams streams = add_streams(capture, report, sites);
    std::vector<std::pair<std::size_t, std::uint32_t>> held;  // site and thread
    for (const WaitSlot& slot : report.waits) {
        const auto place = sites.find(slot.site);
        // Id 0: its owner had not filled it in when the snapshot was taken.
        if (place == sites.end() || slot.calls == 0) {
            continue;
        }
        CaptureWait& wait = entry(capture.sites[place->second].waits, [&](const CaptureWait& one) {
            return one.cause == slot.cause && one.evidence == slot.evidence;
        });
        add_wait(wait, slot, report, sites, streams);
        if (slot.cause != WaitCause::idle_sync) {
            capture.processes.back().held_ns += slot.ns;
            held.emplace_back(place->second, slot.thread);
        }
    }
    std::ranges::sort(held);
    const auto repeated = std::ranges::unique(held);
    held.erase(repeated.begin(), repeated.end());
    for (const auto& [position, thread] : held) {
        ++capture.sites[position].threads_held;
    }
    for (const CounterSlot& slot : report.counters) {
        const auto place = sites.find(slot.site);
        const std::uint64_t calls =
            std::accumulate(std::begin(slot.histogram), std::end(slot.histogram), std::uint64_t{0});
        if (place != sites.end() && calls != 0) {
            add_size(entry(capture.sites[place->second].sizes,
                           [&](const CaptureSize& one) { return one.size_class == slot.size_class; }),
                     slot, calls);
        }
    }
    for (const TransferSlot& slot : report.transfers) {
        const auto place = sites.find(slot.site);
        if (place != sites.end() && slot.copies != 0) {
            add_transfer(entry(capture.sites[place->second].transfers,
                               [&](const CaptureTransfer& one) { return one.size_class == slot.size_class; }),
                         slot);
        }
    }
    return streams;
}

std::vector<std::uint32_t> finish_waits(Capture& capture, std::span<const std::uint32_t> site_ids,
                                        std::span<const std::size_t> processes) {
    const auto site_id = [&](std::uint32_t reference) { return reference == 0 ? 0 : site_ids[reference - 1]; };
    std::vector<std::uint32_t> process_at(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i) {
        process_at[processes[i]] = static_cast<std::uint32_t>(i);
    }
    // A process's streams came one after another, in the order of their ids.
    std::vector<std::size_t> order(capture.streams.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return process_at[capture.streams[i].process]; });
    std::vector<std::uint32_t> stream_ids(order.size());
    std::vector<CaptureStream> sorted;
    sorted.reserve(order.size());
    for (const std::size_t position : order) {
        CaptureStream& stream = sorted.emplace_back(capture.streams[position]);
        stream.id = stream_ids[position] = static_cast<std::uint32_t>(sorted.size());
        stream.process = process_at[stream.process];
        stream.site = site_id(stream.site);
    }
    capture.streams = std::move(sorted);
    for (CaptureSite& site : capture.sites) {
        for (CaptureWait& wait : site.waits) {
            wait.stream = wait.stream == 0 ? 0 : stream_ids[wait.stream - 1];
            wait.behind_site = site_id(wait.behind_site);
            for (std::uint32_t& stream : wait.delayed_streams) {
                stream = stream_ids[stream - 1];
            }
            std::ranges::sort(wait.delayed_streams);
            const auto repeated = std::ranges::unique(wait.delayed_streams);
            wait.delayed_streams.erase(repeated.begin(), repeated.end());
        }
        std::ranges::sort(site.waits, {},
                          [](const CaptureWait& wait) { return std::tuple(~wait.ns, wait.cause, wait.evidence); });
        std::ranges::sort(site.sizes, {}, &CaptureSize::size_class);
        std::ranges::sort(site.transfers, {}, &CaptureTransfer::size_class);
        for (CaptureSize& size : site.sizes) {
            size.bytes_min = size.bytes_min == UINT64_MAX ? 0 : size.bytes_min;  // all calls failed
        }
    }
    return stream_ids;
}

}  // namespace pincheck
