#include "cmd_diff.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "diff.h"
#include "diff_run.h"
#include "output.h"
#include "printable.h"
#include "render_json_diff.h"
#include "render_markdown_diff.h"
#include "render_text_diff.h"
#include "terminal.h"

namespace pincheck {
namespace {

struct DiffOptions {
    LookOptions look;
    std::string then;
    std::string now;
    std::string format = "text";
    DiffLimits limits;
    bool all = false;
    bool fail_on_new = false;
};

bool is_a_violation(const DiffEntry& entry) {
    return (entry.change == Change::fresh || entry.change == Change::worse) && entry.now->severity != Severity::note;
}

// What --fail-on-new makes of it.
int status_of(const ListedRun& then, const ListedRun& now, const Diff& diff) {
    for (const DiffEntry& entry : diff.entries) {
        if (is_a_violation(entry)) {
            return 1;
        }
    }
    // What was not seen is neither new nor gone.
    return then.reasons.empty() && now.reasons.empty() ? 0 : 3;
}

int compare(const DiffOptions& options) {
    // Once for both: look_at() would say twice what is wrong, and exports would hide it.
    const Gate gate = read_gate(options.look.gate);
    if (!gate.error.empty()) {
        std::fprintf(stderr, "pincheck: %s\n", printable(gate.error).c_str());
        return 2;
    }
    const std::optional<ListedRun> then = read_run(options.then, options.look);
    if (!then) {
        return 2;
    }
    const std::optional<ListedRun> now = read_run(options.now, options.look);
    if (!now) {
        return 2;
    }
    const Diff diff = diff_runs(*then, *now, options.limits);
    std::string text;
    if (options.format == "json") {
        text = diff_json(*then, *now, diff, options.limits);
    } else if (options.format == "markdown") {
        text = diff_markdown(*then, *now, diff, options.all);
    } else {
        DiffScreen screen;
        screen.width = options.look.width != 0 ? options.look.width : terminal_width(STDOUT_FILENO);
        screen.color = wants_color(options.look.color, STDOUT_FILENO);
        screen.all = options.all;
        const bool plain = options.look.origins_file.empty() && gate.plain;
        screen.show_then = plain && !is_exported(options.then) ? options.then : "";
        screen.show_now = plain && !is_exported(options.now) ? options.now : "";
        text = diff_text(*then, *now, diff, screen);
    }
    const int written = exit_status_of(write_stdout(text));
    const int status = options.fail_on_new ? status_of(*then, *now, diff) : 0;
    return status != 0 ? status : written;
}

}  // namespace

void add_diff(CommandLine& line) {
    Verb verb = line.add_verb("diff", "Compare two runs: what is new, worse, better or fixed");
    verb.footer(
        "OLD and NEW are a report (.pcr), a folder of the reports of one job, or what 'pincheck export --format=json'\n"
        "wrote. Findings are matched as a baseline's are: 'pincheck explain gate'. The amounts are those of the whole\n"
        "run, as they are; where the runs differ in processes, CUDA calls or duration, that is said.\n"
        "The options about gates say what is shown as gating; an export keeps what it was judged by. They decide\n"
        "nothing about the exit status: 'pincheck check --baseline OLD.json' is the gate for known findings.\n\n"
        "Exit status: 0 compared; 2 wrong usage, or OLD or NEW cannot be read. With --fail-on-new also 1: an error or\n"
        "a warning is new or worse; 3: none is, but one of the runs is not conclusive.");
    auto options = std::make_shared<DiffOptions>();
    verb.argument("OLD", options->then, "Report, folder of reports, or export in JSON", true);
    verb.argument("NEW", options->now, "The same of the later run", true);
    verb.choice("--format", options->format, {"text", "json", "markdown"},
                "text, json (analyzer/diff_schema.md) or markdown", "FORMAT");
    verb.flag("--all", options->all, "List unchanged findings too");
    verb.flag("--fail-on-new", options->fail_on_new, "Exit with 1 when an error or a warning is new or worse");
    verb.number("--threshold", options->limits.percent, 0, 100'000,
                "Count and bytes within so many percent are unchanged (default 10)", "PERCENT");
    verb.number("--noise", options->limits.held_percent, 0, 100'000,
                "Time held within so many percent, or 1 ms, is unchanged (default 50)", "PERCENT");
    add_gate_options(verb, options->look.gate);
    add_look_options(verb, options->look);
    verb.action([options] { return compare(*options); });
}

}  // namespace pincheck
