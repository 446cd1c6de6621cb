#include "cmd_top.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture.h"
#include "output.h"
#include "printable.h"
#include "render_top.h"
#include "report_files.h"
#include "symbol_cache.h"
#include "symbolize.h"
#include "terminal.h"

namespace pincheck {
namespace {

struct Options {
    std::vector<std::string> paths;
    unsigned interval = 2;  // seconds
    unsigned count = 0;     // looks; 0: until the processes have ended
    unsigned rows = 15;
    std::string color = "auto";
    SymbolizeOptions symbols;
};

int top(const Options& options) {
    constexpr const char* kClear = "\033[H\033[2J";
    const Origins origins;
    SymbolCache cache(options.symbols);
    std::map<std::string, report::Report> before;
    const bool clears = isatty(STDOUT_FILENO) == 1;
    TopOptions shown;
    shown.rows = options.rows;
    shown.color = wants_color(options.color, STDOUT_FILENO);
    bool is_first = true;
    auto last = std::chrono::steady_clock::now();
    std::vector<std::string> errors;
    // By their files: an id may be another process's later.
    const std::vector<std::string> files = report_files(options.paths, errors);
    for (unsigned look = 0; options.count == 0 || look < options.count; ++look) {
        if (look != 0) {
            poll(nullptr, 0, static_cast<int>(options.interval * 1000));
        }
        const auto now = std::chrono::steady_clock::now();
        shown.since_ns = is_first ? 0 : static_cast<std::uint64_t>(std::chrono::nanoseconds(now - last).count());
        last = now;
        LoadResult loaded = load_next(files, before);
        if (loaded.capture.processes.empty()) {
            errors.insert(errors.end(), loaded.errors.begin(), loaded.errors.end());
            break;
        }
        symbolize(loaded.capture, cache);
        shown.width = terminal_width(STDOUT_FILENO);
        const std::string text =
            (clears ? kClear : "") + top_text(loaded.capture, origins, shown) + (clears ? "" : "\n");
        if (const Written written = write_stdout(text); written != Written::yes) {
            return exit_status_of(written);
        }
        is_first = false;
        if (std::ranges::all_of(loaded.capture.processes, &CaptureProcess::ended)) {
            break;
        }
    }
    for (const std::string& error : errors) {
        std::fprintf(stderr, "pincheck: %s\n", printable(error).c_str());
    }
    return is_first ? 2 : 0;
}

}  // namespace

void add_top(CommandLine& line) {
    Verb verb = line.add_verb("top", "Show where running processes spend their time in CUDA calls now");
    verb.footer(
        "The first look is at everything so far, each later one at what came since the last; times are of the host,\n"
        "added up over threads. Reports are up to 250 ms behind their processes. Ends when the processes have ended,\n"
        "or with Ctrl-C.\n\n"
        "Exit status: 0 shown; 2 wrong usage, or nothing can be read.");
    auto options = std::make_shared<Options>();
    verb.arguments("FILE|PID", options->paths, "Ids of running processes, report files, or folders of them");
    verb.number("--interval", options->interval, 1, 3600, "Seconds between two looks (default: 2)", "SECONDS");
    verb.number("--count", options->count, 1, 1'000'000, "End after so many looks", "N");
    verb.number("--rows", options->rows, 1, 200, "Places to show at most (default: 15)", "N");
    verb.choice("--color", options->color, {"auto", "always", "never"},
                "auto (a terminal, and NO_COLOR not set), always or never");
    verb.texts("--debug-dir", options->symbols.debug_directories, "Look here for debug information first (repeatable)",
               "DIR");
    verb.flag("--debuginfod", options->symbols.debuginfod, "Ask the servers of DEBUGINFOD_URLS for debug information");
    verb.action([options] { return top(*options); });
}

}  // namespace pincheck
