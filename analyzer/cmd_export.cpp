#include "cmd_export.h"

#include <memory>
#include <string>

#include "export.h"
#include "look.h"
#include "output.h"

namespace pincheck {
namespace {

struct Options {
    LookOptions look;
    ExportOptions paths;
    std::string format = "json";
    std::string output;
};

int export_files(const Options& options) {
    const std::optional<Look> look = look_at(options.look);
    if (!look) {
        return 2;
    }
    const std::string text = export_text(*look, options.format, options.paths);
    if (options.output.empty() || options.output == "-") {
        return exit_status_of(write_stdout(text));
    }
    return write_file(options.output, text, "--output") ? 0 : 2;
}

}  // namespace

void add_export(CommandLine& line) {
    Verb verb = line.add_verb("export", "Write what report files show for other programs: JSON, SARIF, JUnit, …");
    verb.footer(
        "json         everything; the schema has a number (\"schema\": 1) and is in analyzer/json_schema.md\n"
        "sarif        SARIF 2.1.0 for code scanning; for GitHub's with --located\n"
        "junit        a test case for each rule, for test reports\n"
        "github       annotations of GitHub Actions (::error file=…), at most ten of a level\n"
        "markdown     a summary, for example for $GITHUB_STEP_SUMMARY\n"
        "jsonl        a flat JSON object a line (job, findings, sites, processes) for DuckDB, Spark, pandas\n"
        "openmetrics  gauges of the job, without a label for each site or process\n\n"
        "Paths are relative to --source-root; json and jsonl have them as they were compiled, unless --source-root,\n"
        "--map or --redact is given. The verdict is in all of them and does not change the exit status; 'pincheck "
        "check'\n"
        "fails where it is \"violated\", and writes the same with --export.\n\n"
        "Exit status: 0 written; 2 wrong usage, none of the files can be read, or the output cannot be written.");
    auto options = std::make_shared<Options>();
    verb.arguments("FILE", options->look.paths, "Report files (.pcr), folders of them, or ids of running processes");
    verb.choice("--format", options->format, export_formats(),
                "json, sarif, junit, github, markdown, jsonl or openmetrics", "FORMAT");
    verb.text("-o,--output", options->output, "Write here instead of to standard output", "FILE");
    add_export_options(verb, options->paths);
    add_gate_options(verb, options->look.gate);
    add_since_option(verb, options->look);
    add_look_options(verb, options->look);
    verb.action([options] { return export_files(*options); });
}

}  // namespace pincheck
