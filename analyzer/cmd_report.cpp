#include "cmd_report.h"

#include <memory>

#include "look.h"
#include "output.h"
#include "render_text_sizes.h"

namespace pincheck {

void add_report(CommandLine& line) {
    struct Options {
        LookOptions look;
        bool all = false;
        bool by_size = false;
    };
    Verb verb = line.add_verb("report", "Show the verdict and the worst places of report files");
    verb.footer(
        "Several reports are shown as one: the processes of a job. A folder stands for the *.pcr files in it.\n"
        "This only looks: the verdict does not change the exit status; 'pincheck check' fails where it is FAIL.\n\n"
        "Exit status: 0 shown; 2 wrong usage, or none of the files can be read.");
    auto options = std::make_shared<Options>();
    verb.arguments("FILE", options->look.paths, "Report files (.pcr), folders of them, or ids of running processes");
    verb.flag("--all", options->all, "List every finding, also what does not gate");
    verb.flag("--by-size", options->by_size, "Show pageable against page-locked copies by size instead");
    add_config_options(verb, options->look.gate);
    add_since_option(verb, options->look);
    add_look_options(verb, options->look);
    verb.action([options] {
        std::optional<Look> look = look_at(options->look);
        if (!look) {
            return 2;
        }
        if (options->by_size) {
            return exit_status_of(write_stdout(by_size_text(look->loaded.capture, look->screen)));
        }
        look->screen.all = options->all;
        return exit_status_of(write_stdout(first_screen(look->loaded, look->judgement, look->origins, look->screen)));
    });
}

}  // namespace pincheck
