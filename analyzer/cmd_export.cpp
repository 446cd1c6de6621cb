#include "cmd_export.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "cmd_check.h"
#include "look.h"
#include "output.h"
#include "printable.h"
#include "render_json.h"

namespace pincheck {
namespace {

struct ExportOptions {
    LookOptions look;
    PolicyOptions policy;
    std::string format = "json";
    std::string output;
};

bool write_file(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) {
        return false;
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int error = errno;
    const bool closed = std::fclose(file) == 0;
    if (!written) {
        errno = error;
    }
    return written && closed;
}

int export_files(const ExportOptions& options) {
    std::optional<Look> look = look_at(options.look);
    if (!look) {
        return 2;
    }
    look->judgement = judge(look->loaded, look->findings, options.policy, {});
    const std::string text = render_json(look->loaded, look->judgement, look->origins) + '\n';
    if (options.output.empty() || options.output == "-") {
        return exit_status_of(write_stdout(text));
    }
    if (!write_file(options.output, text)) {
        std::fprintf(stderr, "pincheck: cannot write %s: %s; name another file with --output\n",
                     printable(options.output).c_str(), std::strerror(errno));
        return 2;
    }
    return 0;
}

}  // namespace

void add_export(CommandLine& line) {
    Verb verb = line.add_verb("export", "Write what report files show as JSON");
    verb.footer(
        "The schema has a number (\"schema\": 1) and is documented in analyzer/json_schema.md.\n"
        "The verdict is in it and does not change the exit status; 'pincheck check' fails where it is \"violated\".\n\n"
        "Exit status: 0 written; 2 wrong usage, none of the files can be read, or the output cannot be written.");
    auto options = std::make_shared<ExportOptions>();
    verb.arguments("FILE", options->look.paths, "Report files (.pcr) or folders of them");
    verb.choice("--format", options->format, {"json"}, "json");
    verb.text("-o,--output", options->output, "Write here instead of to standard output", "FILE");
    add_policy_options(verb, options->policy);
    add_look_options(verb, options->look);
    verb.action([options] { return export_files(*options); });
}

}  // namespace pincheck
