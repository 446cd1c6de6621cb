#include "capture_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "capture_merge.h"

namespace pincheck {
namespace {

using namespace report;

auto identity(const CaptureRead& read) {
    return std::tuple(read.site, read.pin_site, read.call);
}

}  // namespace

void add_reads(Capture& capture, const Report& report, const std::unordered_map<std::uint32_t, std::size_t>& sites) {
    const auto site_of = [&](std::uint32_t id) { return site_in(sites, id); };
    std::map<decltype(identity({})), std::size_t> known;
    for (std::size_t i = 0; i < capture.reads.size(); ++i) {
        known.emplace(identity(capture.reads[i]), i);
    }
    std::set<std::size_t> of_this_process;
    for (const ReadSlot& slot : report.reads) {
        const std::string* call = report.string(slot.call);
        CaptureRead read;
        read.site = site_of(slot.site);
        read.pin_site = site_of(slot.pin_site);
        read.call = call == nullptr ? "" : *call;
        read.first_ns = since(report.header.start_ns, slot.first_ns);
        // Id 0: its owner had not filled it in when the snapshot was taken.
        if (read.site == 0 || slot.samples == 0) {
            continue;
        }
        const auto [place, is_new] = known.try_emplace(identity(read), capture.reads.size());
        CaptureRead& sum = is_new ? capture.reads.emplace_back(read) : capture.reads[place->second];
        if (is_new || read.first_ns < sum.first_ns) {
            sum.first_ns = read.first_ns;
            sum.process = static_cast<std::uint32_t>(capture.processes.size() - 1);
            sum.thread = slot.thread;
            sum.address = slot.address;
            sum.bytes = slot.bytes;
            sum.begin = slot.begin;
            sum.end = slot.end;
        }
        sum.processes += of_this_process.insert(place->second).second ? 1 : 0;
        sum.last_ns = std::max(sum.last_ns, since(report.header.start_ns, slot.last_ns));
        sum.samples += slot.samples;
    }
}

void finish_reads(Capture& capture, std::span<const std::uint32_t> site_ids, std::span<const std::size_t> processes) {
    std::vector<std::uint32_t> process_at(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i) {
        process_at[processes[i]] = static_cast<std::uint32_t>(i);
    }
    for (CaptureRead& read : capture.reads) {
        read.site = site_ids[read.site - 1];
        read.pin_site = read.pin_site == 0 ? 0 : site_ids[read.pin_site - 1];
        read.process = process_at[read.process];
    }
    std::ranges::sort(capture.reads, {}, identity);
}

}  // namespace pincheck
