#include "render_text_waits.h"

#include <fmt/format.h>

#include <algorithm>

#include "hidden_waits.h"
#include "printable.h"
#include "render_text_coverage.h"
#include "wait_text.h"

namespace pincheck {
namespace {

constexpr std::size_t kIndent = 4;

std::string streams_text(const CaptureWait& wait, const Capture& capture, const Origins& origins) {
    std::string text;
    for (const std::uint32_t id : wait.delayed_streams) {
        const std::string name = stream_name(capture, id, origins);
        text += (text.empty() || name.empty() ? "" : ", ") + name;
    }
    return text;
}

std::string size_label(const CaptureSite& site, const CaptureTransfer& transfer) {
    const auto size = std::ranges::find(site.sizes, transfer.size_class, &CaptureSize::size_class);
    if (size == site.sizes.end() || size->bytes_max == 0) {
        return bytes_text(report::size_class_lower_bound(transfer.size_class)) + " and up";
    }
    return size->bytes_min >= size->bytes_max ? bytes_text(size->bytes_max)
                                              : bytes_text(size->bytes_min) + " to " + bytes_text(size->bytes_max);
}

}  // namespace

void add_waits(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins) {
    if (site.waits.empty()) {
        return;
    }
    lines.empty_line();
    lines.line("What its calls waited for");
    constexpr std::size_t kCause = 22;
    const std::string indent(kIndent, ' ');
    for (const CaptureWait& wait : site.waits) {
        std::string text = counted(wait.calls, "call");
        text += wait.threads > 1 ? fmt::format(" in {} threads", wait.threads) : "";
        text += ", " + duration_text(wait.ns);
        text += wait.calls > 1 ? " in total, " + duration_text(wait.ns_max) + " at most" : "";
        const bool presumed = is_presumed(wait.cause, wait.evidence);
        if (wait.cause != report::WaitCause::unknown) {
            text += std::string(presumed ? "; presumed from " : "; known by ") + evidence_text(wait.evidence);
        }
        lines.paragraph(text, kCause, indent + cause_label(wait.cause, presumed));
        const std::string stream = stream_name(capture, wait.stream, origins);
        const std::string newest = call_at(capture, wait.behind_site, origins);
        std::string longest;
        const auto add = [&](const std::string& part) {
            longest += (longest.empty() || part.empty() ? "" : ", ") + part;
        };
        add(stream.empty() ? "" : "in " + stream);
        const bool lock = wait.cause == report::WaitCause::lock;
        add(newest.empty() ? "" : (lock ? "the other thread in " : "newest work before it ") + newest);
        add(wait.kernel.empty() ? "" : "kernel " + printable(wait.kernel) + " ran");
        add(wait.items == 0 ? "" : count_text(wait.items) + " items not complete");
        if (!longest.empty()) {
            lines.paragraph("Longest call: " + longest + '.', kCause);
        }
        if (const std::string delayed = streams_text(wait, capture, origins); !delayed.empty()) {
            lines.paragraph("Delayed work for " + delayed + '.', kCause);
        }
    }
}

void add_device_times(Lines& lines, const CaptureSite& site) {
    if (site.transfers.empty()) {
        return;
    }
    lines.empty_line();
    lines.line("By the device's times");
    constexpr std::size_t kSize = 22;
    const std::string indent(kIndent, ' ');
    for (const CaptureTransfer& transfer : site.transfers) {
        std::string text = count_text(transfer.copies) + (transfer.copies == 1 ? " copy" : " copies");
        if (transfer.copies != 0) {
            text += ", " + duration_text(transfer.device_ns / transfer.copies) + " on the device" +
                    (transfer.copies == 1 ? "" : " on average");
        }
        if (transfer.device_ns != 0) {
            text += fmt::format(" ({:.3g} GB/s)",
                                static_cast<double>(transfer.bytes) / static_cast<double>(transfer.device_ns));
        }
        if (transfer.completion_ns != 0) {
            text += fmt::format(
                "; call share {}, {} of {} to completion",
                percent_text(static_cast<double>(transfer.host_ns) / static_cast<double>(transfer.completion_ns)),
                duration_text(transfer.host_ns), duration_text(transfer.completion_ns));
            text += fmt::format("; in the calls {} before the copy ran and {} while it ran",
                                duration_text(transfer.before_ns), duration_text(transfer.during_ns));
            text += fmt::format("; {} of {} returned early", count_text(transfer.returned_early),
                                counted(transfer.calls, "call"));
        }
        lines.paragraph(text, kSize, indent + size_label(site, transfer));
    }
}

void add_plain_times(Lines& lines, const Capture& capture, const Origins& origins) {
    const PlainTimes times = plain_times(capture, origins);
    std::string costs;
    std::string waits;
    const auto add = [](std::string& text, const std::string& what, const PlainTime& time) {
        if (time.calls != 0) {
            text += fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", what, duration_text(time.ns),
                                counted(time.calls, "call"));
        }
    };
    add(costs, "page-locking", times.pinning);
    add(costs, "loading modules", times.module_loading);
    if (!costs.empty()) {
        lines.paragraph("not waits: " + costs, kLabelColumns, "Costs");
    }
    add(waits, "synchronisation", times.requested);
    add(waits, "synchronous copies", times.synchronous_copy);
    std::string text = waits.empty() ? "" : "the program asked for: " + waits;
    if (times.idle_sync.calls != 0) {
        text += fmt::format("{}{} of {} waited for nothing ({})", text.empty() ? "" : "; ",
                            count_text(times.idle_sync.calls),
                            counted(std::max(times.synchronisations, times.idle_sync.calls), "synchronisation"),
                            duration_text(times.idle_sync.ns));
    }
    if (!text.empty()) {
        lines.paragraph(text, kLabelColumns, "Waits");
    }
}

}  // namespace pincheck
