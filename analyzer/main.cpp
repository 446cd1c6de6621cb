// The pincheck program: finds the verb and runs it. What a verb does is in its cmd_*.cpp.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cmd_run.h"
#include "command_line.h"
#include "launcher.h"
#include "printable.h"
#include "report/records.h"
#include "verbs.h"

namespace {

constexpr int kWrongUsage = 2;

std::string version_text() {
    return "pincheck " PINCHECK_VERSION " (report format " + std::to_string(pincheck::report::kFormatVersion) + ")\n";
}

int run(int argc, char** argv) {
    pincheck::CommandLine line("pincheck", pincheck::kProgramHelp);
    std::vector<std::string> program;
    pincheck::add_verbs(line, program);
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
