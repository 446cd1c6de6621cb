// When a run saw too little for a verdict.
#pragma once

#include <string>
#include <vector>

#include "capture.h"

namespace pincheck {

// Whether a loss leaves calls that nobody can judge any more, in a process that ended or not. Losses of stacks,
// strings, modules and ranges leave the class of every copy known.
bool hides_calls(report::Loss kind, bool ended);

// One line each with the next step: `blind_reasons`, files that could not be read, no report, no CUDA call, damaged
// files, losses, functions and memory that were not seen. Empty: a verdict may be given.
std::vector<std::string> reasons_for_no_conclusion(const LoadResult& loaded, bool allow_no_cuda,
                                                   const std::vector<std::string>& blind_reasons);

}  // namespace pincheck
