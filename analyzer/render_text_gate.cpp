#include "render_text_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "printable.h"
#include "render_text_coverage.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

constexpr std::array kLetPass = {Decision::suppressed, Decision::within_threshold, Decision::in_baseline,
                                 Decision::staged};

const char* label_of(Decision decision) {
    switch (decision) {
        case Decision::suppressed:
            return "suppressed";
        case Decision::within_threshold:
            return "within a threshold";
        case Decision::in_baseline:
            return "in the baseline";
        default:
            return "staged";
    }
}

std::vector<Finding> decided_by(const Judgement& judgement, Decision decision) {
    std::vector<Finding> found;
    std::ranges::copy_if(judgement.not_gated, std::back_inserter(found),
                         [&](const Finding& finding) { return finding.ruling.decision == decision; });
    return found;
}

std::string sources_text(const Judgement& judgement) {
    const PolicyOptions& policy = judgement.policy;
    std::string text = printable(policy.config);
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (!policy.suppressions.empty()) {
        add(counted(policy.suppressions.size(), "suppression"));
    }
    for (const Threshold& threshold : policy.thresholds) {
        add(fmt::format("{} gates above {}", slug_of(threshold.rule), limits_text(threshold)));
    }
    if (policy.baseline) {
        std::string baseline = fmt::format("baseline {}: {}", printable(policy.baseline->file),
                                           counted(policy.baseline->findings, "finding"));
        // Of a run that saw too little, nobody knows what is no longer there.
        if (judgement.verdict != Verdict::no_conclusion) {
            baseline += fmt::format(", {} fixed since", count_text(judgement.fixed));
        }
        add(baseline);
    }
    return text;
}

// Rows that nobody needs, and rows that stopped to hold.
std::vector<std::string> stale_rows(const Judgement& judgement) {
    std::vector<std::string> texts;
    const std::vector<Suppression>& rows = judgement.policy.suppressions;
    for (std::size_t i = 0; i < rows.size() && i < judgement.matched.size(); ++i) {
        const std::size_t matched = judgement.matched[i];
        std::string text;
        if (is_expired(rows[i], judgement.policy.today)) {
            text = fmt::format("expired on {}{}", date_text(*rows[i].expires),
                               matched == 0 ? "" : fmt::format("; it still fits {}", counted(matched, "finding")));
        }
        if (matched == 0) {
            text += (text.empty() ? "matches nothing" : " and matches nothing") + std::string("; remove the row");
        }
        if (!text.empty()) {
            texts.push_back(printable(place_of(rows[i])) + ' ' + text + " (" + printable(rows[i].reason) + ')');
        }
    }
    return texts;
}

}  // namespace

bool is_let_pass(Decision decision) {
    return std::ranges::find(kLetPass, decision) != kLetPass.end();
}

std::string rules_text(const std::vector<Finding>& findings) {
    std::vector<std::pair<Rule, std::size_t>> counts;
    for (const Finding& finding : findings) {
        const auto same = [&](const auto& count) { return count.first == finding.rule; };
        const auto found = std::ranges::find_if(counts, same);
        if (found == counts.end()) {
            counts.emplace_back(finding.rule, 1);
        } else {
            ++found->second;
        }
    }
    std::string text;
    for (const auto& [rule, count] : counts) {
        text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", slug_of(rule), counted(count, "site"));
    }
    return text;
}

std::string passed_text(const Judgement& judgement) {
    std::string text;
    for (const Decision decision : kLetPass) {
        if (const std::size_t count = count_of(judgement, decision); count != 0) {
            text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", count_text(count), label_of(decision));
        }
    }
    return text.empty() ? "" : text + ')';
}

std::string ruling_text(const Ruling& ruling) {
    const bool compared = ruling.since == Since::fresh || ruling.since == Since::worse;
    if (!is_let_pass(ruling.decision) && !(gates(ruling.decision) && compared)) {
        return "";
    }
    std::string text = printable(ruling.why);
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + (text.ends_with('.') ? "" : ".");
}

void add_let_pass(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
                  const ScreenOptions& options) {
    bool headed = false;
    for (const Decision decision : kLetPass) {
        const std::vector<Finding> findings = decided_by(judgement, decision);
        if (findings.empty()) {
            continue;
        }
        if (!std::exchange(headed, true)) {
            lines.empty_line();
            lines.paragraph(options.all ? "Let pass:" : "Let pass (--all lists them):", 0);
        }
        std::string text = rules_text(findings);
        if (const CaptureSite* site = site_by_id(capture, findings.front().site)) {
            text += "; worst " + place_of(capture, *site, findings.front().heading, origins).position;
        }
        constexpr std::size_t kTextColumn = 25;
        lines.paragraph(text, kTextColumn, std::string("    ") + label_of(decision));
    }
}

void add_gate_settings(Lines& lines, const Judgement& judgement, const ScreenOptions& options) {
    std::vector<std::string> texts = stale_rows(judgement);
    if (const std::string sources = sources_text(judgement); !sources.empty()) {
        texts.insert(texts.begin(), sources);
    }
    constexpr std::size_t kShown = 8;
    const std::size_t shown = options.all ? texts.size() : std::min(texts.size(), kShown);
    for (std::size_t i = 0; i < shown; ++i) {
        lines.paragraph(texts[i], kLabelColumns, i == 0 ? "Gate" : "");
    }
    if (shown < texts.size()) {
        lines.paragraph(fmt::format("… {} more rows (--all)", count_text(texts.size() - shown)), kLabelColumns);
    }
}

}  // namespace pincheck
