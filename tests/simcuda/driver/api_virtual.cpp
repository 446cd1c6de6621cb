// Virtual memory management.
#include "capture.h"
#include "context.h"
#include "memory.h"
#include "virtual_memory.h"

using namespace simcuda;

SIM_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t alignment, CUdeviceptr,
                                        unsigned long long flags) {
    SIM_ENTER(cuMemAddressReserve);
    return out && flags == 0 ? reserve_addresses(size, alignment, out) : CUDA_ERROR_INVALID_VALUE;
}
SIM_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
    SIM_ENTER(cuMemAddressFree);
    return free_addresses(address, size);
}
SIM_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t size, const CUmemAllocationProp* properties,
                                unsigned long long flags) {
    SIM_ENTER(cuMemCreate);
    return out && properties && flags == 0 ? create_memory(size, *properties, out) : CUDA_ERROR_INVALID_VALUE;
}
SIM_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    SIM_ENTER(cuMemRelease);
    return release_memory(handle);
}
SIM_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                             unsigned long long flags) {
    SIM_ENTER(cuMemMap);
    return flags == 0 ? map_memory(address, size, offset, handle) : CUDA_ERROR_INVALID_VALUE;
}
// Waits for the device, like every other way to take memory away here. What a device does is not measured.
SIM_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
    SIM_ENTER(cuMemUnmap);
    const auto range = find_range(address);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    if (Context* context = current_context())
        machine().wait_context(context);
    machine().wait_context(range->context);
    return unmap_memory(address, size);
}
SIM_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* entries, size_t count) {
    SIM_ENTER(cuMemSetAccess);
    return entries && count ? set_access(address, size, entries, count) : CUDA_ERROR_INVALID_VALUE;
}
SIM_EXPORT CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
    SIM_ENTER(cuMemGetAccess);
    return flags && location ? get_access(address, *location, flags) : CUDA_ERROR_INVALID_VALUE;
}
SIM_EXPORT CUresult cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp* properties,
                                                  CUmemAllocationGranularity_flags option) {
    SIM_ENTER(cuMemGetAllocationGranularity);
    if (!out || !properties || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *out = kGranularity;
    return check_allocation(*properties);
}
SIM_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                           CUmemGenericAllocationHandle handle) {
    SIM_ENTER(cuMemGetAllocationPropertiesFromHandle);
    return out ? properties_of(handle, out) : CUDA_ERROR_INVALID_VALUE;
}
SIM_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
    SIM_ENTER(cuMemRetainAllocationHandle);
    return out ? retain_memory_at(reinterpret_cast<std::uintptr_t>(address), out) : CUDA_ERROR_INVALID_VALUE;
}
