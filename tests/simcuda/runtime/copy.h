// The runtime's ways to the driver that several of its copy functions share.
#pragma once

#include "call.h"

namespace simcudart {

// Where a runtime call goes: which default stream it means, and whether the host waits.
struct Route {
    bool per_thread;
    bool wait;
    cudaStream_t stream;
};

// What the kind says about both ends; `unified` for cudaMemcpyDefault. False for a kind that does not exist.
bool memory_types(cudaMemcpyKind kind, CUmemorytype* to, CUmemorytype* from);

// The driver's 2D and 3D copies; the synchronous 2D one is cuMemcpy2DUnaligned (cudart_static_lookups.txt).
CUresult copy_2d(const Route& route, const CUDA_MEMCPY2D& parameters);
CUresult copy_3d(const Route& route, const CUDA_MEMCPY3D& parameters);

// The driver's description of a 3D copy (CUDA Runtime API, cudaMemcpy3D).
cudaError_t driver_copy(const cudaMemcpy3DParms& copy, CUDA_MEMCPY3D* out);

// What an array consists of.
struct ArrayShape {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    std::size_t element = 0;  // bytes
    std::size_t row = 0;      // bytes
};
CUresult array_shape(cudaArray_const_t array, ArrayShape* out);

inline CUarray driver_array(cudaArray_const_t array) {
    return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

}  // namespace simcudart
