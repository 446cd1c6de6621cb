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

int show(const std::string& text, const LookOptions& options) {
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
    std::uint32_t id = wanted->number;
    if (!wanted->site) {
        const std::vector<Finding>& gated = look->judgement.gated;
        const std::vector<Finding>& others = look->judgement.not_gated;
        const std::size_t index = wanted->number - 1;
        if (index >= gated.size() + others.size()) {
            return refuse(fmt::format("there is no finding {}: the report {}; 'pincheck report --all' lists them",
                                      wanted->number, amount(gated.size() + others.size(), "finding", "")));
        }
        id = index < gated.size() ? gated[index].site : others[index - gated.size()].site;
    }
    const CaptureSite* site = site_by_id(capture, id);
    if (site == nullptr) {
        return refuse(fmt::format("there is no site s{}: the report {}; 'pincheck export' lists them", id,
                                  amount(capture.sites.size(), "site", "s")));
    }
    return exit_status_of(write_stdout(site_text(capture, *site, look->findings, look->origins, look->screen)));
}

}  // namespace

void add_show(CommandLine& line) {
    struct Options {
        std::string wanted;
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
    verb.arguments("FILE", options->look.paths, "Report files (.pcr) or folders of them");
    add_look_options(verb, options->look);
    verb.action([options] { return show(options->wanted, options->look); });
}

}  // namespace pincheck
