// A job as lines of JSON for tables (DuckDB, Spark, pandas): one flat object a line, described in json_schema.md.
#pragma once

#include <string>

#include "capture.h"
#include "origin.h"
#include "policy.h"

namespace pincheck {

// A line of kind "job", then its findings as they are in `judgement`, its sites and its processes. Lines of one kind
// have the same keys. `version`: of this program; `job`: what the user calls it, "": nothing. ASCII only.
std::string render_lines(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                         const std::string& version, const std::string& job);

}  // namespace pincheck
