#include "render_text_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "printable.h"
#include "render_text_gate.h"
#include "render_text_parts.h"
#include "render_text_processes.h"
#include "render_text_races.h"
#include "render_text_saving.h"
#include "wait_text.h"

namespace pincheck {
namespace {

constexpr std::size_t kListed = 10;
// Where the facts of a call begin, counted from the right edge.
constexpr std::size_t kFactColumns = 42;

void add_heading(Lines& lines, const std::string& number, const Place& place, const Finding& finding) {
    const std::string severity = severity_text(finding.severity);
    const std::string held = finding.is_timed()
                                 ? duration_text(finding.held_ns) + " held" + (finding.once ? ", once" : "")
                                 : found_text(finding);
    constexpr std::size_t kSeverityColumns = 7;
    const std::size_t right = columns(held) + 3 + kSeverityColumns;
    const std::size_t room = lines.width() - right - 2;
    std::string left = number + clip_path(place.position, room - number.size());
    const std::size_t used = columns(left);
    if (!place.function.empty() && used + 6 <= room) {
        left += "  " + clip(place.function, room - used - 2);
    }
    left.append(lines.width() - right - columns(left), ' ');
    lines.raw(left + held + "   " + painted(severity, severity_paint(finding.severity), lines.color()));
}

// Made at all sites of a finding, waiting or not.
std::uint64_t calls_of(const Finding& finding, const Capture& capture) {
    const CaptureSite* site = site_by_id(capture, finding.site);
    std::uint64_t calls = site == nullptr ? 0 : site->calls;
    for (const std::uint32_t id : finding.also) {
        const CaptureSite* other = site_by_id(capture, id);
        calls += other == nullptr ? 0 : other->calls;
    }
    return calls;
}

// "hidden-wait (device-wide)"
std::string title_of(const Finding& finding) {
    return slug_of(finding.rule) + (finding.cause ? " (" + cause_label(*finding.cause, finding.presumed) + ')' : "");
}

void add_finding(Lines& lines, std::size_t number, const Finding& finding, const Capture& capture,
                 const Origins& origins) {
    const CaptureSite* site = site_by_id(capture, finding.site);
    if (site == nullptr) {
        return;
    }
    add_heading(lines, fmt::format("#{:<3}", number), place_of(capture, *site, finding.heading, origins), finding);

    const bool is_access = site->kind == report::SiteKind::host_access && finding.api.empty();
    const std::string api = is_access ? "read by the host" : printable(finding.api.empty() ? site->api : finding.api);
    std::string source;
    if (finding.heading >= 0 && static_cast<std::size_t>(finding.heading) < site->stack.size()) {
        source = source_text(capture, site->stack[static_cast<std::size_t>(finding.heading)], origins);
    }
    const std::string facts =
        site->kind == report::SiteKind::copy
            ? fmt::format("{}  {}   {}", direction_text(site->direction), sizes_text(*site), host_memory_text(*site))
        : site->kind == report::SiteKind::host_access ? "from write-combined memory"
                                                      : counted(calls_of(finding, capture), "call");
    constexpr std::size_t kIndent = 4;
    const std::string indent(kIndent, ' ');
    const std::size_t fact_column = lines.width() >= 80 ? lines.width() - kFactColumns : 0;
    const bool api_in_source = source.find(api) != source.npos;
    if (!source.empty() && !api_in_source) {
        lines.line(indent + source);
    }
    lines.pair(indent + (api_in_source ? source : api), facts, kIndent, fact_column);

    std::string text = finding.rule == Rule::pageable_async_copy ? "" : title_of(finding) + ". ";
    text += printable(finding.why);
    std::string also;
    const auto add = [&](const std::string& part) { also += (also.empty() || part.empty() ? "" : ", ") + part; };
    // What is known of waits has these numbers already.
    const bool told =
        !finding.is_timed() || finding.cause || (!site->waits.empty() && !causes_of(*site).front().presumed);
    add(site->calls > 1 && !told ? "longest call " + duration_text(site->host_ns_max) : "");
    const std::string only_in = only_in_text(capture, *site);
    add(!only_in.empty() ? only_in : site->threads_held > 1 ? "" : spread_text(*site));
    add(site->failed != 0 && finding.rule != Rule::ignored_error
            ? fmt::format("{} failed (error {})", count_text(site->failed), site->last_error)
            : "");
    if (!also.empty()) {
        also[0] = also[0] == 'l' ? 'L' : also[0] == 'i' ? 'I' : also[0] == 'o' ? 'O' : also[0];
        text += (text.empty() || text.back() == ' ' ? "" : " ") + also + '.';
    }
    if (!text.empty()) {
        lines.paragraph(text, kIndent, indent);
    }
    if (!finding.fix.empty()) {
        const std::string saves = saving_text(finding.saving);
        lines.paragraph("Fix: " + printable(finding.fix) + (saves.empty() ? "" : " " + saves), kIndent, indent);
    }
    if (const std::string ruling = ruling_text(finding.ruling); !ruling.empty()) {
        lines.paragraph(ruling, kIndent, indent);
    }
}

struct Group {
    std::string label;
    std::string note;
    std::vector<const Finding*> findings;  // worst first
};

std::vector<Group> grouped(const std::vector<Finding>& findings) {
    std::vector<Group> groups;
    for (const Finding& finding : findings) {
        const bool vendor = finding.issuer == Origin::vendor;
        const std::string label = vendor ? "in vendor libraries" : slug_of(finding.rule);
        const std::string note =
            vendor                                       ? "not yours to fix"
            : !finding.reads.empty()                     ? "what the CPU reads, by samples"
            : !finding.races.empty() && finding.presumed ? "presumed: an order that is not seen may exist"
            : !finding.races.empty() && finding.issuer == Origin::framework ? "between a library's own calls"
            : finding.rule != Rule::copy_then_sync                          ? ""
            : finding.issuer == Origin::framework                           ? "a library's blocking copies"
            : finding.issuer == Origin::user                                ? "in your own code"
                                                                            : "in other libraries";
        const auto same = [&](const Group& group) { return group.label == label && group.note == note; };
        const auto found = std::ranges::find_if(groups, same);
        if (found == groups.end()) {
            groups.push_back({label, note, {&finding}});
        } else {
            found->findings.push_back(&finding);
        }
    }
    return groups;
}

// The worst hidden waits, a line each: they are calls that nobody would look at for a wait.
void add_worst_waits(Lines& lines, const Group& group, const Capture& capture, const Origins& origins) {
    constexpr std::size_t kWorst = 4;
    constexpr std::size_t kBefore = 8;
    for (std::size_t i = 0; i < std::min(group.findings.size(), kWorst); ++i) {
        const Finding& finding = *group.findings[i];
        const CaptureSite* site = site_by_id(capture, finding.site);
        if (site == nullptr || !finding.cause) {
            continue;
        }
        const std::string what = fmt::format("{:>7}  {:<13}  {} at ", duration_text(finding.held_ns),
                                             cause_label(*finding.cause, finding.presumed), printable(finding.api));
        const std::size_t used = kBefore + columns(what);
        const std::size_t room = lines.width() > used + 12 ? lines.width() - used : 12;
        lines.line(std::string(kBefore, ' ') + what +
                   clip_path(place_of(capture, *site, finding.heading, origins).position, room));
    }
}

// "libnccl.so.2 130, libcusolver.so.11 9"
std::string modules_text(const Group& group, const Capture& capture, const Origins& origins) {
    std::vector<std::pair<std::string, std::uint64_t>> calls;
    for (const Finding* finding : group.findings) {
        const CaptureSite* site = site_by_id(capture, finding->site);
        const int frame = site == nullptr ? -1 : issuing_frame(capture, *site, origins);
        if (frame < 0) {
            continue;
        }
        const std::uint32_t module = site->stack[static_cast<std::size_t>(frame)].module;
        const std::string name = module < capture.modules.size() ? base_name(capture.modules[module].path) : "?";
        const auto same = [&](const auto& count) { return count.first == name; };
        const auto found = std::ranges::find_if(calls, same);
        if (found == calls.end()) {
            calls.emplace_back(name, site->calls);
        } else {
            found->second += site->calls;
        }
    }
    std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.second > b.second; });
    constexpr std::size_t kShown = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(calls.size(), kShown); ++i) {
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(calls[i].first), count_text(calls[i].second));
    }
    return calls.size() > kShown ? text + ", …" : text;
}

}  // namespace

void add_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
               const ScreenOptions& options) {
    const std::size_t listed = options.all ? judgement.gated.size() : std::min(judgement.gated.size(), kListed);
    for (std::size_t i = 0; i < listed; ++i) {
        add_finding(lines, i + 1, judgement.gated[i], capture, origins);
    }
    if (listed < judgement.gated.size()) {
        lines.paragraph(fmt::format("… {} more: pincheck report --all {}", count_text(judgement.gated.size() - listed),
                                    place_argument(options.report_place)),
                        0);
    }
}

void add_not_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
                   const ScreenOptions& options) {
    std::vector<Finding> not_selected = judgement.not_gated;
    std::erase_if(not_selected, [](const Finding& finding) { return is_let_pass(finding.ruling.decision); });
    if (not_selected.empty()) {
        return;
    }
    lines.empty_line();
    const auto notes = std::ranges::count(not_selected, Severity::note, &Finding::severity);
    const std::size_t others = not_selected.size() - static_cast<std::size_t>(notes);
    const char* const gates = notes == 0    ? "--strict gates them"
                              : others == 0 ? "notes never gate"
                                            : "--strict gates all but notes";
    lines.paragraph(fmt::format("Not gated ({}{}):", gates, options.all ? "" : ", `pincheck report --all` lists them"),
                    0);
    for (Group group : grouped(not_selected)) {
        std::uint64_t calls = 0;
        std::uint64_t held = 0;
        // What is only noted of copies that are counted (their results rely on staging) is no other copy.
        const bool timed = std::ranges::any_of(group.findings, &Finding::is_timed);
        std::erase_if(group.findings, [&](const Finding* finding) {
            return timed && !finding->is_timed() && finding->severity == Severity::note;
        });
        for (const Finding* finding : group.findings) {
            const CaptureSite* site = site_by_id(capture, finding->site);
            calls += !finding->is_timed() ? finding->count : site == nullptr ? 0 : site->calls;
            held += finding->held_ns;
        }
        const bool vendor = group.findings.front()->issuer == Origin::vendor;
        const bool waits = !vendor && group.findings.front()->cause.has_value();
        std::size_t sites = 0;
        bool only_copies = true;
        for (const Finding* finding : group.findings) {
            sites += 1 + finding->also.size();
            only_copies &= !finding->cause.has_value();
        }
        std::string text = counted(sites, "site");
        text += waits         ? ""
                : !timed      ? ", " + counted(calls, group.findings.front()->reads.empty() ? "time" : "sample")
                : only_copies ? ", " + count_text(calls) + (calls == 1 ? " copy" : " copies")
                              : ", " + counted(calls, "call");
        text += timed ? ", " + duration_text(held) + " held" : "";
        if (vendor) {
            text += ": " + modules_text(group, capture, origins);
        } else if (const CaptureSite* site = site_by_id(capture, group.findings.front()->site);
                   site != nullptr && !waits) {
            constexpr std::size_t kPlaceColumns = 30;
            text += "; worst " + clip_path(place_of(capture, *site, group.findings.front()->heading, origins).position,
                                           kPlaceColumns);
        }
        text += group.note.empty() ? "" : "; " + group.note;
        constexpr std::size_t kLabelColumns = 25;
        lines.paragraph(text, kLabelColumns, "    " + group.label);
        if (waits && !options.all) {
            add_worst_waits(lines, group, capture, origins);
        }
    }
}

void add_all_not_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins) {
    for (std::size_t i = 0; i < judgement.not_gated.size(); ++i) {
        add_finding(lines, judgement.gated.size() + i + 1, judgement.not_gated[i], capture, origins);
    }
}

}  // namespace pincheck
