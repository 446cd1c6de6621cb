// The last lines of the first screen: what was page-locked, what was seen, and what was not.
#pragma once

#include <string>
#include <vector>

#include "capture.h"
#include "policy.h"
#include "render_text_layout.h"

namespace pincheck {

// Where the text behind the labels ("Seen", "Report") begins.
inline constexpr std::size_t kLabelColumns = 16;

void add_pinned(Lines& lines, const Capture& capture);
void add_seen(Lines& lines, const Capture& capture);
// What may have been there and was not looked at, or not kept; begins with the judgement's reasons, but where there is
// no conclusion: they are the verdict then. Neutralised (printable.h).
std::vector<std::string> not_seen(const LoadResult& loaded, const Judgement& judgement);
void add_not_seen(Lines& lines, const LoadResult& loaded, const Judgement& judgement);

}  // namespace pincheck
