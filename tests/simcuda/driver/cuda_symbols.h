// cuda.h with its version macros off: cuMemAlloc and cuMemAlloc_v2 are then two functions, as they are two exports.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

// Put before the definition of every exported function; everything else in the library is hidden.
#define SIM_EXPORT extern "C" __attribute__((visibility("default")))
