#include "cmd_doctor.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "doctor.h"
#include "output.h"
#include "terminal.h"

namespace pincheck {
namespace {

struct DoctorOptions {
    std::string format = "text";
    std::string output_folder;
};

int doctor(const DoctorOptions& options, const std::vector<std::string>& program) {
    const std::vector<Check> checks = judge_facts(look_around(options.output_folder, program));
    const Written written = write_stdout(options.format == "json" ? doctor_json(checks)
                                                                  : doctor_text(checks, terminal_width(STDOUT_FILENO),
                                                                                wants_color("auto", STDOUT_FILENO)));
    const int status = exit_status_of(written);
    return status != 0 ? status : worst_of(checks) == Health::broken ? 1 : 0;
}

}  // namespace

void add_doctor(CommandLine& line, const std::vector<std::string>& program) {
    Verb verb =
        line.add_verb("doctor",
                      "Say what works on this machine, what that means for the findings, and how to mend it: doctor "
                      "[OPTIONS] [-- PROGRAM [ARGUMENTS]]");
    auto options = std::make_shared<DoctorOptions>();
    verb.choice("--format", options->format, {"text", "json"}, "text or json", "FORMAT");
    verb.text("--output-dir", options->output_folder, "Where reports shall go (default: the working directory)", "DIR");
    verb.footer(
        "Libraries are opened in processes of their own, no CUDA device is used and PROGRAM is not started:\n"
        "only whether the library can be loaded into it is looked at.\n\n"
        "Exit status: 0 everything is ok, or limited (pincheck works and sees less); 1 something is broken;\n"
        "2 wrong usage.");
    verb.action([options, &program] { return doctor(*options, program); });
}

}  // namespace pincheck
