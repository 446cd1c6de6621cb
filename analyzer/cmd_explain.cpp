#include "cmd_explain.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "explain.h"
#include "nearest.h"
#include "output.h"
#include "printable.h"
#include "render_text_layout.h"
#include "terminal.h"

namespace pincheck {
namespace {

unsigned text_width() {
    constexpr unsigned kReadable = 100;  // longer lines are hard to follow
    return std::min(terminal_width(STDOUT_FILENO), kReadable);
}

std::string list_text() {
    Lines lines(text_width(), false);
    for (const ExplainTopic& topic : explain_topics()) {
        constexpr std::size_t kSlugColumns = 30;  // a longer one has a line of its own
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

void add_explain(CommandLine& line) {
    Verb verb = line.add_verb("explain", "Say what a finding means, what to do about it, and when it is fine");
    verb.footer("Without a name: the list of names.\n\nExit status: 0 shown; 2 wrong usage, or no such name.");
    auto slug = std::make_shared<std::string>();
    verb.argument("NAME", *slug, "pageable-async-copy, …, a wait's cause (queue-full, …), default-gate, gate, blind",
                  false);
    verb.action([slug] { return explain(*slug); });
}

}  // namespace pincheck
