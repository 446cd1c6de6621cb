// Two runs compared, as JSON; see diff_schema.md.
#pragma once

#include <string>

#include "diff.h"

namespace pincheck {

std::string diff_json(const ListedRun& then, const ListedRun& now, const Diff& diff, const DiffLimits& limits);

}  // namespace pincheck
