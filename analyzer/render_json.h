// The same as JSON, schema documented in analyzer/json_schema.md and versioned ("schema": 1).
#pragma once

#include <string>

#include "capture.h"
#include "policy.h"

namespace pincheck {

// Verdict, findings, sites with stacks, classes, processes with coverage, losses and problems, errors of loading.
// Invalid UTF-8 is replaced; control characters are escaped.
std::string render_json(const LoadResult& loaded, const Judgement& judgement, const Origins& origins);

}  // namespace pincheck
