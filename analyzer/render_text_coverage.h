// The last lines of the first screen: what was page-locked, what was seen, and what was not.
#pragma once

#include "capture.h"
#include "policy.h"
#include "render_text_layout.h"

namespace pincheck {

// Where the text behind the labels ("Seen", "Report") begins.
inline constexpr std::size_t kLabelColumns = 16;

void add_pinned(Lines& lines, const Capture& capture);
void add_seen(Lines& lines, const Capture& capture);
void add_not_seen(Lines& lines, const LoadResult& loaded, const Judgement& judgement);

}  // namespace pincheck
