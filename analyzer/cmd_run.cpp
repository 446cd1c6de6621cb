#include "cmd_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "cmd_check.h"
#include "descendants.h"
#include "driver_watch.h"
#include "gate_options.h"
#include "hints.h"
#include "job.h"
#include "launcher.h"
#include "policy.h"
#include "preload_options.h"
#include "printable.h"
#include "run_summary.h"
#include "target.h"

namespace pincheck {
namespace {

constexpr int kWrongUsage = 2;

struct RunOptions {
    std::string output;
    std::vector<std::pair<std::string, std::string>> preload_flags;
    SummaryOptions summary;
    GateOptions gate;
    std::string origins_file;
    int violated_status = 1;
};

int wrong_usage(const std::string& message) {
    std::fprintf(stderr, "pincheck: %s\n", message.c_str());
    return kWrongUsage;
}

int could_not_start(const std::vector<std::string>& command, const Target& target, int error) {
    std::string why = std::strerror(error);
    if (error == ENOENT && (target.kind != TargetKind::not_found || !target.script.empty())) {
        // The file is there: what the kernel did not find is what it names.
        why = "its interpreter " + (target.interpreter.empty() ? "" : printable(target.interpreter) + " ") +
              "is missing; install it, or name the one to use: pincheck run -- INTERPRETER PROGRAM";
    } else if (error == ENOENT) {
        why += command.front().find('/') == std::string::npos ? "; it is in no folder of PATH: check the name, or give "
                                                                "its path"
                                                              : "; check the path";
    } else if (error == EACCES) {
        why += "; name a program that may be executed (chmod +x makes a file one)";
    }
    std::fprintf(stderr, "pincheck: cannot start %s: %s\n", printable(command.front()).c_str(), why.c_str());
    return status_of_exec_error(error);
}

// "exits 7", "dies by SIGTERM", "" for success: how the run ends when its program ended with this wait status.
std::string failed_ending(int status) {
    if (WIFSIGNALED(status)) {
        const char* name = sigabbrev_np(WTERMSIG(status));
        return "dies by " +
               (name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(WTERMSIG(status)));
    }
    return WEXITSTATUS(status) != 0 ? "exits " + std::to_string(WEXITSTATUS(status)) : "";
}

// While the program runs: tells at once who is blind, when that is wanted.
class Lookout {
  public:
    Lookout(const std::string& library, int verbosity)
        : descendants_(getpid(), library.substr(library.rfind('/') + 1)), verbosity_(verbosity) {}
    void look() {
        descendants_.look();
        for (; verbosity_ >= 2 && told_ < descendants_.blind().size(); ++told_) {
            const SeenProcess& process = descendants_.blind()[told_];
            std::fprintf(stderr, "pincheck: pid %d (%s) uses CUDA without the tool\n", static_cast<int>(process.pid),
                         printable(process.command).c_str());
        }
    }
    const Descendants& descendants() const { return descendants_; }

  private:
    Descendants descendants_;
    int verbosity_;
    std::size_t told_ = 0;
};

// Prints the summary and exports; the verdict's exit status, 2 where it is 0 and an export failed. A failure of ours
// must not hide how the program ended.
int summarize(const RunOptions& options, const JobSeen& seen) {
    try {
        const Summary summary = print_summary(options.summary, seen);
        const int status = exit_status_of(summary.verdict, options.violated_status);
        return status == 0 && !summary.exported ? kWrongUsage : status;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "pincheck: %s\n", not_judged_text(seen.place, error.what()).c_str());
    }
    return exit_status_of(Verdict::no_conclusion, options.violated_status);
}

int run_job(RunOptions& options, const std::vector<std::string>& command) {
    if (command.empty()) {
        return wrong_usage(
            "run needs a program: pincheck run [options] -- program arguments; see 'pincheck run --help'");
    }
    const char* users = std::getenv("PINCHECK_OPTIONS");
    // A gate judges the same copies in every run, however fast the machine is.
    const std::string defaults = options.summary.checking ? "sample=count:" : "";
    const MergedOptions merged = merge_options(defaults + (users != nullptr ? users : ""), options.preload_flags);
    if (!merged.error.empty()) {
        return wrong_usage(merged.error);
    }
    if (!options.origins_file.empty()) {
        const std::string error = options.summary.origins.add_file(options.origins_file);
        if (!error.empty()) {
            return wrong_usage(printable(error));
        }
        options.summary.more_origins = true;
    }
    const Gate gate = read_gate(options.gate);
    if (!gate.error.empty()) {
        return wrong_usage(printable(gate.error));
    }
    options.summary.policy = gate.policy;
    options.summary.plain_policy = gate.plain;
    const FoundLibrary library = find_library();
    if (!library.error.empty()) {
        return wrong_usage(library.error);
    }
    PreloadPath preload_path(library.path);
    if (!preload_path.error().empty()) {
        return wrong_usage(preload_path.error());
    }
    const FoundLibrary trap = merged.traps ? find_trap_library(preload_path.path()) : FoundLibrary{};
    if (!trap.error.empty()) {
        return wrong_usage(trap.error);
    }
    const report::JobRank job_rank = rank_of_environment();
    const std::string rank = job_rank.text == nullptr ? "" : job_rank.text;
    const JobFolder folder(options.output, command.front(), rank);
    if (!folder.error().empty()) {
        return wrong_usage(folder.error());
    }
    const auto notice = [&](const std::string& text) {
        if (!text.empty() && merged.verbosity >= 1) {
            std::fprintf(stderr, "pincheck: %s\n", text.c_str());
        }
    };
    notice(folder.notice());
    if (!merged.users_output.empty()) {
        notice("output=" + printable(merged.users_output) +
               " of PINCHECK_OPTIONS is not used by run; name a folder with "
               "--output DIR");
    }

    const Target target = inspect_target(command);
    std::optional<Preload> preload;
    if (target.kind != TargetKind::musl && target.kind != TargetKind::foreign) {
        preload = Preload{preload_path.path(), trap.path, target.address_sanitizer(),
                          merged.text + (merged.text.empty() ? "" : ":") + folder.output_option()};
    }
    const DriverWatch driver;
    Lookout lookout(library.path, merged.verbosity);
    const Ending ending = run_program(
        command, child_environment(preload), [&] { lookout.look(); }, driver.descriptor());
    const Descendants& descendants = lookout.descendants();
    if (descendants.any_alive()) {
        preload_path.keep();
    }
    if (!ending.start_error.empty() || ending.exec_error != 0) {
        folder.remove_if_empty();
        return ending.start_error.empty() ? could_not_start(command, target, ending.exec_error)
                                          : wrong_usage(cannot_start_text(ending.start_error));
    }

    JobSeen seen;
    seen.reports = folder.reports();
    seen.place = folder.path();
    seen.wall_ns = ending.wall_ns;
    seen.blind = descendants.blind();
    seen.hidden = descendants.hidden();
    seen.still_running = descendants.still_using_cuda();
    seen.target = hint_about_target(target, command);
    seen.launcher = hint_about_launcher(command);
    seen.one_line = options.summary.quiet ||
                    (!job_rank.own_output && !rank.empty() && rank.find_first_not_of('0') != std::string::npos);
    seen.ending = failed_ending(ending.status);
    if (seen.reports.empty()) {
        folder.remove_if_empty();
    }
    const int verdict = summarize(options, seen);
    if (WIFSIGNALED(ending.status)) {
        std::fflush(nullptr);
        preload_path.remove();
        die_by(WTERMSIG(ending.status));
    }
    const int own = WEXITSTATUS(ending.status);
    return own != 0 || !options.summary.checking ? own : verdict;
}

void add_options(Verb verb, RunOptions& options) {
    verb.text("--output", options.output,
              "Folder for the reports of the job's processes, new or without reports "
              "(default: pincheck-PROGRAM-TIME-PID)",
              "DIR");
    verb.flag("--quiet", options.summary.quiet, "One line instead of a screen");
    verb.choice("--color", options.summary.color, {"auto", "always", "never"},
                "auto, always or never; NO_COLOR is respected", "WHEN");

    verb.flag("--check", options.summary.checking, "Fail when something is found");
    verb.number("--exit-code", options.violated_status, 0, 255,
                "Exit status when something gated is found, instead of 1", "N");
    verb.only_with("--exit-code", "--check");
    add_gate_options(verb, options.gate);

    verb.texts("--export", options.summary.exports,
               "Write the findings for other programs too, as 'pincheck export' (repeatable)", "FORMAT=FILE",
               problem_of_export);
    add_export_options(verb, options.summary.paths);
    for (const char* name : {"--source-root", "--map", "--redact", "--located", "--job"}) {
        verb.only_with(name, "--export");
    }

    verb.text("--origins", options.origins_file, "More patterns of library, vendor and system files (JSON)", "FILE");
    verb.texts("--debug-dir", options.summary.symbols.debug_directories,
               "Look here for debug information first (repeatable)", "DIR");
    verb.flag("--debuginfod", options.summary.symbols.debuginfod,
              "Ask the servers of DEBUGINFOD_URLS for debug information");

    for (const PreloadOption& option : preload_options()) {
        const std::string key = option.key;
        verb.each(
            "--" + key, [&options, key](const std::string& value) { options.preload_flags.emplace_back(key, value); },
            option.help, option.values);
    }
}

}  // namespace

void add_run(CommandLine& line, const std::vector<std::string>& program) {
    Verb verb = line.add_verb(
        "run", "Run a program and say which of its copies are not asynchronous: run [OPTIONS] -- PROGRAM [ARGUMENTS]");
    auto options = std::make_shared<RunOptions>();
    add_options(verb, *options);
    verb.footer(
        "The program's output is its own; the summary goes to standard error. All processes of the job are\n"
        "looked at together; those that outlive the program are waited for at most half a second.\n"
        "Processes that use CUDA without the tool are noticed and named.\n\n"
        "The options from --stacks on are also keys of PINCHECK_OPTIONS=key=value:key=value, which they overrule.\n\n"
        "Exit status: the program's, also when it is killed by a signal. With --check, when the program\n"
        "succeeded: 0 nothing found, 1 found, 3 no conclusion (nothing loaded, no CUDA call, incomplete).\n"
        "2 wrong usage; 126 the program cannot be executed, 127 it was not found.");
    verb.action([options, &program] { return run_job(*options, program); });
}

int take_program(const CommandLine& line, int argc, char** argv, std::vector<std::string>& program) {
    const std::string verb = argc < 2 ? "" : argv[1];
    if (verb != "run" && verb != "doctor") {
        return argc;
    }
    for (int i = 2; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool end_of_options = word == "--";
        if (end_of_options || word.empty() || word.front() != '-') {
            program.assign(argv + i + (end_of_options ? 1 : 0), argv + argc);
            return i;
        }
        if (line.takes_next_word(verb, std::string(word))) {
            ++i;  // its value; `--option=value` is no option's name
        }
    }
    return argc;
}

}  // namespace pincheck
