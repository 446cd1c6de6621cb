// What `pincheck explain` says of hidden waits and of each cause.
#pragma once

#include <vector>

#include "explain.h"

namespace pincheck {

// As explain_text().
const char* hidden_wait_text();

// One topic a cause, named as in reports: device-wide, queue-full, …
std::vector<ExplainTopic> wait_topics();

}  // namespace pincheck
