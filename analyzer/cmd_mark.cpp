#include "cmd_mark.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "marks.h"
#include "output.h"
#include "printable.h"
#include "render_text_layout.h"
#include "report_files.h"

namespace pincheck {
namespace {

struct Options {
    std::string place;
    std::string name;
};

void say(const std::string& message) {
    std::fprintf(stderr, "pincheck: %s\n", printable(message).c_str());
}

int mark(const Options& options) {
    if (const std::string problem = problem_of_mark_name(options.name); !problem.empty()) {
        say(problem);
        return 2;
    }
    std::vector<std::string> errors;
    const std::vector<std::string> files = report_files({options.place}, errors);
    std::size_t marked = 0;
    for (const std::string& file : files) {
        if (const std::string problem = make_mark(file, options.name); problem.empty()) {
            ++marked;
        } else {
            errors.push_back(problem);
        }
    }
    for (const std::string& error : errors) {
        say(error);
    }
    if (marked == 0) {
        return 2;
    }
    // Processes of a folder that have ended are no fault.
    return exit_status_of(
        write_stdout(fmt::format("marked {} as '{}'; what comes after it: pincheck report --since {} {}\n",
                                 marked == 1 ? printable(files.front()) : counted(marked, "report"), options.name,
                                 options.name, printable(options.place))));
}

}  // namespace

void add_mark(CommandLine& line) {
    Verb verb = line.add_verb("mark", "Remember where a running process is, to look at what comes after it");
    verb.footer(
        "'pincheck report --since NAME', and show, check and export likewise, then count what came after the mark:\n"
        "a server without its warm-up, or what one request did. The process goes on and is told nothing; its report "
        "is\n"
        "up to 250 ms behind it. A mark is a copy of the report beside it (FILE.mark-NAME); one of that name is\n"
        "replaced. Of a folder, every report is marked whose process is running; processes that start later count\n"
        "whole.\n\n"
        "Exit status: 0 marked; 2 wrong usage, or there is nothing to be marked.");
    auto options = std::make_shared<Options>();
    verb.argument("FILE|PID", options->place, "Report file, folder of report files, or process id", true);
    verb.argument("NAME", options->name, "Name of the mark: letters, digits, '-', '_' and '.'", true);
    verb.action([options] { return mark(*options); });
}

}  // namespace pincheck
