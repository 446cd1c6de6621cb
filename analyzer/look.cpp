#include "look.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "marks.h"
#include "printable.h"
#include "symbolize.h"
#include "terminal.h"

namespace pincheck {
namespace {

void say(const std::string& message) {
    std::fprintf(stderr, "pincheck: %s\n", printable(message).c_str());
}

void say_some(const std::vector<std::string>& messages) {
    constexpr std::size_t kShown = 5;
    for (std::size_t i = 0; i < std::min(messages.size(), kShown); ++i) {
        say(messages[i]);
    }
    if (messages.size() > kShown) {
        say("… " + std::to_string(messages.size() - kShown) + " more like these");
    }
}

}  // namespace

void add_since_option(Verb verb, LookOptions& options) {
    verb.text("--since", options.since, "Only what came after this mark ('pincheck mark')", "NAME");
}

void add_look_options(Verb verb, LookOptions& options) {
    verb.number("--width", options.width, kMinimumWidth, kMaximumWidth,
                "Columns of the text (default: the terminal's, else 92)");
    verb.choice("--color", options.color, {"auto", "always", "never"},
                "auto (a terminal, and NO_COLOR not set), always or never");
    verb.texts("--debug-dir", options.debug_directories, "Look here for debug information first (repeatable)", "DIR");
    verb.flag("--debuginfod", options.debuginfod, "Ask the servers of DEBUGINFOD_URLS for debug information");
    verb.text("--origins", options.origins_file, "More patterns of library, vendor and system files (JSON)", "FILE");
}

std::optional<Look> look_at(const LookOptions& options) {
    Look look;
    if (!options.origins_file.empty()) {
        const std::string problem = look.origins.add_file(options.origins_file);
        if (!problem.empty()) {
            say(problem);
            return std::nullopt;
        }
    }
    const Gate gate = read_gate(options.gate);
    if (!gate.error.empty()) {
        say(gate.error);
        return std::nullopt;
    }
    if (const std::string problem = options.since.empty() ? "" : problem_of_mark_name(options.since);
        !problem.empty()) {
        say("--since: " + problem);
        return std::nullopt;
    }
    look.loaded = load_capture(options.paths, options.since);
    if (look.loaded.capture.processes.empty()) {
        say_some(look.loaded.errors);
        if (look.loaded.errors.empty()) {
            say("no report in " + options.paths.front() + "; record one with 'pincheck run -- PROGRAM'");
        }
        return std::nullopt;
    }
    say_some(symbolize(look.loaded.capture, {options.debug_directories, options.debuginfod}));
    look.findings = find(look.loaded.capture, look.origins);
    look.judgement = judge(look.loaded, look.findings, look.origins, gate.policy, {});
    look.screen.width = options.width != 0 ? options.width : terminal_width(STDOUT_FILENO);
    look.screen.color = wants_color(options.color, STDOUT_FILENO);
    look.screen.plain_numbers = options.origins_file.empty() && gate.plain;
    if (options.paths.size() == 1) {
        std::error_code error;
        const std::string& place = options.paths.front();
        const bool folder = std::filesystem::is_directory(place, error) && !place.ends_with('/');
        look.screen.report_place = folder ? place + '/' : place;
    }
    return look;
}

}  // namespace pincheck
