// The runtime's descriptions of graph nodes and the driver's, one for the other.
#pragma once

#include "cudart_symbols.h"

namespace simcudart {

cudaMemcpy3DParms runtime_params(const CUDA_MEMCPY3D& copy);
cudaMemcpy3DParms plain_copy(void* to, const void* from, size_t size, cudaMemcpyKind kind);

CUDA_MEMSET_NODE_PARAMS driver_params(const cudaMemsetParams& fill);
cudaMemsetParams runtime_params(const CUDA_MEMSET_NODE_PARAMS& fill);

// Errors: cudaErrorInvalidDeviceFunction for an unknown kernel.
cudaError_t driver_params(const cudaKernelNodeParams& kernel, CUDA_KERNEL_NODE_PARAMS* out);
cudaKernelNodeParams runtime_params(const CUDA_KERNEL_NODE_PARAMS& kernel);

cudaError_t driver_params(const cudaGraphNodeParams& generic, CUgraphNodeParams* out);

// The context in which the calling thread's nodes run.
CUcontext current_context();

}  // namespace simcudart
