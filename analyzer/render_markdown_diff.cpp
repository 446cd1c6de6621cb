#include "render_markdown_diff.h"

#include <fmt/format.h>

#include "diff_words.h"
#include "markdown_text.h"
#include "printable.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

constexpr std::size_t kLongest = 400;  // columns of a text; C++ has far longer names

std::string clipped(const std::string& text) {
    return markdown(clip(text, kLongest));
}

std::string code(const std::string& text) {
    return "<code>" + clipped(text) + "</code>";
}

std::string run_line(const char* label, const ListedRun& run, bool is_new) {
    const std::string doubt = doubt_text(run, is_new);
    return fmt::format("- {}: {}, {}{}\n", label, code(printable(run.file)), facts_text(run),
                       doubt.empty() ? "" : ". " + clipped(doubt));
}

std::string row(const ListedRun& then, const ListedRun& now, const DiffEntry& entry) {
    const ListedFinding& finding = shown_finding(then, now, entry);
    const auto [before, after] = amounts_of(entry);
    const std::string moved = moved_text(entry);
    std::string text = fmt::format("| {} | {}<br>{}{} | {}", title_of(entry.change), code(heading_text(finding)),
                                   clipped(what_text(finding)), moved.empty() ? "" : "<br>" + clipped(moved),
                                   clipped(severity_text(entry)));
    for (const Quantity quantity : {Quantity::count, Quantity::bytes, Quantity::held}) {
        const bool none = quantity != Quantity::count && amount(before, quantity) == 0 && amount(after, quantity) == 0;
        text += " | " + (none ? "" : clipped(change_text(quantity, before, after)));
    }
    return text + " |\n";
}

}  // namespace

std::string diff_markdown(const ListedRun& then, const ListedRun& now, const Diff& diff, bool all,
                          std::size_t most_bytes) {
    std::string text = "## pincheck: " + markdown(summary_text(diff)) + "\n\n";
    text += run_line("Old", then, false) + run_line("New", now, true);
    if (const std::string differences = differences_text(then, now, diff); !differences.empty()) {
        text += "- Runs differ: " + clipped(differences) + '\n';
    }
    std::size_t listed = 0;
    std::size_t left_out = 0;
    for (const DiffEntry& entry : diff.entries) {
        if (entry.change == Change::unchanged && !all) {
            continue;
        }
        const std::string line = row(then, now, entry);
        if (left_out != 0 || text.size() + line.size() > most_bytes) {
            ++left_out;
            continue;
        }
        text += listed++ != 0 ? "" : "\n| | Where | Severity | Count | Bytes | Held |\n|---|---|---|---|---|---|\n";
        text += line;
    }
    return left_out == 0 ? text : text + fmt::format("\n… {} more: there is no more room.\n", count_text(left_out));
}

}  // namespace pincheck
