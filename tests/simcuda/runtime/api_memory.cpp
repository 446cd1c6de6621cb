// Memory, copies and pointer queries.
#include <cstring>

#include "call.h"
#include "registry.h"

using namespace simcudart;

RT_ONE(cudaMalloc, context, (void** out, size_t size), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    if (size == 0) {  // an empty allocation is a null pointer
        *out = nullptr;
        return cudaSuccess;
    }
    return finish(driver().cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(out), size));
})
RT_ONE(cudaFree, context, (void* address),
       { return address ? finish(driver().cuMemFree_v2(device_address(address))) : cudaSuccess; })
RT_ONE(cudaMallocManaged, context, (void** out, size_t size, unsigned flags),
       { return finish(driver().cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(out), size, flags)); })
RT_ONE(cudaMallocHost, context, (void** out, size_t size), { return finish(driver().cuMemHostAlloc(out, size, 0)); })
RT_ONE(cudaHostAlloc, context, (void** out, size_t size, unsigned flags),
       { return finish(driver().cuMemHostAlloc(out, size, flags)); })
RT_ONE(cudaFreeHost, context, (void* address),
       { return address ? finish(driver().cuMemFreeHost(address)) : cudaSuccess; })
RT_ONE(cudaHostRegister, context, (void* address, size_t size, unsigned flags),
       { return finish(driver().cuMemHostRegister_v2(address, size, flags)); })
RT_ONE(cudaHostUnregister, context, (void* address), { return finish(driver().cuMemHostUnregister(address)); })
RT_ONE(cudaHostGetFlags, context, (unsigned* flags, void* address),
       { return finish(driver().cuMemHostGetFlags(flags, address)); })
RT_ONE(cudaHostGetDevicePointer, context, (void** out, void* address, unsigned flags),
       { return finish(driver().cuMemHostGetDevicePointer_v2(reinterpret_cast<CUdeviceptr*>(out), address, flags)); })
RT_ONE(cudaMemGetInfo, context, (size_t * free_bytes, size_t* total),
       { return finish(driver().cuMemGetInfo_v2(free_bytes, total)); })

// The two types of handles have one layout (64 bytes that nobody looks into).
RT_ONE(cudaIpcGetMemHandle, context, (cudaIpcMemHandle_t * out, void* address),
       { return finish(driver().cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(out), device_address(address))); })
RT_ONE(cudaIpcOpenMemHandle, context, (void** out, cudaIpcMemHandle_t handle, unsigned flags), {
    CUipcMemHandle same;
    static_assert(sizeof same == sizeof handle);
    std::memcpy(&same, &handle, sizeof same);
    return finish(driver().cuIpcOpenMemHandle_v2(reinterpret_cast<CUdeviceptr*>(out), same, flags));
})
RT_ONE(cudaIpcCloseMemHandle, context, (void* address),
       { return finish(driver().cuIpcCloseMemHandle(device_address(address))); })

namespace {

// Measured: H200, driver 580.159.04: the kind chooses the driver function; Default goes to the one without a direction.
cudaError_t copy(bool per_thread, void* to, const void* from, size_t size, cudaMemcpyKind kind) {
    const CUdeviceptr destination = device_address(to);
    const CUdeviceptr source = device_address(from);
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return finish(RT_DRIVER(cuMemcpyHtoD_v2, _ptds)(destination, from, size));
        case cudaMemcpyDeviceToHost:
            return finish(RT_DRIVER(cuMemcpyDtoH_v2, _ptds)(to, source, size));
        case cudaMemcpyDeviceToDevice:
            return finish(RT_DRIVER(cuMemcpyDtoD_v2, _ptds)(destination, source, size));
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return finish(RT_DRIVER(cuMemcpy, _ptds)(destination, source, size));
    }
    return finish(cudaErrorInvalidMemcpyDirection);
}

cudaError_t copy_async(bool per_thread, void* to, const void* from, size_t size, cudaMemcpyKind kind,
                       cudaStream_t stream) {
    const CUdeviceptr destination = device_address(to);
    const CUdeviceptr source = device_address(from);
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return finish(RT_DRIVER(cuMemcpyHtoDAsync_v2, _ptsz)(destination, from, size, stream));
        case cudaMemcpyDeviceToHost:
            return finish(RT_DRIVER(cuMemcpyDtoHAsync_v2, _ptsz)(to, source, size, stream));
        case cudaMemcpyDeviceToDevice:
            return finish(RT_DRIVER(cuMemcpyDtoDAsync_v2, _ptsz)(destination, source, size, stream));
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return finish(RT_DRIVER(cuMemcpyAsync, _ptsz)(destination, source, size, stream));
    }
    return finish(cudaErrorInvalidMemcpyDirection);
}

}  // namespace

RT_TWINS(cudaMemcpy, _ptds, (void* to, const void* from, size_t size, cudaMemcpyKind kind),
         { return copy(per_thread, to, from, size, kind); })
RT_TWINS(cudaMemcpyAsync, _ptsz, (void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream),
         { return copy_async(per_thread, to, from, size, kind, stream); })

RT_TWINS(cudaMemcpyToSymbol, _ptds,
         (const void* symbol, const void* from, size_t size, size_t offset, cudaMemcpyKind kind), {
             void* to = nullptr;
             if (const cudaError_t e = inside_symbol(symbol, offset, size, &to); e != cudaSuccess)
                 return finish(e);
             return copy(per_thread, to, from, size, kind);
         })
RT_TWINS(cudaMemcpyFromSymbol, _ptds, (void* to, const void* symbol, size_t size, size_t offset, cudaMemcpyKind kind), {
    void* from = nullptr;
    if (const cudaError_t e = inside_symbol(symbol, offset, size, &from); e != cudaSuccess)
        return finish(e);
    return copy(per_thread, to, from, size, kind);
})
RT_TWINS(cudaMemcpyToSymbolAsync, _ptsz,
         (const void* symbol, const void* from, size_t size, size_t offset, cudaMemcpyKind kind, cudaStream_t stream), {
             void* to = nullptr;
             if (const cudaError_t e = inside_symbol(symbol, offset, size, &to); e != cudaSuccess)
                 return finish(e);
             return copy_async(per_thread, to, from, size, kind, stream);
         })
RT_TWINS(cudaMemcpyFromSymbolAsync, _ptsz,
         (void* to, const void* symbol, size_t size, size_t offset, cudaMemcpyKind kind, cudaStream_t stream), {
             void* from = nullptr;
             if (const cudaError_t e = inside_symbol(symbol, offset, size, &from); e != cudaSuccess)
                 return finish(e);
             return copy_async(per_thread, to, from, size, kind, stream);
         })
RT_ONE(cudaGetSymbolAddress, context, (void** out, const void* symbol), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    return finish(symbol_address(symbol, reinterpret_cast<CUdeviceptr*>(out), nullptr));
})
RT_ONE(cudaGetSymbolSize, context, (size_t * out, const void* symbol), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    return finish(symbol_address(symbol, nullptr, out));
})

RT_TWINS(cudaMemset, _ptds, (void* to, int value, size_t size), {
    return finish(RT_DRIVER(cuMemsetD8_v2, _ptds)(device_address(to), static_cast<unsigned char>(value), size));
})
RT_TWINS(cudaMemsetAsync, _ptsz, (void* to, int value, size_t size, cudaStream_t stream), {
    return finish(
        RT_DRIVER(cuMemsetD8Async, _ptsz)(device_address(to), static_cast<unsigned char>(value), size, stream));
})

RT_ONE(cudaPointerGetAttributes, context, (cudaPointerAttributes * out, const void* pointer), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    unsigned type = 0;
    int managed = 0;
    int ordinal = 0;
    void* host = nullptr;
    CUdeviceptr device = 0;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void* where[] = {&type, &managed, &ordinal, &host, &device};
    const CUresult result = driver().cuPointerGetAttributes(5, which, where, device_address(pointer));
    if (result != CUDA_SUCCESS)
        return finish(result);
    std::memset(out, 0, sizeof *out);
    out->type = managed                        ? cudaMemoryTypeManaged
                : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                               : cudaMemoryTypeUnregistered;
    out->device = ordinal;
    out->devicePointer = reinterpret_cast<void*>(device);
    out->hostPointer = out->type == cudaMemoryTypeUnregistered ? const_cast<void*>(pointer) : host;
    return cudaSuccess;
})
