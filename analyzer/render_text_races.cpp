#include "render_text_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "names.h"
#include "place.h"
#include "printable.h"
#include "race_text.h"
#include "site_rules.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

// Of what was asked for and could not be: "no trap: REASON".
constexpr std::string_view kNoTrap = "no trap: ";
constexpr std::string_view kNoPageable = "no pageable: ";

// How the process's buffers in flight were followed, and after ": " why not better. "" in reports of other versions.
std::string_view races_level(const CaptureProcess& process) {
    std::string_view level;
    for (const CaptureProcess::Coverage& coverage : process.coverage) {
        if (coverage.kind == CoverageKind::races && !coverage.text.starts_with("no ")) {
            level = coverage.text;  // what is said later is known better
        }
    }
    return level;
}
// Why that was not done, though it was asked for. "" where it was, or nobody had asked.
std::string why_not(const CaptureProcess& process, std::string_view what) {
    for (const CaptureProcess::Coverage& coverage : process.coverage) {
        if (coverage.kind == CoverageKind::races && coverage.text.starts_with(what)) {
            return coverage.text.substr(what.size());
        }
    }
    return "";
}

bool is_page_locked(const CaptureSite& site) {
    const MemoryClass host = site.host_memory().kind;
    return host == MemoryClass::pinned || host == MemoryClass::registered;
}

}  // namespace

std::string found_text(const Finding& finding) {
    if (!finding.reads.empty()) {
        return "in " + counted(finding.count, "sample");
    }
    const std::string times = finding.count == 1 ? "once" : counted(finding.count, "time");
    return finding.corrupting != 0           ? "corrupting, " + times
           : finding.latent == finding.count ? "latent, " + times
                                             : times;
}

void add_races(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins) {
    bool any = false;
    constexpr std::size_t kIndent = 4;
    constexpr std::size_t kDetail = 8;
    const std::string indent(kIndent, ' ');
    for (const CaptureRace& race : capture.races) {
        if (race.copy_site != site.id && race.other_site != site.id) {
            continue;
        }
        if (!any) {
            lines.empty_line();
            lines.line("Uses of its memory in flight");
            any = true;
        }
        lines.paragraph(fmt::format("{}: {}; found by {}", name(race.rule),
                                    has_outcome(capture, race) ? times_text(race.count, race.corrupting, race.latent)
                                    : race.count == 1          ? "once"
                                                               : counted(race.count, "time"),
                                    level_text(race)),
                        kDetail, indent);
        const auto detail = [&](const std::string& label, const std::string& text) {
            if (!text.empty()) {
                lines.paragraph(label + text, kDetail + 4, std::string(kDetail, ' '));
            }
        };
        const auto in = [&](std::uint32_t id, std::uint32_t thread) {
            const std::string stream = stream_name(capture, id, origins);
            return (stream.empty() ? "" : ", in " + stream) + (thread == 0 ? "" : fmt::format(", thread {}", thread));
        };
        detail("Copy: ", call_at(capture, race.copy_site, origins) + in(race.stream, race.thread));
        detail("Other: ", party_text(capture, race, origins) + in(race.other_stream, race.other_thread));
        const std::string overlap = overlap_text(race);
        detail("Memory: ", fmt::format("{}{}{:#x}", overlap, overlap.empty() ? "" : ", from ", race.address));
        detail("Page-locked by ", call_at(capture, race.pin_site, origins));
        detail("Waited for, too late, by ", call_at(capture, race.wait_site, origins));
        detail("Launches of the graph: ", race.graph_launches == 0 ? "" : count_text(race.graph_launches));
        const std::string last = race.count > 1 ? ", last " + duration_text(race.last_ns) : "";
        detail("When: ", fmt::format("first {}{} after the process's first CUDA call{}", duration_text(race.first_ns),
                                     last, race.processes > 1 ? fmt::format("; in {} processes", race.processes) : ""));
        if (race.flags != 0) {
            detail("Marks: ", race_flag_names(race.flags));
        }
    }
}

void add_reads(Lines& lines, const Capture& capture, const CaptureSite& site, const Origins& origins) {
    bool any = false;
    constexpr std::size_t kIndent = 4;
    constexpr std::size_t kDetail = 8;
    for (const CaptureRead& read : capture.reads) {
        if (read.site != site.id && read.pin_site != site.id) {
            continue;
        }
        if (!any) {
            lines.empty_line();
            lines.line("Reads from write-combined memory, by samples");
            any = true;
        }
        const CaptureSite& reader = capture.sites[read.site - 1];
        lines.paragraph(
            fmt::format(
                "{}: in {}{}", place_text(place_of(capture, reader, heading_frame(capture, reader, origins), origins)),
                counted(read.samples, "sample"), read.call.empty() ? "" : ", by " + printable(read.call) + "()"),
            kDetail, std::string(kIndent, ' '));
        const auto detail = [&](const std::string& text) {
            lines.paragraph(text, kDetail + 4, std::string(kDetail, ' '));
        };
        detail(fmt::format("First: {}, from {:#x}{}", read_bytes_text(read), read.address,
                           read.thread == 0 ? "" : fmt::format(", thread {}", read.thread)));
        if (const std::string allocation = call_at(capture, read.pin_site, origins); !allocation.empty()) {
            detail("Allocated by " + allocation);
        }
        const std::string last = read.samples > 1 ? ", last " + duration_text(read.last_ns) : "";
        detail(fmt::format("When: first {}{} after the process's first CUDA call{}", duration_text(read.first_ns), last,
                           read.processes > 1 ? fmt::format("; in {} processes", read.processes) : ""));
    }
}

std::vector<std::string> unseen_races(const Capture& capture) {
    const auto any_copy = [&](auto matches) {
        return std::ranges::any_of(capture.sites, [&](const CaptureSite& site) {
            return site.kind == SiteKind::copy && site.is_async() && site.calls > site.failed && matches(site);
        });
    };
    const bool copies = any_copy([](const CaptureSite&) { return true; });
    const bool page_locked = any_copy(is_page_locked);
    const bool results = any_copy(
        [](const CaptureSite& site) { return is_page_locked(site) && site.direction == Direction::device_to_host; });
    const bool combined = std::ranges::any_of(capture.sites, [](const CaptureSite& site) {
        constexpr std::uint16_t kBits = kMemoryFlagsKnown | kMemoryWriteCombined;
        return site.kind == SiteKind::copy && (site.host_memory().flags & kBits) == kBits;
    });
    std::vector<std::string> lines;
    for (const CaptureProcess& process : capture.processes) {
        const std::string_view text = races_level(process);
        const std::string_view asked = text.substr(0, text.find(':'));
        const std::string_view level = asked.substr(0, asked.find(','));
        const bool limited = asked.size() != text.size();
        const std::string why =
            limited ? printable(std::string(text.substr(asked.size()))) : " (races=" + std::string(asked) + ")";
        if (const std::string reason = why_not(process, kNoPageable); !reason.empty()) {
            lines.push_back("what the host writes into pageable sources before a wait: " + printable(reason));
        }
        if (level == "off" && copies) {
            lines.push_back("buffers that are used again before their copy has finished" + why);
        } else if (level == "order" && page_locked) {
            lines.push_back("what the host writes into page-locked buffers in flight" + why);
        } else if (level == "watch" && limited && page_locked) {
            lines.push_back("what the host writes into page-locked buffers in flight, but by checksums of uploads" +
                            why);
        } else if (level == "trap" && limited && page_locked) {
            lines.push_back("which instructions write into the sources of uploads" + why);
        } else if (level == "watch" && results) {
            const std::string reason = why_not(process, kNoTrap);
            lines.push_back("early reads of downloaded results" +
                            (reason.empty() ? " (races=trap)" : ", which races=trap finds: " + printable(reason)));
        }
        if (combined && level != "trap") {
            lines.push_back("what the CPU reads from write-combined memory (races=trap takes samples)");
        }
    }
    return lines;
}

}  // namespace pincheck
