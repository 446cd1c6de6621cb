// Wait-value and write-value operations (cuStreamBatchMemOp), in streams and in graphs.
#pragma once

#include <vector>

#include "cuda_symbols.h"

namespace simcuda {

// CUDA_ERROR_INVALID_VALUE for an operation that the entry points refuse.
CUresult check_operation(const CUstreamBatchMemOpParams& operation);
CUresult check_operations(const std::vector<CUstreamBatchMemOpParams>& operations);

// On an engine's thread: polls until the condition holds, or writes. A wait whose memory is gone never ends, as on a
// device.
void run_operation(const CUstreamBatchMemOpParams& operation);

}  // namespace simcuda
