// Kernels: host functions found by mangled name in the libraries named by SIMCUDA_KERNELS.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "../simcuda_kernel.h"

namespace simcuda {

struct Kernel {
    std::string name;
    SimKernelFunction run = nullptr;              // null: a timed no-op
    const std::size_t* argument_sizes = nullptr;  // ends with 0; null when there is no host function
    mutable std::atomic<bool> loaded = false;     // launched before (CUDA loads code when it is first needed)
};

// One object a name, for the life of the process: it serves as CUfunction and as CUkernel.
const Kernel* find_kernel(const char* name);

// Whether the pointer is one that find_kernel gave.
bool is_kernel(const void* handle);

}  // namespace simcuda
