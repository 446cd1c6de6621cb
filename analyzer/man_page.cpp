#include "man_page.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "preload_options.h"

namespace pincheck {
namespace {

// Text as roff takes it literally: no escape, no request at the start of a line, a dash that can be copied.
std::string roff(std::string_view text) {
    std::string out;
    bool starts_line = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (starts_line && (c == '.' || c == '\'')) {
            out += "\\&";
        }
        starts_line = c == '\n';
        if (text.substr(i).starts_with("…")) {
            out += "...";
            i += std::string_view("…").size() - 1;
        } else if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}

// Paragraphs, each filled: the help's own line ends are for a terminal.
std::string paragraphs(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = text.find("\n\n");
        const std::string_view paragraph = text.substr(0, end);
        // Columns keep their lines.
        const bool is_table = paragraph.find("   ") != paragraph.npos;
        if (!paragraph.empty()) {
            out += ".PP\n" + std::string(is_table ? ".nf\n" : "") + roff(paragraph) + (is_table ? "\n.fi\n" : "\n");
        }
        text.remove_prefix(end == text.npos ? text.size() : end + 2);
    }
    return out;
}

std::string names_of(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames()) {
        names += (names.empty() ? "" : ", ") + bold("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        names += (names.empty() ? "" : ", ") + bold("--" + name);
    }
    if (names.empty()) {
        return "\\fI" + roff(option.get_name()) + "\\fR";
    }
    const bool takes_value = option.get_items_expected_max() > 0;
    return names + (takes_value ? " \\fI" + roff(option.get_type_name()) + "\\fR" : "");
}

std::string options_of(const CLI::App& app) {
    std::string out;
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_group().empty()) {  // no group: left out of the help
            out += ".TP\n" + names_of(*option) + "\n" + roff(option->get_description()) + "\n";
        }
    }
    return out;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
    std::string out = ".TH PINCHECK 1 \"\" \"pincheck " + roff(version) +
                      "\" \"User Commands\"\n.SH NAME\npincheck \\- " +
                      "find CUDA copies that are not asynchronous, hidden waits and buffers reused too early\n";
    out +=
        ".SH SYNOPSIS\n.B pincheck\n\\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n.br\n.B pincheck run\n"
        "[\\fIOPTIONS\\fR] \\fB\\-\\-\\fR \\fIPROGRAM\\fR [\\fIARGUMENTS\\fR]\n.br\n.B LD_PRELOAD=libpincheck.so\n"
        "\\fIPROGRAM\\fR [\\fIARGUMENTS\\fR]\n";
    out += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n" +
           paragraphs(
               "The program is not changed and not compiled again: a library is preloaded into it, which "
               "records what it asks CUDA for into a report. The verbs below read reports, and `pincheck run` "
               "does both. `pincheck explain NAME` says what a finding means, with wrong and right code; "
               "`pincheck doctor` what of it works on this machine.");
    out += ".SH OPTIONS\n" + options_of(app) + ".SH VERBS\n";
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
        out += ".SS " + roff(verb->get_name()) + "\n" + roff(verb->get_description()) + "\n" + options_of(*verb) +
               paragraphs(verb->get_footer());
    }
    out += ".SH ENVIRONMENT\n.TP\n" + bold("PINCHECK_OPTIONS") +
           "\nkey=value:key=value, for the library. Keys: \\fBoutput\\fR (the report's file name; %e program, %h host, "
           "%p process, %t time, %n rank)";
    for (const PreloadOption& option : preload_options()) {
        out += ", " + bold(option.key) + " (" + roff(option.values) + ")";
    }
    out += ".\n.TP\n" + bold("PINCHECK_LIBRARY") + "\nWhere libpincheck.so is, if not beside the program.\n.TP\n" +
           bold("DEBUGINFOD_URLS") + "\nServers that \\-\\-debuginfod asks.\n.TP\n" + bold("NO_COLOR") +
           "\nNo colours.\n";
    out +=
        ".SH EXIT STATUS\nEach verb says its own above. In general: 0 done or pass, 1 a gate is violated or "
        "something is broken, 2 wrong usage or a file that cannot be read, 3 no conclusion.\n";
    return out + ".SH SEE ALSO\n.BR ld.so (8),\n.BR userfaultfd (2)\n";
}

}  // namespace pincheck
