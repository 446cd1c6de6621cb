#include "render_top.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "place.h"
#include "printable.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

// Columns of the numbers; the rest is what and where.
constexpr std::size_t kNumber = 10;

double per_second(std::uint64_t amount, std::uint64_t ns) {
    return ns == 0 ? 0 : static_cast<double>(amount) * 1e9 / static_cast<double>(ns);
}
std::uint64_t rounded(double value) {
    return static_cast<std::uint64_t>(value + 0.5);
}

std::uint64_t time_of(const Capture& capture, const TopOptions& options) {
    std::uint64_t ns = options.since_ns;
    for (const CaptureProcess& process : capture.processes) {
        ns = options.since_ns == 0 ? std::max(ns, process.duration_ns) : ns;
    }
    return ns;
}

std::string what_of(const CaptureSite& site) {
    std::string text = printable(site.api);
    if (site.kind == report::SiteKind::copy) {
        text += ' ' + direction_text(site.direction);
        const std::string memory = host_memory_text(site);
        text += memory.empty() ? "" : ' ' + memory;
    }
    return text;
}

void add_inside(Lines& lines, const Capture& capture) {
    for (const CaptureProcess& process : capture.processes) {
        for (const CaptureProcess::InCall& call : process.in_call) {
            if (!process.ended) {
                lines.paragraph(fmt::format("thread {} of pid {} has been in {} for {}", call.tid, process.pid,
                                            printable(call.api), duration_text(call.since_ns)),
                                0);
            }
        }
    }
}

}  // namespace

std::string top_text(const Capture& capture, const Origins& origins, const TopOptions& options) {
    Lines lines(options.width, options.color);
    const std::uint64_t time = time_of(capture, options);
    std::uint64_t calls = 0;
    std::vector<const CaptureSite*> sites;
    for (const CaptureProcess& process : capture.processes) {
        calls += process.cuda_calls;
    }
    for (const CaptureSite& site : capture.sites) {
        if (site.calls != 0 && !site.is_in_graph() && site.kind != report::SiteKind::host_access) {
            sites.push_back(&site);
        }
    }
    std::ranges::stable_sort(sites, std::ranges::greater(), &CaptureSite::host_ns);
    const std::uint64_t held = capture.total_host_ns();
    std::string who = capture.processes.size() == 1 ? fmt::format("{}, pid {}", command_text(capture.processes.front()),
                                                                  capture.processes.front().pid)
                                                    : counted(capture.processes.size(), "process");
    lines.line(who);
    lines.paragraph(
        fmt::format("{} {}: {}, {} of host time in them{}", options.since_ns == 0 ? "all of" : "the last",
                    duration_text(time), counted(calls, "CUDA call"), duration_text(held),
                    time == 0 ? "" : fmt::format(" ({} a second)", duration_text(rounded(per_second(held, time))))),
        0);
    add_inside(lines, capture);
    if (sites.empty()) {
        return lines.take();
    }
    lines.empty_line();
    lines.raw(painted(
        fmt::format("{:>{}}{:>{}}{:>{}}  {}", "time/s", kNumber, "calls/s", kNumber, "bytes/s", kNumber, "call"),
        Paint::strong, options.color));
    for (std::size_t i = 0; i < std::min(sites.size(), options.rows); ++i) {
        const CaptureSite& site = *sites[i];
        const std::string where = place_text(place_of(capture, site, heading_frame(capture, site, origins), origins));
        const std::string bytes = site.bytes == 0 ? "" : bytes_text(rounded(per_second(site.bytes, time)));
        lines.line(fmt::format("{:>{}}{:>{}}{:>{}}  {}  {}", duration_text(rounded(per_second(site.host_ns, time))),
                               kNumber, count_text(rounded(per_second(site.calls, time))), kNumber, bytes, kNumber,
                               what_of(site), where));
    }
    if (sites.size() > options.rows) {
        lines.line(fmt::format("{:>{}}", "…", 3 * kNumber) + "  " + count_text(sites.size() - options.rows) + " more");
    }
    return lines.take();
}

}  // namespace pincheck
