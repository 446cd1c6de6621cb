// Two runs compared, in GitHub's Markdown: for a comment on a pull request, or $GITHUB_STEP_SUMMARY.
#pragma once

#include <string>

#include "diff.h"

namespace pincheck {

// What changed, and with `all` what did not, in one table. It ends before `most_bytes`: GitHub takes 64 KiB of a
// comment. What does not fit is counted. No text of a run is markup.
std::string diff_markdown(const ListedRun& then, const ListedRun& now, const Diff& diff, bool all,
                          std::size_t most_bytes = 60 * 1024);

}  // namespace pincheck
