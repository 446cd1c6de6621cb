// Memory pools: what stream-ordered allocations come from. Every pool takes its memory from the system and gives it
// back at once; reserved and used memory are therefore the same.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cuda_symbols.h"

namespace simcuda {

struct Context;

struct Pool {
    CUmemPoolProps properties{};
    int device = 0;           // whose primary context owns the memory
    bool is_default = false;  // such a pool cannot be destroyed
    std::mutex mutex;         // guards what follows
    std::vector<CUmemAccessDesc> access;
    cuuint64_t used = 0;
    cuuint64_t used_high = 0;
    cuuint64_t release_threshold = 0;
    int reuse[3] = {1, 1, 1};  // CU_MEMPOOL_ATTR_REUSE_*: kept for the getter, without effect

    bool host_located() const {
        return properties.location.type == CU_MEM_LOCATION_TYPE_HOST ||
               properties.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    }
    CUmemAccess_flags access_from(const CUmemLocation& location);
};
using PoolPtr = std::shared_ptr<Pool>;

// Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE (cuda.h, cuMemPoolCreate).
CUresult create_pool(const CUmemPoolProps& properties, CUmemoryPool* out);
CUresult destroy_pool(CUmemoryPool handle);
// Null when the handle is none of ours or destroyed.
PoolPtr find_pool(CUmemoryPool handle);

// The pool of a place and kind that nobody created, and the one that is set there. Errors as create_pool.
CUresult default_pool(const CUmemLocation& location, CUmemAllocationType type, CUmemoryPool* out);
CUresult current_pool(const CUmemLocation& location, CUmemAllocationType type, CUmemoryPool* out);
CUresult set_current_pool(const CUmemLocation& location, CUmemAllocationType type, CUmemoryPool handle);

// The memory belongs to the context where that is on the pool's device, else to the device's primary context.
CUresult allocate_from_pool(Context* context, const PoolPtr& pool, std::size_t size, CUdeviceptr* out);

}  // namespace simcuda
