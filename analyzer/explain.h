// What `pincheck explain` says: what happens, how that is known, what to do, when it is fine, what the tool cannot
// tell.
#pragma once

#include <string>
#include <vector>

#include "findings.h"

namespace pincheck {

// Paragraphs with an empty line between them, not wrapped; a paragraph whose lines begin with two spaces keeps its
// lines. For the table behind rules(). Never null.
const char* explain_text(Rule rule);

struct ExplainTopic {
    std::string slug;
    std::string claim;  // one line
    std::string text;   // as explain_text()
};

// The rules, in the order of rules(), then what is no rule: causes of waits, races, default-gate, blind.
std::vector<ExplainTopic> explain_topics();

}  // namespace pincheck
