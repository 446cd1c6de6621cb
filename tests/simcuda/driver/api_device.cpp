// Initialisation and devices.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "context.h"
#include "settings.h"

using namespace simcuda;

namespace {

bool valid(CUdevice device) {
    return device >= 0 && device < settings().devices;
}

// A Hopper-like device; tests depend on the attributes that SIMCUDA_* can change.
int attribute(CUdevice device, int which) {
    switch (which) {
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            return 64;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
            return 2147483647;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
            return 65535;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            return 49152;
        case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
            return 65536;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            return 32;
        case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
            return 2147483647;
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
            return 65536;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
            return 1980000;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return 132;
        case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
            return settings().copy_engines > 0;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
            return settings().copy_engines;
        case CU_DEVICE_ATTRIBUTE_INTEGRATED:
            return settings().integrated;
        case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
            return settings().pageable_access || settings().host_page_tables;
        case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
            return settings().host_page_tables;
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
            return 1;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return 9;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            return 0;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            return 1 + device;
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
            return 0;
#if CUDA_VERSION >= 12020
        case CU_DEVICE_ATTRIBUTE_NUMA_ID:
            return -1;
        case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
            return 0;
#endif
        default:
            return 0;
    }
}

CUresult uuid_of(CUuuid* uuid, CUdevice device) {
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::memcpy(uuid->bytes, "simcuda-device-0", 16);
    uuid->bytes[15] = static_cast<char>(uuid->bytes[15] + device);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_EXPORT CUresult cuInit(unsigned flags) {
    if (const CUresult ordered = count_call(Api::cuInit); ordered != CUDA_SUCCESS)
        return ordered;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (inside_host_function())
        return CUDA_ERROR_NOT_PERMITTED;
    if (life() == Life::unloaded)
        return CUDA_ERROR_DEINITIALIZED;
    if (life() == Life::forked)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (settings().devices <= 0)
        return CUDA_ERROR_NO_DEVICE;
    mark_initialised();
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDriverGetVersion(int* version) {
    if (const CUresult ordered = count_call(Api::cuDriverGetVersion); ordered != CUDA_SUCCESS)
        return ordered;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = settings().driver_version;
    return CUDA_SUCCESS;
}

SIM_PLAIN(cuDeviceGet, (CUdevice * device, int ordinal), {
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceGetCount, (int* count), {
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = settings().devices;
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceGetName, (char* name, int length, CUdevice device), {
    if (!name || length <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(length), "simcuda");
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceGetAttribute, (int* value, CUdevice_attribute which, CUdevice device), {
    if (!value || which <= 0 || which >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute(device, which);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceGetPCIBusId, (char* id, int length, CUdevice device), {
    if (!id || length <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", 1 + device);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), {
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = settings().device_memory;
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), { return uuid_of(uuid, device); })

SIM_PLAIN(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), { return uuid_of(uuid, device); })
