// The pincheck program: finds the verb and runs it. What a verb does is in its cmd_*.cpp.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cmd_check.h"
#include "cmd_diff.h"
#include "cmd_dump.h"
#include "cmd_explain.h"
#include "cmd_export.h"
#include "cmd_mark.h"
#include "cmd_report.h"
#include "cmd_resolve.h"
#include "cmd_run.h"
#include "cmd_show.h"
#include "command_line.h"
#include "launcher.h"
#include "printable.h"
#include "report/records.h"

namespace {

constexpr int kWrongUsage = 2;

std::string version_text() {
    return "pincheck " PINCHECK_VERSION " (report format " + std::to_string(pincheck::report::kFormatVersion) + ")\n";
}

int run(int argc, char** argv) {
    pincheck::CommandLine line(
        "pincheck", "Finds CUDA copies that are not asynchronous, hidden waits and buffers reused too early.");
    std::vector<std::string> program;
    pincheck::add_run(line, program);
    pincheck::add_report(line);
    pincheck::add_check(line);
    pincheck::add_show(line);
    pincheck::add_explain(line);
    pincheck::add_diff(line);
    pincheck::add_dump(line);
    pincheck::add_export(line);
    pincheck::add_resolve(line);
    pincheck::add_mark(line);
    argc = pincheck::take_program(line, argc, argv, program);
    return line.run(argc, argv, version_text());
}

}  // namespace

int main(int argc, char** argv) {
    // A closed pipe is then an error of write(), which is handled, and not our death. A program that we start gets
    // back what was there.
    pincheck::remember_sigpipe(std::signal(SIGPIPE, SIG_IGN));
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "pincheck: %s\n", pincheck::printable(error.what()).c_str());
        return kWrongUsage;
    }
}
