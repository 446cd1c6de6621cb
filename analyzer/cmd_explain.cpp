#include "cmd_explain.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <utility>

#include "explain.h"
#include "output.h"
#include "printable.h"
#include "render_text_layout.h"
#include "terminal.h"

namespace pincheck {
namespace {

// Levenshtein's.
std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
        }
    }
    return row[b.size()];
}

unsigned text_width() {
    constexpr unsigned kReadable = 100;  // longer lines are hard to follow
    return std::min(terminal_width(STDOUT_FILENO), kReadable);
}

std::string list_text() {
    Lines lines(text_width(), false);
    for (const ExplainTopic& topic : explain_topics()) {
        constexpr std::size_t kSlugColumns = 26;
        lines.paragraph(topic.claim, kSlugColumns, topic.slug);
    }
    lines.empty_line();
    lines.paragraph("`pincheck explain NAME` says what happens, what to do, and when it is fine.", 0);
    return lines.take();
}

std::string topic_text(const ExplainTopic& topic) {
    Lines lines(text_width(), false);
    lines.paragraph(topic.slug + ": " + topic.claim, 0);
    std::string_view rest = topic.text;
    while (!rest.empty()) {
        const std::size_t end = rest.find("\n\n");
        std::string_view paragraph = rest.substr(0, end);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 2);
        lines.empty_line();
        while (paragraph.starts_with("  ")) {
            const std::size_t line_end = paragraph.find('\n');
            lines.raw(paragraph.substr(0, line_end));
            paragraph.remove_prefix(line_end == paragraph.npos ? paragraph.size() : line_end + 1);
        }
        if (!paragraph.empty()) {
            lines.paragraph(paragraph, 0);
        }
    }
    return lines.take();
}

int explain(const std::string& slug) {
    if (slug.empty()) {
        return exit_status_of(write_stdout(list_text()));
    }
    std::vector<std::string> slugs;
    for (const ExplainTopic& topic : explain_topics()) {
        if (topic.slug == slug) {
            return exit_status_of(write_stdout(topic_text(topic)));
        }
        slugs.push_back(topic.slug);
    }
    std::string meant;
    for (const std::string& name : nearest(slug, slugs)) {
        meant += (meant.empty() ? " Did you mean " : " or ") + name;
    }
    std::fprintf(stderr, "pincheck: nothing is called %s.%s 'pincheck explain' lists the names\n",
                 pincheck::quoted(slug).c_str(), meant.empty() ? "" : (meant + '?').c_str());
    return 2;
}

}  // namespace

std::vector<std::string> nearest(const std::string& text, const std::vector<std::string>& names) {
    constexpr std::size_t kLongest = 64;
    constexpr std::size_t kShown = 3;
    constexpr std::size_t kPart = 3;  // shorter texts are a part of too much
    std::vector<std::pair<std::size_t, std::string>> found;
    if (text.size() > kLongest) {
        return {};
    }
    for (const std::string& name : names) {
        const std::size_t distance = edit_distance(text, name);
        const bool part = text.size() >= kPart && name.find(text) != name.npos;
        if (part || distance <= std::max(text.size(), name.size()) / 3) {
            found.emplace_back(part ? 0 : distance, name);
        }
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> result;
    for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) {
        result.push_back(found[i].second);
    }
    return result;
}

void add_explain(CLI::App& app, std::function<int()>& run) {
    CLI::App* verb =
        app.add_subcommand("explain", "Say what a finding means, what to do about it, and when it is fine");
    verb->footer("Without a name: the list of names.\n\nExit status: 0 shown; 2 wrong usage, or no such name.");
    auto slug = std::make_shared<std::string>();
    verb->add_option("NAME", *slug, "pageable-async-copy, …, default-gate, blind");
    verb->callback([&run, slug] { run = [slug] { return explain(*slug); }; });
}

}  // namespace pincheck
