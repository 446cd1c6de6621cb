// What `pincheck explain` says of races, and of the rules of site_rules.h.
#pragma once

#include "findings.h"

namespace pincheck {

// As explain_text(); "" for a rule that is neither.
const char* race_text(Rule rule);

// The page on what all races have in common: levels, corrupting and latent, what is not seen.
const char* races_text();

}  // namespace pincheck
