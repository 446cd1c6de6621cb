#include "run_summary.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "printable.h"
#include "render_text.h"
#include "resolve.h"
#include "terminal.h"

namespace pincheck {
namespace {

constexpr std::size_t kMaxListed = 10;

void say(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    if (!text.empty() && text.back() != '\n') {
        std::fputc('\n', stderr);
    }
}

void list(std::vector<std::string>& into, const std::vector<SeenProcess>& processes, const char* what) {
    for (std::size_t i = 0; i < processes.size() && i < kMaxListed; ++i) {
        into.push_back("pid " + std::to_string(processes[i].pid) + " (" + printable(processes[i].command) + ") " +
                       what);
    }
    if (processes.size() > kMaxListed) {
        into.push_back(std::to_string(processes.size() - kMaxListed) + " more " + what);
    }
}

// Why a pass would be a guess.
std::vector<std::string> blind_reasons(const JobSeen& seen) {
    std::vector<std::string> reasons;
    list(reasons, seen.blind, "used CUDA without the tool: start that program itself under pincheck run");
    list(reasons, seen.still_running,
         "uses CUDA and is still running: what it does from now on is not judged; let the program wait for it");
    if (seen.reports.empty()) {
        for (const Hint* hint : {&seen.target, &seen.launcher}) {
            if (hint->blind) {
                reasons.push_back(hint->text);
            }
        }
    }
    return reasons;
}

Summary exported(const SummaryOptions& options, const Look& look) {
    Summary summary{look.judgement.verdict};
    for (const std::string& wanted : options.exports) {
        summary.exported = write_export(look, wanted, options.paths) && summary.exported;
    }
    return summary;
}

Summary without_reports(const SummaryOptions& options, const JobSeen& seen) {
    const std::vector<std::string> reasons = blind_reasons(seen);
    Look look;
    look.origins = options.origins;
    look.judgement = judge(look.loaded, {}, options.origins, options.policy, reasons);
    const Judgement& judgement = look.judgement;
    std::string line = "pincheck: no CUDA call was seen";
    if (options.checking) {
        line = judgement.verdict == Verdict::pass ? "pincheck: PASS  no CUDA call was made (--allow-no-cuda)"
                                                  : "pincheck: NO CONCLUSION  no CUDA call was seen";
    }
    std::vector<std::string> hints = reasons;
    list(hints, seen.hidden, "runs with other rights and cannot be looked into: start pincheck with its rights");
    if (options.checking && !seen.ending.empty()) {
        line += " (" + seen.ending + ", as the program did)";
    } else if (options.checking && judgement.verdict != Verdict::pass && hints.empty()) {
        hints.push_back("where the program need not use CUDA, --allow-no-cuda makes this a pass");
    }
    for (std::size_t i = 0; i < hints.size() && (!seen.one_line || i == 0); ++i) {
        // Several lines for a person, all that matters in one for a log.
        line += (seen.one_line || hints.size() == 1 ? ": " : "\n  ") + printable(hints[i]);
    }
    say(line);
    return exported(options, look);
}

// The reports shall say the same on another machine. With very many of them the user is not kept waiting, and the rest
// can be done later.
std::vector<std::string> write_symbols(const JobSeen& seen, SymbolCache& cache) {
    constexpr auto kPatience = std::chrono::seconds(10);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> notes;
    for (std::size_t done = 0; done < seen.reports.size(); ++done) {
        if (std::chrono::steady_clock::now() - start > kPatience) {
            notes.push_back(without_symbols_text(seen.reports.size() - done, seen.place));
            break;
        }
        // That a report is still being written is said elsewhere.
        const Resolved resolved = resolve_report(seen.reports[done], cache);
        if (!resolved.error.empty() && notes.empty() && seen.still_running.empty()) {
            notes.push_back(resolved.error);
        }
    }
    return notes;
}

}  // namespace

std::string not_judged_text(const std::string& place, const std::string& why) {
    return "the reports in " + printable(place) + " could not be judged: " + why +
           "; 'pincheck dump' shows what is in one";
}

std::string without_symbols_text(std::size_t reports, const std::string& place) {
    return std::to_string(reports) + " reports are without symbols: 'pincheck resolve " + place + "' adds them";
}

Summary print_summary(const SummaryOptions& options, const JobSeen& seen) {
    if (seen.reports.empty()) {
        return without_reports(options, seen);
    }
    SymbolCache cache(options.symbols);
    std::vector<std::string> notes = write_symbols(seen, cache);
    Look look;
    look.origins = options.origins;
    look.loaded = load_capture(seen.reports);
    for (std::string& problem : symbolize(look.loaded.capture, cache)) {
        notes.push_back(std::move(problem));
    }
    look.findings = find(look.loaded.capture, options.origins);
    look.judgement = judge(look.loaded, look.findings, options.origins, options.policy, blind_reasons(seen));
    ScreenOptions& screen = look.screen;
    screen.width = terminal_width(STDERR_FILENO);
    screen.color = wants_color(options.color, STDERR_FILENO);
    screen.checking = options.checking;
    screen.wall_ns = seen.wall_ns;
    screen.report_place = seen.place.ends_with('/') ? seen.place : seen.place + '/';
    screen.plain_numbers = options.plain_policy && !options.more_origins;
    screen.ending = seen.ending;
    if (seen.one_line) {
        say(verdict_line(look.loaded, look.judgement, screen));
    } else {
        say(first_screen(look.loaded, look.judgement, options.origins, screen));
    }
    list(notes, seen.hidden, "runs with other rights and could not be looked into: start pincheck with its rights");
    for (std::size_t i = 0; i < notes.size() && i < kMaxListed && !seen.one_line; ++i) {
        say("pincheck: " + printable(notes[i]));
    }
    return exported(options, look);
}

}  // namespace pincheck
