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

// Levenshtein's, between the text and that start of the name which is nearest to it.
std::size_t edit_distance(const std::string& text, std::string_view name) {
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= text.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= name.size(); ++j) {
            const std::size_t changed = diagonal + (text[i - 1] == name[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
        }
    }
    return *std::ranges::min_element(row);
}

// The same from the word of the name at which it is least.
std::size_t word_distance(const std::string& text, const std::string& name) {
    std::size_t least = edit_distance(text, name);
    for (std::size_t dash = name.find('-'); dash != name.npos; dash = name.find('-', dash + 1)) {
        least = std::min(least, edit_distance(text, std::string_view(name).substr(dash + 1)));
    }
    return least;
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
    std::vector<std::pair<std::size_t, std::string>> found;
    if (text.size() > kLongest) {
        return {};
    }
    for (const std::string& name : names) {
        const std::size_t distance = word_distance(text, name);
        if (distance <= text.size() / 3) {
            found.emplace_back(distance, name);
        }
    }
    std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> result;
    for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) {
        result.push_back(found[i].second);
    }
    return result;
}

void add_explain(CommandLine& line) {
    Verb verb = line.add_verb("explain", "Say what a finding means, what to do about it, and when it is fine");
    verb.footer("Without a name: the list of names.\n\nExit status: 0 shown; 2 wrong usage, or no such name.");
    auto slug = std::make_shared<std::string>();
    verb.argument("NAME", *slug, "pageable-async-copy, …, a wait's cause (queue-full, …), default-gate, blind", false);
    verb.action([slug] { return explain(*slug); });
}

}  // namespace pincheck
