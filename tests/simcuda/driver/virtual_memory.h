// Virtual memory management: reservations of addresses, physical memory, and mappings of one into the other. A
// reservation has a second one beside it, through which the engines reach what is mapped, whatever protection the first
// one has. Protection is that of the host: mapped memory can be touched by the process, and by kernels, which run in
// it, as soon as anybody was given access.
#pragma once

#include <memory>
#include <optional>

#include "cuda_symbols.h"

namespace simcuda {

// Size and alignment of everything here (measured: H200, driver 580.159.04: 2 MiB, for memory of the device and of a
// host NUMA node).
constexpr std::size_t kGranularity = 2 << 20;

// CUDA_ERROR_INVALID_VALUE or CUDA_ERROR_INVALID_DEVICE for properties that cuMemCreate refuses.
CUresult check_allocation(const CUmemAllocationProp& properties);

CUresult reserve_addresses(std::size_t size, std::size_t alignment, CUdeviceptr* out);
struct Reserved {
    CUdeviceptr base;
    std::size_t size;
};
// The reservation that holds the address, whether or not something is mapped there.
std::optional<Reserved> find_reservation(CUdeviceptr address);
// CUDA_ERROR_INVALID_VALUE when something is still mapped there.
CUresult free_addresses(CUdeviceptr address, std::size_t size);

CUresult create_memory(std::size_t size, const CUmemAllocationProp& properties, CUmemGenericAllocationHandle* out);
CUresult release_memory(CUmemGenericAllocationHandle handle);
CUresult properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp* out);
// The handle of what is mapped at the address, with one more reference.
CUresult retain_memory_at(std::uintptr_t address, CUmemGenericAllocationHandle* out);

CUresult map_memory(CUdeviceptr address, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle handle);
// Whole mappings only. The caller has waited for the device.
CUresult unmap_memory(CUdeviceptr address, std::size_t size);
CUresult set_access(CUdeviceptr address, std::size_t size, const CUmemAccessDesc* entries, std::size_t count);
CUresult get_access(CUdeviceptr address, const CUmemLocation& location, unsigned long long* flags);

}  // namespace simcuda
