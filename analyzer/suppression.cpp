#include "suppression.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "place.h"
#include "printable.h"

namespace pincheck {
namespace {

bool matches_text(const std::string& pattern, const std::string& text) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool matches_path(const std::string& pattern, std::string path) {
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) {
        path.resize(path.size() - kDeleted.size());
    }
    if (pattern.find('/') == pattern.npos) {
        return matches_text(pattern, base_name(path));
    }
    return matches_text(pattern, path) || (!pattern.starts_with('/') && matches_text("*/" + pattern, path));
}

bool matches_line(const Suppression& row, const SourceLine& line) {
    const bool function = row.function.empty() || matches_text(row.function, line.function) ||
                          matches_text(row.function, bare_name(line.function));
    return function && (row.source.empty() || matches_path(row.source, line.file));
}

class FrameMatcher {
  public:
    FrameMatcher(const Suppression& row, const Capture& capture, const Origins& origins)
        : row_(row), capture_(capture), origins_(origins) {}

    bool matches_any(const CaptureSite& site) const {
        const int first = issuing_frame(capture_, site, origins_);
        return first >= 0 && std::any_of(site.stack.begin() + first, site.stack.end(),
                                         [this](const CaptureFrame& frame) { return matches(frame); });
    }
    bool matches_heading(const CaptureSite& site, int heading) const {
        return heading >= 0 && static_cast<std::size_t>(heading) < site.stack.size() &&
               matches(site.stack[static_cast<std::size_t>(heading)]);
    }

  private:
    bool matches(const CaptureFrame& frame) const {
        if (!row_.module.empty() && (frame.module >= capture_.modules.size() ||
                                     !matches_path(row_.module, capture_.modules[frame.module].path))) {
            return false;
        }
        return (row_.function.empty() && row_.source.empty()) ||
               std::ranges::any_of(frame.lines, [this](const SourceLine& line) {
                   return matches_line(row_, line) && !origins_.is_runtime_line(line);
               });
    }

    const Suppression& row_;
    const Capture& capture_;
    const Origins& origins_;
};

std::vector<std::uint32_t> sites_of(const Finding& finding) {
    std::vector<std::uint32_t> sites = finding.also;
    sites.insert(sites.begin(), {finding.site, finding.other_site});
    return sites;
}

// Whether nothing in it could do harm on a terminal (printable.h).
bool is_harmless(std::string text) {
    std::erase(text, '\\');
    return printable(text) == text;
}

// A pattern that matches the text and little else. What a terminal must not get stands as ?.
std::string as_pattern(const std::string& text) {
    const bool harmless = is_harmless(text);
    std::string pattern;
    for (const char c : text) {
        const bool special = c == '*' || c == '?' || c == '[' || c == '\\';
        const bool plain = harmless || (c >= ' ' && c <= '~');
        pattern += !plain ? "?" : special ? std::string{'\\', c} : std::string{c};
    }
    return pattern;
}

// A basic string of TOML.
std::string toml_string(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return quoted + '"';
}

}  // namespace

bool matches(const Suppression& row, const Capture& capture, const Finding& finding, const Origins& origins) {
    if (!row.rules.empty() && std::ranges::find(row.rules, finding.rule) == row.rules.end()) {
        return false;
    }
    if (!row.fingerprint.empty() && row.fingerprint != finding.identity.fingerprint) {
        return false;
    }
    if (row.module.empty() && row.source.empty() && row.function.empty()) {
        return true;
    }
    const FrameMatcher matcher(row, capture, origins);
    return std::ranges::any_of(sites_of(finding), [&](std::uint32_t id) {
        if (id == 0 || id > capture.sites.size()) {
            return false;
        }
        const CaptureSite& site = capture.sites[id - 1];
        if (row.any_frame) {
            return matcher.matches_any(site);
        }
        return matcher.matches_heading(site,
                                       id == finding.site ? finding.heading : heading_frame(capture, site, origins));
    });
}

bool is_expired(const Suppression& row, std::chrono::sys_days today) {
    return row.expires && today > *row.expires;
}

std::string place_of(const Suppression& row) {
    return fmt::format("{}:{}", row.file, row.line);
}

std::string date_text(std::chrono::sys_days day) {
    const std::chrono::year_month_day date(day);
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()));
}

std::string row_for(const Capture& capture, const Finding& finding, const Origins& origins) {
    std::string text = fmt::format("[[suppression]]\nrule = \"{}\"\n", slug_of(finding.rule));
    const SourceLine* line = nullptr;
    if (finding.site != 0 && finding.site <= capture.sites.size() && finding.heading >= 0) {
        const std::vector<CaptureFrame>& stack = capture.sites[finding.site - 1].stack;
        if (static_cast<std::size_t>(finding.heading) < stack.size()) {
            const CaptureFrame& frame = stack[static_cast<std::size_t>(finding.heading)];
            line = shown_line(frame, origins);
            if (frame.module < capture.modules.size()) {
                const std::string module = base_name(capture.modules[frame.module].path);
                text += module.empty() ? "" : "module = " + toml_string(as_pattern(module)) + '\n';
            }
        }
    }
    const std::string function = line == nullptr ? "" : bare_name(line->function);
    if (!function.empty()) {
        text += "function = " + toml_string(as_pattern(function)) + '\n';
        text += line->file.empty() ? "" : "file = " + toml_string(as_pattern(base_name(line->file))) + '\n';
        text += "# fingerprint = \"" + finding.identity.fingerprint + "\"  # this API, direction and memory only\n";
    } else {
        text += "fingerprint = \"" + finding.identity.fingerprint + "\"\n";
    }
    return text + "reason = \"\"  # why this may stay; a row without a reason is not accepted\n";
}

}  // namespace pincheck
