// Names that exports which programs read have in common.
#pragma once

#include "origin.h"
#include "policy.h"
#include "saving.h"

namespace pincheck {

const char* name_of(Verdict verdict);    // "pass", "violated", "no-conclusion"
const char* name_of(Severity severity);  // "error", …
const char* name_of(Origin origin);      // "user", …
const char* name_of(Saving::State state);

}  // namespace pincheck
