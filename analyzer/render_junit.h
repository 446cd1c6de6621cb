// JUnit's XML, for the test reports of CI systems (GitLab, Jenkins, …).
#pragma once

#include <string>

#include "export_findings.h"

namespace pincheck {

// One suite with a test case for each rule: failed where a finding gates, else passed with what it found as its output.
// The first case, "conclusion", is an error where there is none. Valid XML 1.0 whatever the texts.
std::string render_junit(const LoadResult& loaded, const Judgement& judgement, const Origins& origins);

}  // namespace pincheck
