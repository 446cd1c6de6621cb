// The part of the JSON that says what decided: see json_schema.md, policy and findings.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "policy.h"

namespace pincheck {

// By what was judged.
nlohmann::ordered_json policy_json(const Judgement& judgement);
// Adds what makes the finding the same one in another run, and what the policy says of it.
void add_ruling(nlohmann::ordered_json& json, const Finding& finding);

}  // namespace pincheck
