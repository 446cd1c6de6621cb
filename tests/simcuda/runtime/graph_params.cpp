#include "graph_params.h"

#include <algorithm>

#include "copy.h"
#include "registry.h"

namespace simcudart {
namespace {

cudaMemcpyKind kind_of(CUmemorytype to, CUmemorytype from) {
    if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST)
        return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

void* pointer_of(CUmemorytype type, const void* host, CUdeviceptr device) {
    return type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
}

}  // namespace

// Offsets and the extent count in elements where an array takes part, as the runtime's own parameters do.
cudaMemcpy3DParms runtime_params(const CUDA_MEMCPY3D& copy) {
    cudaMemcpy3DParms out{};
    ArrayShape source{.element = 1}, destination{.element = 1};
    if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        out.srcArray = reinterpret_cast<cudaArray_t>(copy.srcArray);
        array_shape(out.srcArray, &source);
    } else {
        out.srcPtr = {pointer_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice), copy.srcPitch, copy.WidthInBytes,
                      copy.srcHeight};
    }
    if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        out.dstArray = reinterpret_cast<cudaArray_t>(copy.dstArray);
        array_shape(out.dstArray, &destination);
    } else {
        out.dstPtr = {pointer_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice), copy.dstPitch, copy.WidthInBytes,
                      copy.dstHeight};
    }
    const std::size_t element = std::max(source.element, destination.element);
    out.srcPos = {copy.srcXInBytes / element, copy.srcY, copy.srcZ};
    out.dstPos = {copy.dstXInBytes / element, copy.dstY, copy.dstZ};
    out.extent = {copy.WidthInBytes / element, copy.Height, copy.Depth};
    out.kind = kind_of(copy.dstMemoryType, copy.srcMemoryType);
    return out;
}

cudaMemcpy3DParms plain_copy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
    cudaMemcpy3DParms copy{};
    copy.srcPtr = {const_cast<void*>(from), size, size, 1};
    copy.dstPtr = {to, size, size, 1};
    copy.extent = {size, 1, 1};
    copy.kind = kind;
    return copy;
}

CUDA_MEMSET_NODE_PARAMS driver_params(const cudaMemsetParams& fill) {
    return {device_address(fill.dst), fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
}
cudaMemsetParams runtime_params(const CUDA_MEMSET_NODE_PARAMS& fill) {
    return {reinterpret_cast<void*>(fill.dst), fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
}

cudaError_t driver_params(const cudaKernelNodeParams& kernel, CUDA_KERNEL_NODE_PARAMS* out) {
    *out = CUDA_KERNEL_NODE_PARAMS{};
    if (const cudaError_t error = function_of(kernel.func, &out->func); error != cudaSuccess)
        return error;
    out->gridDimX = kernel.gridDim.x;
    out->gridDimY = kernel.gridDim.y;
    out->gridDimZ = kernel.gridDim.z;
    out->blockDimX = kernel.blockDim.x;
    out->blockDimY = kernel.blockDim.y;
    out->blockDimZ = kernel.blockDim.z;
    out->sharedMemBytes = kernel.sharedMemBytes;
    out->kernelParams = kernel.kernelParams;
    out->extra = kernel.extra;
    return cudaSuccess;
}

cudaKernelNodeParams runtime_params(const CUDA_KERNEL_NODE_PARAMS& kernel) {
    return {host_function_of(kernel.func),
            dim3(kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ),
            dim3(kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ),
            kernel.sharedMemBytes,
            kernel.kernelParams,
            kernel.extra};
}

cudaError_t driver_params(const cudaGraphNodeParams& generic, CUgraphNodeParams* out) {
    *out = CUgraphNodeParams{};
    out->type = static_cast<CUgraphNodeType>(generic.type);
    switch (generic.type) {
        case cudaGraphNodeTypeKernel: {
            const auto& k = generic.kernel;
            CUDA_KERNEL_NODE_PARAMS kernel{};
            const cudaError_t error = driver_params(
                cudaKernelNodeParams{k.func, k.gridDim, k.blockDim, k.sharedMemBytes, k.kernelParams, k.extra},
                &kernel);
            out->kernel = {kernel.func,         kernel.gridDimX,  kernel.gridDimY,  kernel.gridDimZ,
                           kernel.blockDimX,    kernel.blockDimY, kernel.blockDimZ, kernel.sharedMemBytes,
                           kernel.kernelParams, kernel.extra,     nullptr,          nullptr};
            return error;
        }
        case cudaGraphNodeTypeMemcpy:
            out->memcpy.flags = generic.memcpy.flags;
            out->memcpy.copyCtx = current_context();
            return driver_copy(generic.memcpy.copyParams, &out->memcpy.copyParams);
        case cudaGraphNodeTypeMemset: {
            const auto& m = generic.memset;
            out->memset = {device_address(m.dst), m.pitch, m.value, m.elementSize, m.width, m.height,
                           current_context()};
            return cudaSuccess;
        }
        case cudaGraphNodeTypeHost:
            out->host = {generic.host.fn, generic.host.userData};
            return cudaSuccess;
        case cudaGraphNodeTypeGraph:
            out->graph.graph = generic.graph.graph;
            return cudaSuccess;
        case cudaGraphNodeTypeEventRecord:
            out->eventRecord.event = generic.eventRecord.event;
            return cudaSuccess;
        case cudaGraphNodeTypeWaitEvent:
            out->eventWait.event = generic.eventWait.event;
            return cudaSuccess;
        default:
            return cudaSuccess;  // the driver knows what it does not support
    }
}

CUcontext current_context() {
    CUcontext context = nullptr;
    driver().cuCtxGetCurrent(&context);
    return context;
}

}  // namespace simcudart
