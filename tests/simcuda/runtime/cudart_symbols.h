// The runtime's and the driver's headers with their version macros off, so that twins are functions of their own.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cuda_runtime_api.h>

// The shared library exports its functions; the static one keeps them hidden in the program, as nvcc's default runtime
// does.
#ifdef SIMCUDART_STATIC
#define RT_EXPORT extern "C" __attribute__((visibility("hidden")))
#else
#define RT_EXPORT extern "C" __attribute__((visibility("default")))
#endif
