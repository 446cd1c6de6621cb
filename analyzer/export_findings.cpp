#include "export_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "place.h"
#include "printable.h"
#include "redact.h"
#include "render_text_layout.h"
#include "render_text_parts.h"
#include "render_text_races.h"
#include "render_text_saving.h"
#include "wait_text.h"

namespace pincheck {
namespace {

ExportPlace place_in_module(const Capture& capture, const CaptureFrame& frame) {
    ExportPlace place;
    if (frame.module < capture.modules.size()) {
        place.module = printable(base_name(capture.modules[frame.module].path));
    }
    place.position = fmt::format("{}+{:#x}", place.module.empty() ? "?" : place.module, frame.offset);
    return place;
}

ExportPlace place_of_line(const Capture& capture, const CaptureFrame& frame, const SourceLine& line) {
    ExportPlace place = place_in_module(capture, frame);
    place.function = printable(line.function);
    if (!line.file.empty()) {
        place.position = printable(line.file) + (line.line == 0 ? "" : fmt::format(":{}", line.line));
        if (line.line != 0 && !line.file.starts_with(kHiddenFolder)) {
            place.file = line.file;
            place.line = line.line;
        }
    }
    return place;
}

// Of a frame of the site; the heading's is the line that is shown of it.
ExportStack export_stack(const Capture& capture, const CaptureSite& site, int heading, const Origins& origins) {
    ExportStack stack;
    for (std::size_t i = 0; i < site.stack.size(); ++i) {
        const CaptureFrame& frame = site.stack[i];
        const SourceLine* shown = shown_line(frame, origins);
        for (const SourceLine& line : frame.lines) {
            if (heading >= 0 && i == static_cast<std::size_t>(heading) && &line == shown) {
                stack.heading = stack.frames.size();
            }
            stack.frames.push_back(place_of_line(capture, frame, line));
        }
        if (frame.lines.empty()) {
            stack.heading =
                heading >= 0 && i == static_cast<std::size_t>(heading) ? stack.frames.size() : stack.heading;
            stack.frames.push_back(place_in_module(capture, frame));
        }
    }
    return stack;
}

// The heading, or the nearest caller in the source tree where that is not in it.
const ExportPlace& nearest_in_tree(const ExportStack& stack) {
    for (std::size_t i = stack.heading; i < stack.frames.size(); ++i) {
        if (stack.frames[i].in_tree()) {
            return stack.frames[i];
        }
    }
    return stack.frames[stack.heading];
}

std::string call_text(const Finding& finding, const CaptureSite& site) {
    const std::string api = printable(finding.api.empty() ? site.api : finding.api);
    return site.kind == report::SiteKind::copy ? fmt::format("{}, {} {}, {}", api, direction_text(site.direction),
                                                             sizes_text(site), host_memory_text(site))
                                               : fmt::format("{}, {}", api, counted(site.calls, "call"));
}

std::string cost_text(const Finding& finding) {
    return finding.is_timed() ? duration_text(finding.held_ns) + " held" + (finding.once ? ", once" : "")
                              : found_text(finding);
}

std::vector<ExportStack> stacks_of(const Capture& capture, const Finding& finding, const Origins& origins) {
    std::vector<ExportStack> stacks;
    std::vector<std::uint32_t> known;
    const auto add = [&](const char* role, std::uint32_t id, int heading) {
        const CaptureSite* site = site_by_id(capture, id);
        if (site != nullptr && !site->stack.empty() && std::ranges::find(known, id) == known.end()) {
            known.push_back(id);
            stacks.push_back(export_stack(capture, *site, heading, origins));
            stacks.back().role = role;
        }
    };
    const auto add_other = [&](const char* role, std::uint32_t id) {
        if (const CaptureSite* site = site_by_id(capture, id)) {
            add(role, id, heading_frame(capture, *site, origins));
        }
    };
    add(finding.races.empty() ? "the call" : "the copy", finding.site, finding.heading);
    add_other("the other party", finding.other_site);
    if (!finding.races.empty() && finding.races.front() < capture.races.size()) {
        const CaptureRace& race = capture.races[finding.races.front()];
        add_other("the call before the access", race.after_site);
        add_other("waited for, too late, by", race.wait_site);
        add_other("page-locked by", race.pin_site);
    }
    constexpr std::size_t kAlso = 8;
    for (std::size_t i = 0; i < std::min(finding.also.size(), kAlso); ++i) {
        add_other("also called from", finding.also[i]);
    }
    return stacks;
}

ExportFinding export_finding(const Capture& capture, const Finding& finding, bool gated, const Origins& origins) {
    ExportFinding result;
    result.finding = &finding;
    result.site = site_by_id(capture, finding.site);
    result.gated = gated;
    result.level = export_level(finding, gated);
    result.rule = slug_of(finding.rule);
    result.call = result.site == nullptr ? result.rule : call_text(finding, *result.site);
    result.cost = cost_text(finding);
    result.fingerprint = finding.identity.fingerprint;
    result.stacks = stacks_of(capture, finding, origins);
    std::string elsewhere;
    if (finding.heading >= 0 && result.site != nullptr && !result.site->stack.empty()) {
        const ExportStack& own = result.stacks.front();
        result.place = nearest_in_tree(own);
        const std::string position = own.frames[own.heading].position;
        elsewhere = position == result.place->position ? "" : " The call itself is at " + position + '.';
    }
    const std::string cause = finding.cause ? " (" + cause_label(*finding.cause, finding.presumed) + ')' : "";
    const std::string why = finding.why.empty() ? "" : ' ' + printable(finding.why);
    result.message = fmt::format("{}: {}{}.{}{}", result.call, result.cost, cause, why, elsewhere);
    if (!finding.fix.empty()) {
        const std::string saves = saving_text(finding.saving);
        result.fix = printable(finding.fix) + (saves.empty() ? "" : ' ' + saves);
    }
    return result;
}

// Findings with the same fingerprint are told apart by their order in the source.
void number_alike(std::vector<ExportFinding>& findings) {
    std::vector<ExportFinding*> in_source;
    for (ExportFinding& finding : findings) {
        in_source.push_back(&finding);
    }
    std::ranges::stable_sort(in_source, {}, [](const ExportFinding* finding) {
        return finding->place ? std::make_tuple(finding->place->file, finding->place->line)
                              : std::make_tuple(std::string(), std::uint32_t{0});
    });
    std::map<std::string, int> met;
    for (ExportFinding* finding : in_source) {
        const int number = ++met[finding->fingerprint];
        finding->fingerprint += number == 1 ? "" : fmt::format(":{}", number);
    }
}

}  // namespace

const char* export_level(const Finding& finding, bool gated) {
    return gated || finding.severity == Severity::warning ? severity_text(finding.severity)
                                                          : severity_text(Severity::note);
}

std::string export_place_text(const ExportPlace& place) {
    return place.position + (place.function.empty() ? "" : "  " + place.function);
}

std::vector<ExportFinding> export_findings(const LoadResult& loaded, const Judgement& judgement,
                                           const Origins& origins) {
    std::vector<ExportFinding> result;
    for (const bool gated : {true, false}) {
        for (const Finding& finding : gated ? judgement.gated : judgement.not_gated) {
            result.push_back(export_finding(loaded.capture, finding, gated, origins));
        }
    }
    number_alike(result);
    return result;
}

}  // namespace pincheck
