// What a gate's settings did, on the first screen: what they let pass, and which of them are of no use any more.
#pragma once

#include <string>
#include <vector>

#include "origin.h"
#include "policy.h"
#include "render_text.h"
#include "render_text_layout.h"

namespace pincheck {

// Let pass by a setting, and would gate without it.
bool is_let_pass(Decision decision);

// "pageable-async-copy at 3 sites, managed-async-copy at 1 site"
std::string rules_text(const std::vector<Finding>& findings);
// " (2 suppressed, 1 in the baseline)"; "" when nothing was let pass.
std::string passed_text(const Judgement& judgement);
// Of a finding that a setting let pass, or that is compared with a baseline: "Suppressed by …". "" for others.
std::string ruling_text(const Ruling& ruling);

// A line for each setting that let something pass.
void add_let_pass(Lines& lines, const Capture& capture, const Judgement& judgement, const Origins& origins,
                  const ScreenOptions& options);
// Where the settings come from, the baseline, and rows of suppressions that expired or match nothing.
void add_gate_settings(Lines& lines, const Judgement& judgement, const ScreenOptions& options);

}  // namespace pincheck
