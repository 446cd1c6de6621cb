#include "render_text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diff_words.h"
#include "render_text_layout.h"
#include "render_text_parts.h"
#include "terminal.h"

namespace pincheck {
namespace {

constexpr std::size_t kLabelColumns = 16;
constexpr std::size_t kIndent = 5;

Paint paint_of(Change change) {
    return change == Change::fresh || change == Change::worse    ? Paint::bad
           : change == Change::better || change == Change::fixed ? Paint::good
                                                                 : Paint::none;
}

// "count 10 -> 30 (+200 %), bytes 4 KiB, held 12.0 ms -> 13.0 ms (+8 %)", and no break inside one of them.
void add_amounts(Lines& lines, const DiffEntry& entry) {
    const auto& [then, now] = amounts_of(entry);
    std::string text;
    const auto end_line = [&] { lines.paragraph(std::exchange(text, ""), kIndent, std::string(kIndent, ' ')); };
    for (const Quantity quantity : {Quantity::count, Quantity::bytes, Quantity::held}) {
        if (quantity != Quantity::count && amount(then, quantity) == 0 && amount(now, quantity) == 0) {
            continue;
        }
        const std::string part = fmt::format("{} {}", name_of(quantity), change_text(quantity, then, now));
        text += text.empty() ? "" : ",";
        if (!text.empty() && kIndent + columns(text) + columns(part) + 2 > lines.width()) {
            end_line();
        }
        text += (text.empty() ? "" : " ") + part;
    }
    end_line();
}

void add_summary(Lines& lines, const Diff& diff) {
    const std::string label = "pincheck: ";
    const std::string plain = summary_text(diff);
    if (label.size() + plain.size() > lines.width()) {
        lines.paragraph(plain, label.size(), label);
        return;
    }
    std::string text;
    for (const Change change : kChanges) {
        if (diff.count(change) != 0) {
            text += (text.empty() ? "" : ", ") + painted(count_text(diff, change), paint_of(change), lines.color());
        }
    }
    lines.raw(label + (text.empty() ? plain : text));
}

void add_run(Lines& lines, const char* label, const ListedRun& run, bool is_new) {
    lines.paragraph(shell_word(run.file) + ": " + facts_text(run), kLabelColumns, label);
    if (const std::string doubt = doubt_text(run, is_new); !doubt.empty()) {
        lines.paragraph(doubt, kLabelColumns);
    }
}

void add_entry(Lines& lines, const ListedRun& then, const ListedRun& now, const DiffEntry& entry) {
    const ListedFinding& finding = shown_finding(then, now, entry);
    const std::string severity = severity_text(entry);
    const std::string number = fmt::format("#{:<3} ", shown_side(entry).finding + 1);
    const std::string heading = heading_text(finding);
    const std::size_t room = lines.width() - columns(severity) - 2;
    std::string left = number + clip(heading, room - std::min(room - 1, number.size()));
    left.append(lines.width() - columns(severity) - columns(left), ' ');
    const Severity worst = shown_side(entry).severity;
    lines.raw(left + painted(severity, severity_paint(worst), lines.color()));
    lines.paragraph(what_text(finding), kIndent, std::string(kIndent, ' '));
    add_amounts(lines, entry);
    if (const std::string moved = moved_text(entry); !moved.empty()) {
        lines.paragraph(moved, kIndent, std::string(kIndent, ' '));
    }
}

void add_next(Lines& lines, const Diff& diff, const DiffScreen& screen) {
    const auto shows_now = [&](const DiffEntry& entry) {
        return entry.now.has_value() && (screen.all || entry.change != Change::unchanged);
    };
    const bool now = !screen.show_now.empty() && std::ranges::any_of(diff.entries, shows_now);
    const bool then = !screen.show_then.empty() && diff.count(Change::fixed) != 0;
    if (!now && !then) {
        return;
    }
    lines.empty_line();
    if (now) {
        lines.paragraph("pincheck show N " + shell_word(screen.show_now), kLabelColumns, "Next");
    }
    if (then) {
        lines.paragraph("pincheck show N " + shell_word(screen.show_then) + "  (of what was fixed)", kLabelColumns,
                        now ? "" : "Next");
    }
}

}  // namespace

std::string diff_text(const ListedRun& then, const ListedRun& now, const Diff& diff, const DiffScreen& screen) {
    Lines lines(std::clamp(screen.width, kMinimumWidth, kMaximumWidth), screen.color);
    add_summary(lines, diff);
    add_run(lines, "Old", then, false);
    add_run(lines, "New", now, true);
    if (const std::string differences = differences_text(then, now, diff); !differences.empty()) {
        lines.paragraph(differences, kLabelColumns, "Runs differ");
    }
    for (const Change change : kChanges) {
        const std::size_t count = diff.count(change);
        if (count == 0) {
            continue;
        }
        lines.empty_line();
        if (change == Change::unchanged && !screen.all) {
            lines.paragraph(counted(count, "finding") + " (--all lists them)", kLabelColumns, title_of(change));
            continue;
        }
        lines.raw(painted(title_of(change), Paint::strong, lines.color()));
        for (const DiffEntry& entry : diff.entries) {
            if (entry.change == change) {
                add_entry(lines, then, now, entry);
            }
        }
    }
    add_next(lines, diff, screen);
    return lines.take();
}

}  // namespace pincheck
