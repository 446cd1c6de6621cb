// Stream-ordered allocation and memory pools.
#include "capture.h"
#include "context.h"
#include "memory.h"
#include "pools.h"

using namespace simcuda;

namespace {

// The memory is there at once. In a capturing stream it belongs to the graph, which keeps it.
CUresult allocate(const StreamPtr& stream, const PoolPtr& pool, std::size_t size, CUdeviceptr* out) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !pool || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = allocate_from_pool(stream->context, pool, size, out); result != CUDA_SUCCESS)
        return result;
    const auto captured = capture_node(stream, AllocNode{pool->properties, size, *out});
    return captured ? *captured : CUDA_SUCCESS;
}

PoolPtr pool_of_device(int device) {
    CUmemoryPool pool = nullptr;
    current_pool({CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ALLOCATION_TYPE_PINNED, &pool);
    return find_pool(pool);
}

// Memory from cuMemAlloc can be given back this way too (cuda.h, cuMemFreeAsync names no kind).
CUresult free_in_order(const StreamPtr& stream, CUdeviceptr address) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    const auto range = find_range(address);
    const bool freeable =
        range && range->base == address && !range->reserved_size && (range->pool || range->kind == Kind::device);
    if (!freeable)
        return CUDA_ERROR_INVALID_VALUE;
    if (const auto captured = capture_node(stream, FreeNode{address}))
        return *captured;
    return issue(stream, Engine::compute, [address] { release(address, [](Kind) { return true; }); });
}

CUresult set_attribute(Pool& pool, CUmemPool_attribute which, const void* value) {
    std::lock_guard lock(pool.mutex);
    switch (which) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            pool.reuse[which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *static_cast<const int*>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool.release_threshold = *static_cast<const cuuint64_t*>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:  // can only be reset
            if (*static_cast<const cuuint64_t*>(value) != 0)
                return CUDA_ERROR_INVALID_VALUE;
            pool.used_high = pool.used;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult get_attribute(Pool& pool, CUmemPool_attribute which, void* value) {
    std::lock_guard lock(pool.mutex);
    switch (which) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            *static_cast<int*>(value) = pool.reuse[which - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            *static_cast<cuuint64_t*>(value) = pool.release_threshold;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = pool.used;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = pool.used_high;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult set_access(Pool& pool, const CUmemAccessDesc* entries, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        // The access of the place where the memory lies cannot be taken away.
        const bool own = entries[i].location.type == pool.properties.location.type &&
                         entries[i].location.id == pool.properties.location.id;
        if (own && entries[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    std::lock_guard lock(pool.mutex);
    // The newest entry of a location is the one that a look finds first.
    pool.access.insert(pool.access.begin(), entries, entries + count);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_TWINS(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t size, CUstream stream),
          { return allocate(find_stream(context, stream, meaning), pool_of_device(context->device), size, out); })
SIM_TWINS(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr * out, size_t size, CUmemoryPool pool, CUstream stream),
          { return allocate(find_stream(context, stream, meaning), find_pool(pool), size, out); })
SIM_TWINS(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream),
          { return free_in_order(find_stream(context, stream, meaning), address); })

SIM_PLAIN(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps* properties),
          { return out && properties ? create_pool(*properties, out) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemPoolDestroy, (CUmemoryPool pool), { return destroy_pool(pool); })
SIM_PLAIN(cuMemPoolTrimTo, (CUmemoryPool pool, size_t), {
    return find_pool(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // nothing is kept that could be given back
})
SIM_PLAIN(cuMemPoolSetAttribute, (CUmemoryPool handle, CUmemPool_attribute which, void* value), {
    const PoolPtr pool = find_pool(handle);
    return pool && value ? set_attribute(*pool, which, value) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuMemPoolGetAttribute, (CUmemoryPool handle, CUmemPool_attribute which, void* value), {
    const PoolPtr pool = find_pool(handle);
    return pool && value ? get_attribute(*pool, which, value) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuMemPoolSetAccess, (CUmemoryPool handle, const CUmemAccessDesc* entries, size_t count), {
    const PoolPtr pool = find_pool(handle);
    return pool && entries ? set_access(*pool, entries, count) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool handle, CUmemLocation* location), {
    const PoolPtr pool = find_pool(handle);
    if (!pool || !flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = pool->access_from(*location);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDeviceGetDefaultMemPool, (CUmemoryPool * out, CUdevice device), {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return default_pool({CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ALLOCATION_TYPE_PINNED, out);
})
SIM_PLAIN(cuDeviceGetMemPool, (CUmemoryPool * out, CUdevice device), {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    return current_pool({CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ALLOCATION_TYPE_PINNED, out);
})
SIM_PLAIN(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool), {
    return set_current_pool({CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ALLOCATION_TYPE_PINNED, pool);
})

#if CUDA_VERSION >= 13000
SIM_PLAIN(cuMemGetDefaultMemPool, (CUmemoryPool * out, CUmemLocation* location, CUmemAllocationType type),
          { return out && location ? default_pool(*location, type, out) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemGetMemPool, (CUmemoryPool * out, CUmemLocation* location, CUmemAllocationType type),
          { return out && location ? current_pool(*location, type, out) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool pool),
          { return location ? set_current_pool(*location, type, pool) : CUDA_ERROR_INVALID_VALUE; })
#endif
