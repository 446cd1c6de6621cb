// Annotations of GitHub Actions: lines on standard output that the runner turns into marks on the changed files.
#pragma once

#include <string>

#include "export_findings.h"

namespace pincheck {

// The verdict, then ::error, ::warning and ::notice lines, worst first. GitHub shows ten of each level in a step: more
// are not written, and the last line says how many. No text can begin a workflow command of its own.
std::string render_github(const LoadResult& loaded, const Judgement& judgement, const Origins& origins);

}  // namespace pincheck
