// Devices, versions, errors and entry points.
#include <cstdio>
#include <cstring>

#include "call.h"

using namespace simcudart;

RT_ONE(cudaDeviceSynchronize, context, (), { return finish(driver().cuCtxSynchronize()); })

RT_ONE(cudaDeviceReset, driver, (), { return finish(driver().cuDevicePrimaryCtxReset(current_device())); })

RT_ONE(cudaGetDevice, driver, (int* device), {
    if (!device)
        return finish(cudaErrorInvalidValue);
    CUdevice current = current_device();
    const CUresult result = driver().cuCtxGetDevice(&current);
    *device = current;
    return finish(result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result);
})

RT_ONE(cudaSetDevice, driver, (int device), { return use_device(device); })

RT_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
    if (count)
        *count = 0;
    RT_BEGIN(driver);
    // Asked once: a forked child, whose driver calls all fail, still gets the answer (measured: cudart 13.0.96).
    if (!count)
        return finish(cudaErrorInvalidValue);
    *count = driver_state().devices;
    return cudaSuccess;
}

RT_ONE(cudaDeviceGetAttribute, driver, (int* value, cudaDeviceAttr which, int device),
       { return finish(driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(which), device)); })

RT_ONE(cudaDeviceGetStreamPriorityRange, context, (int* least, int* greatest),
       { return finish(driver().cuCtxGetStreamPriorityRange(least, greatest)); })

RT_ONE(cudaGetDeviceProperties, driver, (cudaDeviceProp * out, int device), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    std::memset(out, 0, sizeof *out);
    if (const CUresult result = driver().cuDeviceGetName(out->name, sizeof out->name, device); result != CUDA_SUCCESS)
        return finish(result);
    driver().cuDeviceTotalMem_v2(&out->totalGlobalMem, device);
    driver().cuDeviceGetUuid(reinterpret_cast<CUuuid*>(&out->uuid), device);
    const auto get = [&](CUdevice_attribute which) {
        int value = 0;
        driver().cuDeviceGetAttribute(&value, which, device);
        return value;
    };
    out->major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    out->minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    out->multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    out->warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    out->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    out->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    out->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    out->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    out->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    out->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    out->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    out->sharedMemPerBlock = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
    out->totalConstMem = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY));
    out->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    out->asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    out->integrated = get(CU_DEVICE_ATTRIBUTE_INTEGRATED);
    out->canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    out->concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    out->unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    out->managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    out->concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    out->pageableMemoryAccess = get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    out->pageableMemoryAccessUsesHostPageTables = get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
    out->hostRegisterSupported = get(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    out->canUseHostPointerForRegisteredMem = get(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    out->pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    out->pciDeviceID = get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    out->pciDomainID = get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    return cudaSuccess;
})

#if CUDART_VERSION >= 13000
// The name that programs built with CUDA 12 ask for.
RT_EXPORT cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* out, int device) {
    return cudaGetDeviceProperties(out, device);
}
#endif

RT_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
    RT_BEGIN(nothing);
    if (!version)
        return finish(cudaErrorInvalidValue);
    *version = 0;  // no driver is no error here (CUDA Runtime API, cudaDriverGetVersion)
    const auto get = driver_state().functions.cuDriverGetVersion;
    return get ? finish(get(version)) : cudaSuccess;
}

RT_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
    if (!version)
        return finish(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

RT_EXPORT cudaError_t cudaGetLastError() {
    return take_last_error();
}
RT_EXPORT cudaError_t cudaPeekAtLastError() {
    return peek_last_error();
}

RT_EXPORT const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define RT_ERROR(name, text) \
    case name:               \
        return #name;
#include "error_texts.inc"
#undef RT_ERROR
        default:
            return "unrecognized error code";
    }
}

RT_EXPORT const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define RT_ERROR(name, text) \
    case name:               \
        return text;
#include "error_texts.inc"
#undef RT_ERROR
        default:
            return "unrecognized error code";
    }
}

RT_EXPORT cudaError_t cudaProfilerStart() {
    return cudaSuccess;
}
RT_EXPORT cudaError_t cudaProfilerStop() {
    return cudaSuccess;
}

namespace {

cudaError_t entry_point(const char* symbol, void** out, unsigned version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
    CUdriverProcAddressQueryResult found{};
    const CUresult result = driver().look_up(symbol, out, static_cast<int>(version), flags, &found);
    if (status)
        *status = static_cast<cudaDriverEntryPointQueryResult>(found);
    return finish(result);
}

// The default flag of the per-thread twin means per-thread.
unsigned long long meaning(bool per_thread, unsigned long long flags) {
    if (per_thread && flags == cudaEnableDefault)
        return cudaEnablePerThreadDefaultStream;
    return flags;
}

}  // namespace

RT_TWINS(cudaGetDriverEntryPoint, _ptsz,
         (const char* symbol, void** out, unsigned long long flags, cudaDriverEntryPointQueryResult* status),
         { return entry_point(symbol, out, CUDART_VERSION, meaning(per_thread, flags), status); })
#if CUDART_VERSION >= 12050
RT_TWINS(cudaGetDriverEntryPointByVersion, _ptsz,
         (const char* symbol, void** out, unsigned version, unsigned long long flags,
          cudaDriverEntryPointQueryResult* status),
         { return entry_point(symbol, out, version, meaning(per_thread, flags), status); })
#endif
