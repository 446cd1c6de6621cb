#include "render_junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "names.h"
#include "printable.h"
#include "render_text.h"
#include "render_text_coverage.h"
#include "render_text_layout.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

// For texts that went through printable(): no control characters and valid UTF-8. XML has no place for U+FFFE and
// U+FFFF either.
std::string xml(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const char c = text.front();
        if (text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf")) {
            result += "?";
            text.remove_prefix(3);
            continue;
        }
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            case '\'':
                result += "&apos;";
                break;
            default:
                result += c;
                break;
        }
        text.remove_prefix(1);
    }
    return result;
}

std::string whole_text(const ExportFinding& finding) {
    std::string text = (finding.place ? export_place_text(*finding.place) + '\n' : "") + finding.message + '\n';
    text += finding.fix.empty() ? "" : "Fix: " + finding.fix + '\n';
    for (const ExportStack& stack : finding.stacks) {
        text += stack.role + ":\n";
        for (const ExportPlace& place : stack.frames) {
            text += "    " + export_place_text(place) + '\n';
        }
    }
    return text;
}

using Findings = std::vector<const ExportFinding*>;

std::string joined(const Findings& findings) {
    std::string text;
    for (const ExportFinding* finding : findings) {
        text += (text.empty() ? "" : "\n") + whole_text(*finding);
    }
    return text;
}

// "2 findings, the worst at src/x.cu:41: 19.8 s held"
std::string summary(const Findings& findings) {
    const ExportFinding& worst = *findings.front();
    return fmt::format("{}, the worst{}: {}", counted(findings.size(), "finding"),
                       worst.place ? " at " + worst.place->position : "", worst.cost);
}

// `file`: GitLab shows it.
std::string file_attribute(const Findings& findings) {
    const auto in_tree = [](const ExportFinding* finding) { return finding->place && finding->place->in_tree(); };
    const auto found = std::ranges::find_if(findings, in_tree);
    return found == findings.end() ? "" : fmt::format(" file=\"{}\"", xml(printable((*found)->place->file)));
}

std::string rule_case(const RuleInfo& rule, const std::vector<ExportFinding>& findings) {
    Findings gated;
    Findings others;
    for (const ExportFinding& finding : findings) {
        if (finding.finding->rule == rule.rule) {
            (finding.gated ? gated : others).push_back(&finding);
        }
    }
    std::string text = fmt::format("    <testcase classname=\"pincheck\" name=\"{}\" time=\"0\"{}>\n", rule.slug,
                                   file_attribute(gated));
    if (!gated.empty()) {
        text += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", rule.slug, xml(summary(gated)),
                            xml(joined(gated)));
    }
    if (!others.empty()) {
        text += fmt::format("      <system-out>{}</system-out>\n", xml("Not gated:\n" + joined(others)));
    }
    return text + "    </testcase>\n";
}

std::string conclusion_case(const Judgement& judgement) {
    std::string text = "    <testcase classname=\"pincheck\" name=\"conclusion\" time=\"0\">\n";
    if (judgement.verdict == Verdict::no_conclusion) {
        std::string reasons;
        for (const std::string& reason : judgement.reasons) {
            reasons += printable(reason) + '\n';
        }
        text += fmt::format("      <error type=\"no-conclusion\" message=\"no conclusion\">{}</error>\n", xml(reasons));
    }
    return text + "    </testcase>\n";
}

std::string property(const char* key, const std::string& value) {
    return value.empty() ? "" : fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", key, xml(value));
}

std::string properties(const LoadResult& loaded) {
    const Capture& capture = loaded.capture;
    std::string text = "    <properties>\n";
    text += property("command", capture.processes.empty() ? "" : command_text(capture.processes.front()));
    text += property("processes", std::to_string(capture.processes.size()));
    text += property("devices", devices_text(capture));
    return text + "    </properties>\n";
}

std::string unseen(const LoadResult& loaded, const Judgement& judgement) {
    std::string text;
    for (const std::string& line : not_seen(loaded, judgement)) {
        text += "Not seen: " + line + '\n';
    }
    return text;
}

}  // namespace

std::string render_junit(const LoadResult& loaded, const Judgement& judgement, const Origins& origins) {
    const std::vector<ExportFinding> findings = export_findings(loaded, judgement, origins);
    std::size_t failures = 0;
    std::string cases = conclusion_case(judgement);
    for (const RuleInfo& rule : rules()) {
        const auto fails = [&](const Finding& finding) { return finding.rule == rule.rule; };
        failures += std::ranges::any_of(judgement.gated, fails) ? 1 : 0;
        cases += rule_case(rule, findings);
    }
    const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", rules().size() + 1, failures,
                                           judgement.verdict == Verdict::no_conclusion ? 1 : 0);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0} time=\"0\">\n"
        "  <testsuite name=\"pincheck\" {0} skipped=\"0\" time=\"0\">\n{1}{2}    <system-out>{3}{4}</system-out>\n"
        "  </testsuite>\n</testsuites>\n",
        counts, properties(loaded), cases, xml(verdict_line(loaded, judgement, {})), xml(unseen(loaded, judgement)));
}

}  // namespace pincheck
