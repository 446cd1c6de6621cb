// A summary in GitHub's Markdown, for $GITHUB_STEP_SUMMARY or a comment.
#pragma once

#include <string>

#include "export_findings.h"

namespace pincheck {

struct MarkdownOptions {
    std::string report_place;  // for the next command; "": not told
    // GitHub takes 1 MiB of a step, other steps' lines not included; what does not fit is counted.
    std::size_t most_bytes = 512 * 1024;
};

// Verdict, a table of what gates, each finding's text and stacks folded away, what does not gate, what was not seen,
// and the next command. No text of a report is markup.
std::string render_markdown(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                            const MarkdownOptions& options);

}  // namespace pincheck
