#include "diff_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "printable.h"
#include "render_text_layout.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

std::string changed(const std::string& then, const std::string& now, std::uint64_t a, std::uint64_t b) {
    if (a == b) {
        return now;
    }
    if (a == 0) {
        return then + " -> " + now;
    }
    const double percent = (static_cast<double>(b) / static_cast<double>(a) - 1) * 100;
    const bool small = percent < 1 && percent > -1;
    return then + " -> " + now + (small ? fmt::format(" ({:+.2g} %)", percent) : fmt::format(" ({:+.0f} %)", percent));
}

}  // namespace

const char* title_of(Change change) {
    switch (change) {
        case Change::fresh:
            return "New";
        case Change::worse:
            return "Worse";
        case Change::better:
            return "Better";
        case Change::fixed:
            return "Fixed";
        case Change::unchanged:
            break;
    }
    return "Unchanged";
}

std::string count_text(const Diff& diff, Change change) {
    const auto is_gating = [&](const DiffEntry& entry) {
        return entry.change == change && entry.now && entry.now->gated;
    };
    const auto gating = static_cast<std::size_t>(std::ranges::count_if(diff.entries, is_gating));
    const bool told = gating != 0 && (change == Change::fresh || change == Change::worse);
    return fmt::format("{} {}{}", count_text(diff.count(change)), name_of(change),
                       told ? fmt::format(" ({} gating)", count_text(gating)) : "");
}

std::string summary_text(const Diff& diff) {
    std::string text;
    for (const Change change : kChanges) {
        if (diff.count(change) != 0) {
            text += (text.empty() ? "" : ", ") + count_text(diff, change);
        }
    }
    return text.empty() ? "no findings in either run" : text;
}

std::string facts_text(const ListedRun& run) {
    return fmt::format("{}, {}, {}", run.processes == 1 ? "1 process" : count_text(run.processes) + " processes",
                       counted(run.cuda_calls, "CUDA call"), duration_text(run.duration_ns));
}

std::string doubt_text(const ListedRun& run, bool is_new) {
    if (run.reasons.empty()) {
        return "";
    }
    const std::string more =
        run.reasons.size() == 1 ? "" : fmt::format(" (and {} more)", count_text(run.reasons.size() - 1));
    return fmt::format(
        "Not conclusive: {}{}. {}", printable(run.reasons.front()), more,
        is_new ? "What is fixed may only not have been seen." : "What is new may have been there before.");
}

std::string differences_text(const ListedRun& then, const ListedRun& now, const Diff& diff) {
    std::string text;
    const auto add = [&](bool differs, const char* name, const std::string& change) {
        text += !differs ? "" : (text.empty() ? "" : ", ") + std::string(name) + change;
    };
    add(diff.processes, "processes ", count_text(then.processes) + " -> " + count_text(now.processes));
    add(diff.cuda_calls, "CUDA calls ",
        changed(count_text(then.cuda_calls), count_text(now.cuda_calls), then.cuda_calls, now.cuda_calls));
    add(diff.duration, "duration ",
        changed(duration_text(then.duration_ns), duration_text(now.duration_ns), then.duration_ns, now.duration_ns));
    return text.empty() ? "" : text + ". The amounts below are not comparable as they stand.";
}

const DiffSide& shown_side(const DiffEntry& entry) {
    return entry.now ? *entry.now : *entry.then;
}

const ListedFinding& shown_finding(const ListedRun& then, const ListedRun& now, const DiffEntry& entry) {
    return (entry.now ? now : then).findings[shown_side(entry).finding];
}

std::pair<Amounts, Amounts> amounts_of(const DiffEntry& entry) {
    const Amounts& shown = shown_side(entry).amounts;
    return {entry.then ? entry.then->amounts : shown, shown};
}

std::string change_text(Quantity quantity, const Amounts& then, const Amounts& now) {
    const std::uint64_t a = amount(then, quantity);
    const std::uint64_t b = amount(now, quantity);
    return changed(amount_text(quantity, a), amount_text(quantity, b), a, b);
}

std::string severity_text(const DiffEntry& entry) {
    const DiffSide& shown = shown_side(entry);
    std::string text = severity_text(shown.severity);
    if (entry.then && entry.now && entry.then->severity != entry.now->severity) {
        text = fmt::format("{} -> {}", severity_text(entry.then->severity), text);
    }
    return text + (!shown.gated ? "" : entry.now ? ", gates" : ", gated");
}

std::string heading_text(const ListedFinding& finding) {
    return finding.heading.empty() ? "(no stack)" : printable(finding.heading);
}

std::string what_text(const ListedFinding& finding) {
    std::string text = printable(finding.rule);
    text += finding.cause.empty() ? "" : " (" + printable(finding.cause) + ')';
    return text + (finding.api.empty() ? "" : " by " + printable(finding.api));
}

std::string moved_text(const DiffEntry& entry) {
    if (!entry.moved) {
        return "";
    }
    const std::size_t then = entry.then->places;
    const std::size_t now = entry.now->places;
    if (entry.change == Change::fresh) {
        return fmt::format(
            "{} of these {} places {} there before; the lines of all moved, so that nobody can tell which.", then, now,
            then == 1 ? "was" : "were");
    }
    return then == now ? (then == 1 ? "Its line moved." : fmt::format("The lines of {} places moved.", then))
                       : fmt::format("There were {} places, and {} left, whose lines moved.", then,
                                     now == 1 ? "1 is" : fmt::format("{} are", now));
}

}  // namespace pincheck
