// Copies of rows and boxes as CUDA_MEMCPY3D describes them: between linear memory of either side and arrays.
#pragma once

#include "copy.h"

namespace simcuda {

// What the description means now. Errors: CUDA_ERROR_INVALID_VALUE, and CUDA_ERROR_INVALID_HANDLE for an array that is
// none. No dimension may be zero.
CUresult resolve(const CUDA_MEMCPY3D& copy, End* to, End* from);

// CUDA_SUCCESS for a copy of nothing.
CUresult copy_strided(const StreamPtr& stream, const CUDA_MEMCPY3D& copy, HostWait wait);

}  // namespace simcuda
