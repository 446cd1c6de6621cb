#include "render_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "markdown_text.h"
#include "names.h"
#include "printable.h"
#include "render_text.h"
#include "render_text_coverage.h"
#include "render_text_layout.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

constexpr std::size_t kLongest = 400;  // columns of a name or a place; C++ has far longer ones

std::string clipped(const std::string& text) {
    return markdown(clip(text, kLongest));
}

std::string code(const std::string& text) {
    return "<code>" + clipped(text) + "</code>";
}

const char* heading(Verdict verdict) {
    return verdict == Verdict::pass       ? "## ✅ pincheck: pass"
           : verdict == Verdict::violated ? "## ❌ pincheck: violated"
                                          : "## ⚠️ pincheck: no conclusion";
}

std::string place_text(const ExportFinding& finding) {
    return finding.place ? finding.place->position : "(no stack)";
}

std::string row(std::size_t number, const ExportFinding& finding) {
    const std::string function =
        finding.place && !finding.place->function.empty() ? "<br>" + code(finding.place->function) : "";
    return fmt::format("| {} | {} | {}{} | {} | {} |\n", number, finding.rule, code(place_text(finding)), function,
                       clipped(finding.call), clipped(finding.cost));
}

std::string details(std::size_t number, const ExportFinding& finding) {
    std::string text = fmt::format("<details><summary>{}. {} at {}</summary>\n\n", number, finding.rule,
                                   html(clip(place_text(finding), kLongest)));
    text += markdown(finding.message) + "\n\n";
    text += finding.fix.empty() ? "" : "**Fix:** " + markdown(finding.fix) + "\n\n";
    for (const ExportStack& stack : finding.stacks) {
        text += markdown(stack.role) + "&#58;\n\n<pre>";
        for (const ExportPlace& place : stack.frames) {
            text += html(clip(export_place_text(place), kLongest)) + '\n';
        }
        text += "</pre>\n\n";
    }
    return text + "</details>\n\n";
}

// As many parts as fit, then how many were left out.
class Bounded {
  public:
    explicit Bounded(std::size_t most) : most_(most) {}
    void add(const std::string& text) { text_ += text; }
    // Whether it was added.
    bool add_if_room(const std::string& text) {
        const bool fits = text_.size() + text.size() <= most_;
        text_ += fits ? text : "";
        return fits;
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
    std::size_t most_;
};

void add_verdict(Bounded& text, const LoadResult& loaded, const Judgement& judgement) {
    const Capture& capture = loaded.capture;
    text.add(std::string(heading(judgement.verdict)) + "\n\n");
    if (judgement.verdict != Verdict::no_conclusion) {
        const std::string line = verdict_line(loaded, judgement, {});
        text.add_if_room(markdown(line.substr(line.find("  ") + 2)) + '\n');  // the first word is in the heading
    }
    if (!capture.processes.empty()) {
        const std::string devices = devices_text(capture);
        const std::size_t processes = capture.processes.size();
        text.add_if_room(code(command_text(capture.processes.front())) +
                         (devices.empty() ? "" : ", " + clipped(devices)) +
                         (processes == 1 ? "" : ", " + count_text(processes) + " processes") + "\n\n");
    }
    if (judgement.verdict == Verdict::no_conclusion) {
        for (const std::string& reason : judgement.reasons) {
            text.add_if_room("- " + markdown(printable(reason)) + '\n');
        }
        text.add("\n");
    }
}

void add_gated(Bounded& text, const std::vector<ExportFinding>& findings) {
    const auto gated = static_cast<std::size_t>(std::ranges::count(findings, true, &ExportFinding::gated));
    if (gated == 0) {
        return;
    }
    text.add("| | Rule | Where | Call | Cost |\n|---|---|---|---|---|\n");
    std::size_t rows = 0;
    while (rows < gated && text.add_if_room(row(rows + 1, findings[rows]))) {
        ++rows;
    }
    text.add("\n");
    std::size_t told = 0;
    while (told < rows && text.add_if_room(details(told + 1, findings[told]))) {
        ++told;
    }
    if (told < gated) {
        text.add(
            fmt::format("… {} not told in full here: there is no more room.\n\n", counted(gated - told, "finding")));
    }
}

struct Group {
    std::string rule;
    std::size_t findings = 0;
    std::string worst;
};

void add_not_gated(Bounded& text, const std::vector<ExportFinding>& findings) {
    std::vector<Group> groups;
    for (const ExportFinding& finding : findings) {
        if (finding.gated) {
            continue;
        }
        const auto found = std::ranges::find(groups, finding.rule, &Group::rule);
        if (found != groups.end()) {
            ++found->findings;
        } else {
            groups.push_back({finding.rule, 1, code(place_text(finding)) + ", " + clipped(finding.cost)});
        }
    }
    if (groups.empty()) {
        return;
    }
    text.add("### Not gated\n\n| Rule | Findings | The worst |\n|---|---|---|\n");
    for (const Group& group : groups) {
        text.add_if_room(fmt::format("| {} | {} | {} |\n", group.rule, count_text(group.findings), group.worst));
    }
    text.add("\n");
}

void add_unseen(Bounded& text, const std::vector<std::string>& lines) {
    if (lines.empty()) {
        return;
    }
    text.add("### Not seen\n\n");
    for (const std::string& line : lines) {
        text.add_if_room("- " + markdown(line) + '\n');
    }
    text.add("\n");
}

std::string next_part(const std::vector<ExportFinding>& findings, const MarkdownOptions& options) {
    if (findings.empty()) {
        return "";
    }
    const ExportFinding& first = findings.front();
    const std::string topic = first.finding->cause ? name(*first.finding->cause) : first.rule;
    return fmt::format(
        "Next: {} or {}\n",
        code(fmt::format("pincheck show s{} {}", first.finding->site, place_argument(options.report_place))),
        code("pincheck explain " + topic));
}

}  // namespace

std::string render_markdown(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                            const MarkdownOptions& options) {
    const std::vector<ExportFinding> findings = export_findings(loaded, judgement, origins);
    // What is told beside the findings that gate.
    constexpr std::size_t kForTheRest = 64 * 1024;
    Bounded verdict(kForTheRest);
    add_verdict(verdict, loaded, judgement);
    Bounded gated(options.most_bytes - 2 * kForTheRest);
    add_gated(gated, findings);
    Bounded rest(kForTheRest);
    add_not_gated(rest, findings);
    add_unseen(rest, not_seen(loaded, judgement));
    rest.add_if_room(next_part(findings, options));
    return verdict.take() + gated.take() + rest.take();
}

}  // namespace pincheck
