#include "render_text_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "printable.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

constexpr std::size_t kListed = 10;
// Where the facts of a copy begin, counted from the right edge.
constexpr std::size_t kFactColumns = 42;

void add_heading(Lines& lines, const std::string& number, const Place& place, const Finding& finding) {
    const std::string severity = severity_text(finding.severity);
    const std::string held = duration_text(finding.held_ns) + " held" + (finding.once ? ", once" : "");
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

void add_finding(Lines& lines, std::size_t number, const Finding& finding, const Capture& capture,
                 const Origins& origins) {
    const CaptureSite* site = site_by_id(capture, finding.site);
    if (site == nullptr) {
        return;
    }
    add_heading(lines, fmt::format("#{:<3}", number), place_of(capture, *site, finding.heading, origins), finding);

    const std::string api = printable(finding.api.empty() ? site->api : finding.api);
    std::string source;
    if (finding.heading >= 0 && static_cast<std::size_t>(finding.heading) < site->stack.size()) {
        source = source_text(capture, site->stack[static_cast<std::size_t>(finding.heading)], origins);
    }
    const std::string facts =
        fmt::format("{}  {}   {}", direction_text(site->direction), sizes_text(*site), host_memory_text(*site));
    constexpr std::size_t kIndent = 4;
    const std::string indent(kIndent, ' ');
    const std::size_t fact_column = lines.width() >= 80 ? lines.width() - kFactColumns : 0;
    const bool api_in_source = source.find(api) != source.npos;
    if (!source.empty() && !api_in_source) {
        lines.line(indent + source);
    }
    lines.pair(indent + (api_in_source ? source : api), facts, kIndent, fact_column);

    std::string text = finding.rule == Rule::pageable_async_copy ? "" : std::string(slug_of(finding.rule)) + ". ";
    text += printable(finding.why);
    std::string also;
    const auto add = [&](const std::string& part) { also += (also.empty() || part.empty() ? "" : ", ") + part; };
    add(site->calls > 1 ? "longest call " + duration_text(site->host_ns_max) : "");
    add(spread_text(*site));
    add(site->failed != 0 ? fmt::format("{} failed (error {})", count_text(site->failed), site->last_error) : "");
    if (!also.empty()) {
        also[0] = also[0] == 'l' ? 'L' : also[0] == 'i' ? 'I' : also[0];
        text += (text.empty() || text.back() == ' ' ? "" : " ") + also + '.';
    }
    if (!text.empty()) {
        lines.paragraph(text, kIndent, indent);
    }
    if (!finding.fix.empty()) {
        lines.paragraph("Fix: " + printable(finding.fix), kIndent, indent);
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
        const std::string note = vendor                                 ? "not yours to fix"
                                 : finding.rule != Rule::copy_then_sync ? ""
                                 : finding.issuer == Origin::framework  ? "a library's blocking copies"
                                 : finding.issuer == Origin::user       ? "in your own code"
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
    if (judgement.not_gated.empty()) {
        return;
    }
    lines.empty_line();
    lines.paragraph(options.all ? "Not gated (--strict gates them):"
                                : "Not gated (--strict gates them, `pincheck report --all` lists them):",
                    0);
    for (const Group& group : grouped(judgement.not_gated)) {
        std::uint64_t calls = 0;
        std::uint64_t held = 0;
        for (const Finding* finding : group.findings) {
            const CaptureSite* site = site_by_id(capture, finding->site);
            calls += site == nullptr ? 0 : site->calls;
            held += finding->held_ns;
        }
        std::string text = fmt::format("{}, {}, {} held", counted(group.findings.size(), "site"),
                                       count_text(calls) + (calls == 1 ? " copy" : " copies"), duration_text(held));
        if (group.findings.front()->issuer == Origin::vendor) {
            text += ": " + modules_text(group, capture, origins);
        } else if (const CaptureSite* site = site_by_id(capture, group.findings.front()->site); site != nullptr) {
            constexpr std::size_t kPlaceColumns = 30;
            text += "; worst " + clip_path(place_of(capture, *site, group.findings.front()->heading, origins).position,
                                           kPlaceColumns);
        }
        text += group.note.empty() ? "" : "; " + group.note;
        constexpr std::size_t kLabelColumns = 25;
        lines.paragraph(text, kLabelColumns, "    " + group.label);
    }
    if (options.all) {
        for (std::size_t i = 0; i < judgement.not_gated.size(); ++i) {
            add_finding(lines, judgement.gated.size() + i + 1, judgement.not_gated[i], capture, origins);
        }
    }
}

}  // namespace pincheck
