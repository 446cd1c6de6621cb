// What nvcc's host code registered: kernels and device variables, by the address of their host shadow.
#pragma once

#include <cstddef>

#include "cudart_symbols.h"

namespace simcudart {

// Null when the address is not a registered kernel; opens the driver's library at the first use.
CUkernel kernel_of(const void* host_function);

// cudaErrorInvalidDeviceFunction when it is none.
cudaError_t function_of(const void* host_function, CUfunction* out);
// The registered host function of a kernel; the handle itself when there is none.
void* host_function_of(CUfunction function);

// Device memory of a registered variable, allocated at the first use and zero (initial values stay in the image that
// the stand-in does not read).
cudaError_t symbol_address(const void* host_variable, CUdeviceptr* address, std::size_t* size);

// The device address of a part of a variable, checked against its size.
cudaError_t inside_symbol(const void* symbol, std::size_t offset, std::size_t size, void** out);

// Gives registered __managed__ variables their memory. Cheap when there is nothing to do.
cudaError_t allocate_managed_variables();

}  // namespace simcudart
