#include <nlohmann/json.hpp>
#include <string_view>

#include "explain.h"
#include "races.h"
#include "render_sarif.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

using Json = nlohmann::ordered_json;

// The next line, without its end, which is taken off too.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return line;
}

void append_prose(std::string& markdown, std::string_view line) {
    for (const char c : line) {
        markdown += c == '<' ? "&lt;" : c == '*' ? "\\*" : std::string(1, c);
    }
    markdown += '\n';
}

// Lines that begin with two spaces are code or a table.
std::string markdown_of(std::string_view text) {
    std::string markdown;
    bool in_code = false;
    while (!text.empty()) {
        const std::string_view line = take_line(text);
        const bool is_code = line.starts_with("  ");
        if (is_code != in_code && !(in_code && line.empty() && text.starts_with("  "))) {
            markdown += "```\n";
            in_code = is_code;
        }
        if (in_code) {
            markdown.append(is_code ? line.substr(2) : line) += '\n';
        } else {
            append_prose(markdown, line);
        }
    }
    return markdown + (in_code ? "```\n" : "");
}

std::string first_paragraph(std::string_view text) {
    return std::string(text.substr(0, text.find("\n\n")));
}

// As GitHub names it.
const char* problem_severity(Severity severity) {
    return severity == Severity::note ? "recommendation" : severity_text(severity);
}

Json rule_json(const RuleInfo& rule) {
    const std::string claim = rule.claim;
    const std::string text = rule.explain;
    const bool about_time = rule.rule <= Rule::hidden_wait && rule.rule != Rule::straddles_registration;
    return {{"id", rule.slug},
            {"shortDescription", {{"text", claim}}},
            {"fullDescription", {{"text", first_paragraph(text)}}},
            {"help", {{"text", text}, {"markdown", markdown_of(text)}}},
            {"defaultConfiguration", {{"level", severity_text(rule.severity)}}},
            {"properties",
             {{"tags", {"cuda", about_time ? "performance" : "correctness"}},
              {"problem.severity", problem_severity(rule.severity)}}}};
}

}  // namespace

Json sarif_rules() {
    Json list = Json::array();
    for (const RuleInfo& rule : rules()) {
        list.push_back(rule_json(rule));
    }
    return list;
}

}  // namespace pincheck
