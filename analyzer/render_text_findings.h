// The findings on the first screen: one block each for what gates, one line a group for what does not.
#pragma once

#include "origin.h"
#include "policy.h"
#include "render_text.h"
#include "render_text_layout.h"

namespace pincheck {

void add_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
               const ScreenOptions& options);
void add_not_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
                   const ScreenOptions& options);

}  // namespace pincheck
