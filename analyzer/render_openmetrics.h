// A job as metrics, in the text format of OpenMetrics 1.0: https://prometheus.io/docs/specs/om/open_metrics_spec/.
// Nothing in it is labelled by what a job can have without limit (sites, processes, names), but for one sample of
// pincheck_job_info. json_schema.md describes the metrics.
#pragma once

#include <string>

#include "capture.h"
#include "policy.h"

namespace pincheck {

// `version`: of this program; `job`: what the user calls it, "": nothing.
std::string render_openmetrics(const LoadResult& loaded, const Judgement& judgement, const std::string& version,
                               const std::string& job);

}  // namespace pincheck
