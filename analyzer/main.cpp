// The pincheck program: finds the verb and runs it. What a verb does is in its cmd_*.cpp.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "cmd_check.h"
#include "cmd_dump.h"
#include "cmd_explain.h"
#include "cmd_export.h"
#include "cmd_report.h"
#include "cmd_resolve.h"
#include "cmd_run.h"
#include "cmd_show.h"
#include "launcher.h"
#include "output.h"
#include "printable.h"
#include "report/records.h"

namespace {

constexpr int kWrongUsage = 2;

int usage_error(const CLI::App& app, const std::string& message) {
    std::string help = "pincheck";
    for (const CLI::App* verb : app.get_subcommands()) {
        help += " " + verb->get_name();
    }
    std::fprintf(stderr, "pincheck: %s; see '%s --help'\n", pincheck::printable(message).c_str(), help.c_str());
    return kWrongUsage;
}

std::string version_text() {
    return "pincheck " PINCHECK_VERSION " (report format " + std::to_string(pincheck::report::kFormatVersion) + ")\n";
}

int run(int argc, char** argv) {
    CLI::App app("Finds CUDA copies that are not asynchronous, hidden waits and buffers reused too early.", "pincheck");
    app.set_help_flag("-h,--help", "Show this help, or after a verb the verb's");
    bool version = false;
    app.add_flag("--version", version, "Show the version and the report format it reads");
    app.require_subcommand(0, 1);
    std::function<int()> verb;
    std::vector<std::string> program;
    pincheck::add_run(app, verb, program);
    pincheck::add_report(app, verb);
    pincheck::add_check(app, verb);
    pincheck::add_show(app, verb);
    pincheck::add_explain(app, verb);
    pincheck::add_dump(app, verb);
    pincheck::add_export(app, verb);
    pincheck::add_resolve(app, verb);
    argc = pincheck::take_program(app, argc, argv, program);

    // CLI11 would take an unknown verb for a stray argument.
    const auto named = [&](const CLI::App* candidate) { return argc > 1 && candidate->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
        return usage_error(app, std::string("there is no verb '") + argv[1] + "'");
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return pincheck::exit_status_of(pincheck::write_stdout(app.help()));
    } catch (const CLI::ParseError& error) {
        return usage_error(app, error.what());
    }
    if (version) {
        return pincheck::exit_status_of(pincheck::write_stdout(version_text()));
    }
    if (!verb) {
        std::fputs(app.help().c_str(), stderr);
        return kWrongUsage;
    }
    return verb();
}

}  // namespace

int main(int argc, char** argv) {
    // A closed pipe is then an error of write(), which is handled, and not our death. A program that we start gets
    // back what was there.
    pincheck::remember_sigpipe(std::signal(SIGPIPE, SIG_IGN));
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "pincheck: %s\n", error.what());
        return kWrongUsage;
    }
}
