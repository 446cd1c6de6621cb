#include "cmd_show.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "look.h"
#include "output.h"
#include "printable.h"
#include "render_text_layout.h"
#include "render_text_parts.h"
#include "suppression.h"

namespace pincheck {
namespace {

struct Wanted {
    bool site = false;
    std::uint32_t number = 0;  // from 1
};

// "1", "#1": a finding; "s7": a site.
std::optional<Wanted> parse_wanted(std::string_view text) {
    Wanted wanted;
    wanted.site = text.starts_with('s');
    if (wanted.site || text.starts_with('#')) {
        text.remove_prefix(1);
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted.number);
    if (error != std::errc{} || end != text.data() + text.size() || wanted.number == 0) {
        return std::nullopt;
    }
    return wanted;
}

int refuse(const std::string& message) {
    std::fprintf(stderr, "pincheck: %s\n", message.c_str());
    return 2;
}

std::string amount(std::size_t count, const char* what, const char* first) {
    return count == 0   ? fmt::format("has no {}", what)
           : count == 1 ? fmt::format("has one {}, {}1", what, first)
                        : fmt::format("has {}s {}1 to {}{}", what, first, first, count);
}

// What gates, then what does not: as the screen numbers them.
std::vector<Finding> numbered(const Judgement& judgement) {
    std::vector<Finding> findings = judgement.gated;
    findings.insert(findings.end(), judgement.not_gated.begin(), judgement.not_gated.end());
    return findings;
}

// Rows for one finding, or for all of a site.
int show_suppression(const Look& look, const std::vector<Finding>& findings, const Wanted& wanted) {
    std::string rows;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const bool is_wanted = wanted.site ? findings[i].site == wanted.number : i + 1 == wanted.number;
        if (is_wanted) {
            rows += (rows.empty() ? "" : "\n") + row_for(look.loaded.capture, findings[i], look.origins);
        }
    }
    if (rows.empty()) {
        return refuse(fmt::format("site s{} has no finding to suppress", wanted.number));
    }
    return exit_status_of(write_stdout(rows));
}

int show(const std::string& text, const LookOptions& options, bool suppression) {
    const std::optional<Wanted> wanted = parse_wanted(text);
    if (!wanted) {
        return refuse(pincheck::quoted(text) +
                      " is neither a finding's number (1) nor a site (s1); see 'pincheck show --help'");
    }
    const std::optional<Look> look = look_at(options);
    if (!look) {
        return 2;
    }
    const Capture& capture = look->loaded.capture;
    const std::vector<Finding> findings = numbered(look->judgement);
    std::uint32_t id = wanted->number;
    if (!wanted->site) {
        if (wanted->number > findings.size()) {
            return refuse(fmt::format("there is no finding {}: the report {}; 'pincheck report --all' lists them",
                                      wanted->number, amount(findings.size(), "finding", "")));
        }
        id = findings[wanted->number - 1].site;
    }
    const CaptureSite* site = site_by_id(capture, id);
    if (site == nullptr) {
        return refuse(fmt::format("there is no site s{}: the report {}; 'pincheck export' lists them", id,
                                  amount(capture.sites.size(), "site", "s")));
    }
    if (suppression) {
        return show_suppression(*look, findings, *wanted);
    }
    return exit_status_of(write_stdout(site_text(capture, *site, findings, look->origins, look->screen)));
}

}  // namespace

void add_show(CommandLine& line) {
    struct Options {
        std::string wanted;
        bool suppression = false;
        LookOptions look;
    };
    Verb verb = line.add_verb("show", "Show one finding in full: counters, times, stack, what to do");
    verb.footer(
        "N is a finding's number on the screen of 'pincheck report --all' for the same files: what gates comes first, "
        "so\n"
        "that 1 is the worst. sN is a site, also one without a finding, by the id that 'pincheck export' gives it.\n\n"
        "Exit status: 0 shown; 2 wrong usage, no such finding or site, or none of the files can be read.");
    auto options = std::make_shared<Options>();
    verb.argument("N", options->wanted, "A finding (1) or a site (s1)", true);
    verb.arguments("FILE", options->look.paths, "Report files (.pcr), folders of them, or ids of running processes");
    verb.flag("--suppression", options->suppression, "Print a row for a suppression file instead");
    add_config_options(verb, options->look.gate);
    add_since_option(verb, options->look);
    add_look_options(verb, options->look);
    verb.action([options] { return show(options->wanted, options->look, options->suppression); });
}

}  // namespace pincheck
