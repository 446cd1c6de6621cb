// The first screen. Order and wording follow one question after the other: did it pass, what ran, what did it cost,
// where, why, what to do; then what was left out, what was not seen, and what to type next.
#include "render_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "names.h"
#include "printable.h"
#include "render_text_coverage.h"
#include "render_text_findings.h"
#include "render_text_gate.h"
#include "render_text_layout.h"
#include "render_text_parts.h"
#include "render_text_processes.h"
#include "render_text_waits.h"

namespace pincheck {
namespace {

constexpr std::size_t kMinimumWidth = 60;
constexpr std::size_t kMaximumWidth = 200;

struct Totals {
    std::uint64_t calls = 0;
    std::uint64_t wall_ns = 0;
    bool wall_known = false;
};

Totals totals_of(const Capture& capture, const ScreenOptions& options) {
    Totals totals;
    for (const CaptureProcess& process : capture.processes) {
        totals.calls += process.cuda_calls;
        totals.wall_ns = std::max(totals.wall_ns, process.duration_ns);
    }
    if (options.wall_ns != 0) {
        totals.wall_ns = options.wall_ns;
        totals.wall_known = true;
    }
    return totals;
}

std::uint64_t held_by(const std::vector<Finding>& findings) {
    std::uint64_t held = 0;
    for (const Finding& finding : findings) {
        held += finding.held_ns;
    }
    return held;
}

// ---- Verdict

const char* verdict_word(Verdict verdict) {
    return verdict == Verdict::pass ? "PASS" : verdict == Verdict::violated ? "FAIL" : "NO CONCLUSION";
}

Paint verdict_paint(Verdict verdict) {
    return verdict == Verdict::pass ? Paint::good : verdict == Verdict::violated ? Paint::bad : Paint::doubt;
}

void add_verdict(Lines& lines, const LoadResult& loaded, const Judgement& judgement, const ScreenOptions& options) {
    const std::string word = verdict_word(judgement.verdict);
    const int status = judgement.verdict == Verdict::pass ? 0 : judgement.verdict == Verdict::violated ? 1 : 3;
    // A failing program's own status wins over every verdict, so that this is then no word about --check.
    const std::string look_only = options.checking ? "" : "look only: ";
    const std::string hint = !options.ending.empty()
                                 ? fmt::format("({}{}, as the program did)", look_only, options.ending)
                             : options.checking ? ""
                                                : fmt::format("({}exit 0; --check exits {})", look_only, status);
    const std::size_t indent = 10 + word.size() + 2;
    const std::string head = "pincheck: " + painted(word, verdict_paint(judgement.verdict), lines.color());
    const std::string summary = verdict_why(loaded, judgement);
    const bool fits = indent + columns(summary) + 2 + columns(hint) <= lines.width();
    if (fits) {
        const std::size_t gap = lines.width() - indent - columns(summary) - columns(hint);
        lines.raw(head + "  " + summary + std::string(hint.empty() ? 0 : gap, ' ') + hint);
    } else {
        std::string before = head + "  ";
        for (const std::string& part : wrap(summary, lines.width() - indent)) {
            lines.raw(before + part);
            before.assign(indent, ' ');
        }
    }
    if (judgement.verdict == Verdict::no_conclusion) {
        for (std::size_t i = 1; i < judgement.reasons.size(); ++i) {
            lines.paragraph(printable(judgement.reasons[i]), indent);
        }
    }
    if (!fits && !hint.empty()) {
        lines.paragraph(hint, 10);
    }
}

// ---- What ran

void add_process(Lines& lines, const Capture& capture, const Totals& totals) {
    const auto earlier = [](const CaptureProcess& a, const CaptureProcess& b) {
        return a.start_realtime_ns < b.start_realtime_ns;
    };
    const auto first = std::ranges::min_element(capture.processes, earlier);
    if (first == capture.processes.end()) {
        return;
    }
    std::string rest = capture.processes.size() == 1
                           ? fmt::format("pid {}", first->pid)
                           : fmt::format("{} processes", count_text(capture.processes.size()));
    const std::string devices = devices_text(capture);
    rest += devices.empty() ? "" : " | " + devices;
    rest += " | " + duration_text(totals.wall_ns) +
            (totals.wall_known       ? ""
             : capture.since.empty() ? " since the first CUDA call"
                                     : " since mark " + capture.since);
    const std::string command = command_text(*first);
    if (columns(command) + 3 + columns(rest) <= lines.width()) {
        lines.line(command + " | " + rest);
    } else {
        lines.line(command);
        lines.paragraph(rest, 0);
    }
}

void add_cost(Lines& lines, const Capture& capture, const Judgement& judgement, const Totals& totals) {
    if (std::ranges::none_of(judgement.gated, &Finding::is_timed)) {
        if (totals.calls != 0) {
            lines.paragraph(fmt::format("All recorded calls, waits included, held the host {}.",
                                        duration_text(capture.total_host_ns())),
                            0);
        }
        return;
    }
    const std::uint64_t held = held_by(judgement.gated);
    bool parallel = capture.processes.size() > 1 || held > totals.wall_ns;
    for (const Finding& finding : judgement.gated) {
        const CaptureSite* site = site_by_id(capture, finding.site);
        parallel |= finding.is_timed() && site != nullptr && site->threads > 1;
    }
    std::string text = "These calls held the host " + duration_text(held);
    if (totals.wall_ns != 0 && parallel) {
        text += fmt::format(", added up over threads; it ran for {}", duration_text(totals.wall_ns));
    } else if (totals.wall_ns != 0) {
        text += fmt::format(" of {} ({})", duration_text(totals.wall_ns),
                            percent_text(static_cast<double>(held) / static_cast<double>(totals.wall_ns)));
    }
    lines.paragraph(text + '.', 0);
}

// Where a process that was killed, or still runs, stands.
void add_stuck(Lines& lines, const Capture& capture) {
    for (const CaptureProcess& process : capture.processes) {
        for (const CaptureProcess::InCall& call : process.in_call) {
            if (process.ended) {
                continue;
            }
            const std::string who =
                call.name.empty() ? fmt::format("thread {}", call.tid) : "thread '" + printable(call.name) + "'";
            const std::string where = capture.processes.size() > 1 ? fmt::format(" of pid {}", process.pid) : "";
            lines.paragraph(fmt::format("{}{} has been in {} for {} when the report ends.", who, where,
                                        printable(call.api), duration_text(call.since_ns)),
                            0);
        }
    }
}

// ---- What to do next

void add_next(Lines& lines, const Judgement& judgement, const ScreenOptions& options) {
    std::vector<std::string> commands;
    const std::vector<Finding>& shown = judgement.gated.empty() ? judgement.not_gated : judgement.gated;
    if (!shown.empty()) {
        const std::string wanted = options.plain_numbers ? "1" : fmt::format("s{}", shown.front().site);
        commands.push_back("pincheck show " + wanted + ' ' + place_argument(options.report_place));
        const Finding& first = shown.front();
        commands.push_back("pincheck explain " + (first.cause ? name(*first.cause) : slug_of(first.rule)));
    } else if (judgement.verdict == Verdict::no_conclusion) {
        commands.emplace_back("pincheck explain blind");
    }
    if (!options.report_place.empty()) {
        lines.paragraph(shell_word(options.report_place), kLabelColumns, "Report");
    }
    std::string joined;
    for (const std::string& command : commands) {
        joined += (joined.empty() ? "" : " | ") + command;
    }
    if (kLabelColumns + columns(joined) <= lines.width()) {
        commands.assign(commands.empty() ? 0 : 1, joined);
    }
    for (std::size_t i = 0; i < commands.size(); ++i) {
        lines.paragraph(commands[i], kLabelColumns, i == 0 ? "Next" : "");
    }
}

}  // namespace

std::string verdict_why(const LoadResult& loaded, const Judgement& judgement) {
    switch (judgement.verdict) {
        case Verdict::violated:
            return rules_text(judgement.gated);
        case Verdict::pass: {
            const Totals totals = totals_of(loaded.capture, {});
            return totals.calls == 0
                       ? "no CUDA call was made"
                       : "nothing gated in " + counted(totals.calls, "CUDA call") + passed_text(judgement);
        }
        case Verdict::no_conclusion:
            break;
    }
    return judgement.reasons.empty() ? "" : printable(judgement.reasons.front());
}

std::string first_screen(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                         const ScreenOptions& options) {
    const Capture& capture = loaded.capture;
    const Totals totals = totals_of(capture, options);
    Lines lines(std::clamp<std::size_t>(options.width, kMinimumWidth, kMaximumWidth), options.color);
    add_verdict(lines, loaded, judgement, options);
    add_process(lines, capture, totals);
    add_cost(lines, capture, judgement, totals);
    add_stuck(lines, capture);
    if (!judgement.gated.empty()) {
        lines.empty_line();
        add_gated(lines, capture, judgement, origins, options);
    }
    add_not_gated(lines, capture, judgement, origins, options);
    add_let_pass(lines, capture, judgement, origins, options);
    if (options.all) {
        add_all_not_gated(lines, capture, judgement, origins);
    }
    lines.empty_line();
    add_plain_times(lines, capture, origins);
    add_pinned(lines, capture);
    add_seen(lines, capture);
    add_not_seen(lines, loaded, judgement);
    add_deviating(lines, capture);
    add_gate_settings(lines, judgement, options);
    add_next(lines, judgement, options);
    return lines.take();
}

std::string verdict_line(const LoadResult& loaded, const Judgement& judgement, const ScreenOptions& options) {
    const std::string word = verdict_word(judgement.verdict);
    std::string line = "pincheck: " + painted(word, verdict_paint(judgement.verdict), options.color) + "  " +
                       verdict_why(loaded, judgement);
    if (std::ranges::any_of(judgement.gated, &Finding::is_timed)) {
        line += fmt::format(", {} held", duration_text(held_by(judgement.gated)));
    }
    if (loaded.capture.processes.size() == 1 && loaded.capture.processes.front().rank != report::kNoRank) {
        line += fmt::format(" (rank {})", loaded.capture.processes.front().rank);
    }
    return line + '\n';
}

}  // namespace pincheck
