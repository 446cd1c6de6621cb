// The findings on the first screen: one block each for what gates, one line a group for what does not.
#pragma once

#include "origin.h"
#include "policy.h"
#include "render_text.h"
#include "render_text_layout.h"

namespace pincheck {

void add_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
               const ScreenOptions& options);
// What is not selected for the gate; what its settings let pass is render_text_gate.h's.
void add_not_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
                   const ScreenOptions& options);
// A block for everything that does not gate, for --all.
void add_all_not_gated(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins);

}  // namespace pincheck
