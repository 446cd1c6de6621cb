// One site in full: `pincheck show`.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "names.h"
#include "printable.h"
#include "render_text.h"
#include "render_text_gate.h"
#include "render_text_layout.h"
#include "render_text_parts.h"
#include "render_text_processes.h"
#include "render_text_races.h"
#include "render_text_saving.h"
#include "render_text_waits.h"
#include "symbolize.h"
#include "wait_text.h"

namespace pincheck {
namespace {

constexpr std::size_t kLabel = 16;
constexpr std::size_t kMinimumWidth = 60;
constexpr std::size_t kMaximumWidth = 200;

std::string stream_text(report::StreamKind stream) {
    switch (stream) {
        case report::StreamKind::none:
            return "";
        case report::StreamKind::legacy_default:
            return "legacy default stream";
        case report::StreamKind::per_thread_default:
            return "per-thread default stream";
        case report::StreamKind::created:
            return "a created stream";
    }
    return "stream of unknown kind";
}

void add_what(Lines& lines, const CaptureSite& site, const std::string& api) {
    std::string text = printable(api);
    if (api != site.api) {
        text += " (recorded as " + printable(site.api) + ')';
    }
    const auto add = [&](const std::string& part) { text += part.empty() ? "" : ", " + part; };
    add(direction_text(site.direction));
    const std::string source = memory_text(site.source);
    const std::string destination = memory_text(site.destination);
    add(source.empty() || destination.empty() ? source + destination : source + " to " + destination);
    add(stream_text(site.stream));
    if (site.kind == report::SiteKind::copy) {
        add(site.is_async() ? "asynchronous by name" : "synchronous");
    }
    lines.paragraph(text, kLabel, "Call");
    const auto flagged = [&](std::uint16_t flag, const char* note) {
        if ((site.flags & flag) != 0) {
            lines.paragraph(note, kLabel);
        }
    };
    flagged(report::kSiteCaptured, "captured into a graph: the call moves nothing by itself");
    flagged(report::kSiteInGraph, "made by launches of graphs; the stack is where the copy was put into the graph");
    flagged(report::kSiteOverflow, "the table of sites was full: all further calls of this function, from anywhere");
    flagged(report::kSiteOnDriverThread, "on a thread of the driver (a host function)");
}

void add_counters(Lines& lines, const Capture& capture, const CaptureSite& site) {
    const std::string only_in = only_in_text(capture, site);
    const std::string spread = only_in.empty() ? spread_text(site) : only_in;
    std::string calls = count_text(site.calls) + (spread.empty() ? "" : " " + spread);
    if (site.failed != 0) {
        calls += fmt::format(", {} failed (last error {})", count_text(site.failed), site.last_error);
    }
    lines.paragraph(calls, kLabel, "Calls");
    if (site.bytes != 0) {
        const std::string each = site.bytes_min >= site.bytes_max
                                     ? bytes_text(site.bytes_max)
                                     : bytes_text(site.bytes_min) + " to " + bytes_text(site.bytes_max);
        lines.paragraph(each + " a call, " + bytes_text(site.bytes) + " in all", kLabel, "Bytes");
    }
    std::string time = duration_text(site.host_ns) + " held";
    if (site.calls > 1) {
        time += fmt::format("; {} a call on average, {} at most", duration_text(site.host_ns / site.calls),
                            duration_text(site.host_ns_max));
    }
    lines.paragraph(time, kLabel, "Host time");
    if (site.calls > 1) {
        lines.paragraph(fmt::format("first {}, last {} after the process's first CUDA call",
                                    duration_text(site.first_ns), duration_text(site.last_ns)),
                        kLabel, "When");
    }
    if (site.kind == report::SiteKind::copy && site.then_synchronized != 0) {
        lines.paragraph(fmt::format("for {} of {} the thread's very next CUDA call waited for the same stream",
                                    count_text(site.then_synchronized), count_text(site.calls)),
                        kLabel, "Waited for");
    }
}

// One line a bucket, from the first that is used to the last.
void add_histogram(Lines& lines, const CaptureSite& site) {
    std::uint64_t largest = 0;
    std::uint32_t first = report::kHistogramBuckets;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < report::kHistogramBuckets; ++i) {
        if (site.histogram[i] != 0) {
            largest = std::max(largest, site.histogram[i]);
            first = std::min(first, i);
            last = i;
        }
    }
    if (site.calls < 2 || largest == 0) {
        return;
    }
    lines.empty_line();
    lines.line("Calls by host time");
    constexpr std::size_t kBefore = 4 + 22 + 2 + 13 + 2;
    const std::size_t room = std::min<std::size_t>(lines.width() - kBefore, 40);
    for (std::uint32_t i = first; i <= last; ++i) {
        const std::string low = duration_text(report::histogram_lower_bound(i));
        const std::string high =
            i + 1 == report::kHistogramBuckets ? "" : duration_text(report::histogram_lower_bound(i + 1));
        const std::string range = i == 0 ? "below " + high : high.empty() ? low + " and more" : low + " to " + high;
        const double part = static_cast<double>(site.histogram[i]) / static_cast<double>(largest);
        const auto bar = static_cast<std::size_t>(part * static_cast<double>(room) + 0.5);
        lines.line(fmt::format("    {:<22}  {:>13}  {}", range, count_text(site.histogram[i]),
                               std::string(site.histogram[i] != 0 ? std::max<std::size_t>(bar, 1) : 0, '#')));
    }
}

const char* origin_text(Origin origin) {
    switch (origin) {
        case Origin::user:
            return "";
        case Origin::framework:
            return "framework";
        case Origin::vendor:
            return "vendor";
        case Origin::system:
            return "system";
        case Origin::cuda:
            return "CUDA";
        case Origin::tool:
            return "pincheck";
    }
    return "";
}

void add_frame(Lines& lines, const Capture& capture, const CaptureFrame& frame, const std::string& label,
               Origin origin) {
    const std::string module =
        frame.module < capture.modules.size() ? printable(base_name(capture.modules[frame.module].path)) : "";
    const std::string whose = origin_text(origin);
    constexpr std::size_t kIndent = 10;
    if (frame.lines.empty()) {
        lines.paragraph(printable(frame_text(capture, frame)) + (whose.empty() ? "" : " [" + whose + "]"), kIndent,
                        label);
        return;
    }
    for (std::size_t i = 0; i < frame.lines.size(); ++i) {
        const SourceLine& line = frame.lines[i];
        std::string text = line.function.empty() ? "(unnamed)" : printable(line.function);
        if (!line.file.empty()) {
            text += "  " + printable(line.file) + (line.line != 0 ? fmt::format(":{}", line.line) : "");
        } else {
            text += fmt::format("  {}+{:#x}{}", module.empty() ? "?" : module, frame.offset,
                                line.exact ? "" : ", nearest symbol");
        }
        text += i + 1 < frame.lines.size() ? "  (inlined)" : whose.empty() ? "" : "  [" + whose + ']';
        lines.paragraph(text, kIndent, i == 0 ? label : "");
    }
}

void add_stack(Lines& lines, const Capture& capture, const CaptureSite& site, int heading, const Origins& origins) {
    lines.empty_line();
    if (site.stack.empty()) {
        lines.line("No stack was recorded.");
        return;
    }
    const bool is_only = (site.flags & report::kSiteExactStack) != 0 || site.kind == report::SiteKind::host_access;
    lines.line(is_only ? "Stack, innermost first" : "Stack of the first call, innermost first");
    for (std::size_t i = 0; i < site.stack.size(); ++i) {
        const bool is_heading = heading >= 0 && static_cast<std::size_t>(heading) == i;
        add_frame(lines, capture, site.stack[i], fmt::format("  {} #{}", is_heading ? '>' : ' ', i),
                  origins.of(capture, site.stack[i]));
        const std::string source = is_heading ? source_text(capture, site.stack[i], origins) : "";
        if (!source.empty()) {
            lines.line(std::string(14, ' ') + source);
        }
    }
    if (site.stack_cut) {
        lines.line("    … deeper than the limit (depth=N records more)");
    }
}

void add_allocation(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins) {
    const CaptureSite* allocation = site.allocation_site == 0 ? nullptr : site_by_id(capture, site.allocation_site);
    if (allocation != nullptr) {
        const Place place = place_of(capture, *allocation, heading_frame(capture, *allocation, origins), origins);
        lines.paragraph(fmt::format("{}  (site s{}, {})", place_text(place), allocation->id,
                                    printable(called_api(capture, *allocation, origins))),
                        kLabel, "Page-locked at");
    }
}

void add_findings(Lines& lines, const CaptureSite& site, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
        if (finding.site != site.id && finding.other_site != site.id &&
            std::ranges::find(finding.also, site.id) == finding.also.end()) {
            continue;
        }
        lines.empty_line();
        const std::string severity = severity_text(finding.severity);
        const RuleInfo* rule = rule_by_slug(slug_of(finding.rule));
        lines.raw("Finding: " + painted(severity, severity_paint(finding.severity), lines.color()) + ", " +
                  slug_of(finding.rule) + (finding.cause ? ", " + cause_label(*finding.cause, finding.presumed) : "") +
                  (finding.is_timed() && finding.once ? ", once" : ""));
        if (rule != nullptr) {
            lines.paragraph(rule->claim, 4, "    ");
        }
        if (!finding.why.empty()) {
            lines.paragraph(printable(finding.why), 4, "    ");
        }
        if (!finding.fix.empty()) {
            lines.paragraph("Fix: " + printable(finding.fix), 4, "    ");
        }
        if (const std::string saving = full_saving_text(finding.saving); !saving.empty()) {
            lines.paragraph("Saving: " + saving, 4, "    ");
        }
        if (!finding.also.empty()) {
            std::string also;
            for (const std::uint32_t id : finding.also) {
                also += fmt::format("{}s{}", also.empty() ? "" : ", ", id);
            }
            lines.paragraph(fmt::format("Sites: s{}, {}", finding.site, also), 4, "    ");
        }
        if (const std::string ruling = ruling_text(finding.ruling); !ruling.empty()) {
            lines.paragraph(ruling, 4, "    ");
        }
        lines.paragraph(
            "More: pincheck explain " + (finding.cause ? name(*finding.cause) : std::string(slug_of(finding.rule))), 4,
            "    ");
    }
}

}  // namespace

std::string site_text(const Capture& capture, const CaptureSite& site, const std::vector<Finding>& findings,
                      const Origins& origins, const ScreenOptions& options) {
    Lines lines(std::clamp<std::size_t>(options.width, kMinimumWidth, kMaximumWidth), options.color);
    const int heading = heading_frame(capture, site, origins);
    const Place place = place_of(capture, site, heading, origins);
    lines.paragraph(place_text(place), kLabel, fmt::format("Site s{}", site.id));
    if (site.kind == report::SiteKind::host_access) {
        const bool reads =
            std::ranges::any_of(capture.reads, [&](const CaptureRead& read) { return read.site == site.id; });
        lines.paragraph(
            reads ? "by the host, of write-combined memory" : "by the host, of memory that a copy in flight uses",
            kLabel, "Access");
    } else {
        add_what(lines, site, called_api(capture, site, origins));
        add_counters(lines, capture, site);
    }
    add_allocation(lines, capture, site, origins);
    add_waits(lines, capture, site, origins);
    add_device_times(lines, site);
    add_races(lines, capture, site, origins);
    add_reads(lines, capture, site, origins);
    add_histogram(lines, site);
    add_stack(lines, capture, site, heading, origins);
    add_findings(lines, site, findings);
    return lines.take();
}

}  // namespace pincheck
