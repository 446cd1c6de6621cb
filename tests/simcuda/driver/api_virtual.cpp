// Virtual memory management.
#include "capture.h"
#include "context.h"
#include "memory.h"
#include "virtual_memory.h"

using namespace simcuda;

SIM_PLAIN(cuMemAddressReserve,
          (CUdeviceptr * out, size_t size, size_t alignment, CUdeviceptr, unsigned long long flags),
          { return out && flags == 0 ? reserve_addresses(size, alignment, out) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemAddressFree, (CUdeviceptr address, size_t size), { return free_addresses(address, size); })
SIM_PLAIN(cuMemCreate,
          (CUmemGenericAllocationHandle * out, size_t size, const CUmemAllocationProp* properties,
           unsigned long long flags),
          {
              return out && properties && flags == 0 ? create_memory(size, *properties, out) : CUDA_ERROR_INVALID_VALUE;
          })
SIM_PLAIN(cuMemRelease, (CUmemGenericAllocationHandle handle), { return release_memory(handle); })
SIM_PLAIN(cuMemMap,
          (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
           unsigned long long flags),
          { return flags == 0 ? map_memory(address, size, offset, handle) : CUDA_ERROR_INVALID_VALUE; })
// Waits for the device, like every other way to take memory away here. What a device does is not measured.
SIM_PLAIN(cuMemUnmap, (CUdeviceptr address, size_t size), {
    const auto range = find_range(address);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    if (Context* context = current_context())
        machine().wait_context(context);
    machine().wait_context(range->context);
    return unmap_memory(address, size);
})
SIM_PLAIN(cuMemSetAccess, (CUdeviceptr address, size_t size, const CUmemAccessDesc* entries, size_t count),
          { return entries && count ? set_access(address, size, entries, count) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemGetAccess, (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address),
          { return flags && location ? get_access(address, *location, flags) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemGetAllocationGranularity,
          (size_t * out, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option), {
              if (!out || !properties || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
                  return CUDA_ERROR_INVALID_VALUE;
              *out = kGranularity;
              return check_allocation(*properties);
          })
SIM_PLAIN(cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp * out, CUmemGenericAllocationHandle handle),
          { return out ? properties_of(handle, out) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * out, void* address),
          { return out ? retain_memory_at(reinterpret_cast<std::uintptr_t>(address), out) : CUDA_ERROR_INVALID_VALUE; })
