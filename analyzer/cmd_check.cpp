#include "cmd_check.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "export.h"
#include "look.h"
#include "output.h"
#include "printable.h"

namespace pincheck {
namespace {

struct CheckOptions {
    LookOptions look;
    int violated = 1;
    bool quiet = false;
    bool all = false;
    std::vector<std::string> exports;  // FORMAT=FILE
    ExportOptions paths;
};

int check(CheckOptions& options) {
    std::optional<Look> look = look_at(options.look);
    if (!look) {
        return 2;
    }
    // A file that could not be read is part of the question: what it would have shown is not known.
    for (const std::string& error : look->loaded.errors) {
        std::fprintf(stderr, "pincheck: %s\n", printable(error).c_str());
    }
    look->screen.checking = true;
    look->screen.all = options.all;
    const int status = exit_status_of(look->judgement.verdict, options.violated);
    const std::string text = options.quiet ? verdict_line(look->loaded, look->judgement, look->screen)
                                           : first_screen(look->loaded, look->judgement, look->origins, look->screen);
    int written = exit_status_of(write_stdout(text));
    for (const std::string& wanted : options.exports) {
        written = write_export(*look, wanted, options.paths) ? written : 2;
    }
    // The verdict is the answer; that it could not be shown must not turn a violation into something else.
    return status != 0 ? status : written;
}

}  // namespace

int exit_status_of(Verdict verdict, int violated) {
    switch (verdict) {
        case Verdict::pass:
            return 0;
        case Verdict::violated:
            return violated;
        case Verdict::no_conclusion:
            break;
    }
    return 3;
}

void add_check(CommandLine& line) {
    Verb verb = line.add_verb("check", "Fail when report files show a copy that is not asynchronous");
    verb.footer(
        "Fails on errors in code of your own: asynchronous copies from or into pageable memory, and copies across the\n"
        "edge of a registration. 'pincheck explain default-gate' says whose code is whose.\n"
        "What a team lets pass (thresholds, suppressions, a baseline, pincheck.toml): 'pincheck explain gate'.\n"
        "Several reports are judged as one: the processes of a job. A folder stands for the *.pcr files in it.\n\n"
        "Exit status: 0 pass; 1 violated; 2 wrong usage, or none of the files can be read; 3 no conclusion: no CUDA\n"
        "call, a file that cannot be read or was cut, or calls that were not recorded.");
    auto options = std::make_shared<CheckOptions>();
    verb.arguments("FILE", options->look.paths, "Report files (.pcr), folders of them, or ids of running processes");
    add_gate_options(verb, options->look.gate);
    verb.number("--exit-code", options->violated, 0, 255, "Exit status for a violation instead of 1", "N");
    verb.flag("--quiet", options->quiet, "Show the verdict in one line");
    verb.flag("--all", options->all, "List every finding, also what does not gate");
    verb.texts("--export", options->exports,
               "Write the findings for other programs too, as 'pincheck export' (repeatable)", "FORMAT=FILE",
               problem_of_export);
    add_export_options(verb, options->paths);
    for (const char* name : {"--source-root", "--map", "--redact", "--located", "--job"}) {
        verb.only_with(name, "--export");
    }
    add_since_option(verb, options->look);
    add_look_options(verb, options->look);
    verb.action([options] { return check(*options); });
}

}  // namespace pincheck
