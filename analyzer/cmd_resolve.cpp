#include "cmd_resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "output.h"
#include "printable.h"
#include "report_files.h"
#include "resolve.h"

namespace pincheck {
namespace {

struct Options {
    std::vector<std::string> files;
    SymbolizeOptions symbols;
};

void say(const std::string& message) {
    std::fprintf(stderr, "pincheck: %s\n", printable(message).c_str());
}

int resolve_files(const Options& options) {
    std::vector<std::string> errors;
    const std::vector<std::string> files = report_files(options.files, errors);
    for (const std::string& error : errors) {
        say(error);
    }
    int status = errors.empty() ? 0 : 2;
    SymbolCache cache(options.symbols);
    std::set<std::string> said;
    for (const std::string& file : files) {
        const Resolved result = resolve_report(file, cache);
        for (const std::string& problem : result.problems) {
            if (said.insert(problem).second) {
                say(problem);
            }
        }
        if (!result.error.empty()) {
            say(result.error);
            status = 2;
            continue;
        }
        const std::size_t unknown = result.frames - result.lines - result.functions;
        const Written written = write_stdout(
            fmt::format("{}: {} frames: {} with file and line, {} by the nearest symbol, {} unknown; {} added\n",
                        printable(file), result.frames, result.lines, result.functions, unknown, result.added));
        if (written != Written::yes) {
            return std::max(status, exit_status_of(written));
        }
    }
    return status;
}

}  // namespace

void add_resolve(CommandLine& line) {
    Verb verb = line.add_verb("resolve", "Put function names and source lines into report files");
    verb.footer(
        "Run it where the program ran, with its files still as they were; afterwards a report shows the same on any\n"
        "machine. 'pincheck run' has done it already. Frames that have symbols are left alone.\n\n"
        "Exit status: 0 done, also when frames stay unknown; 2 wrong usage, or a file that cannot be read, cannot be\n"
        "written, or is being written by its program.");
    auto options = std::make_shared<Options>();
    verb.arguments("FILE", options->files, "Report files (.pcr), or folders of them, of programs that have ended");
    verb.texts("--debug-dir", options->symbols.debug_directories, "Look here for debug information first (repeatable)",
               "DIR");
    verb.flag("--debuginfod", options->symbols.debuginfod, "Ask the servers of DEBUGINFOD_URLS for debug information");
    verb.action([options] { return resolve_files(*options); });
}

}  // namespace pincheck
