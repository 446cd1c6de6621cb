#include "pools.h"

#include <algorithm>

#include "context.h"
#include "memory.h"
#include "settings.h"

namespace simcuda {
namespace {

struct Place {
    CUmemLocation location;
    CUmemAllocationType type;
    PoolPtr standard;
    PoolPtr current;
};

struct Pools {
    std::mutex mutex;
    std::vector<PoolPtr> all;
    std::vector<Place> places;
};

Pools& pools() {
    static Pools& instance = *new Pools;
    return instance;
}

bool same(const CUmemLocation& a, const CUmemLocation& b) {
    const bool numbered = a.type == CU_MEM_LOCATION_TYPE_DEVICE || a.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
    return a.type == b.type && (!numbered || a.id == b.id);
}

CUmemoryPool handle(const PoolPtr& pool) {
    return reinterpret_cast<CUmemoryPool>(pool.get());
}

CUresult check(const CUmemPoolProps& properties) {
    const bool managed = properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (!managed && properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    switch (properties.location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            if (properties.location.id < 0 || properties.location.id >= settings().devices)
                return CUDA_ERROR_INVALID_DEVICE;
            return CUDA_SUCCESS;
        case CU_MEM_LOCATION_TYPE_HOST:
            return properties.handleTypes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
            return properties.location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // one node here
        case CU_MEM_LOCATION_TYPE_NONE:
            return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

// The caller holds pools().mutex.
PoolPtr make(const CUmemPoolProps& properties) {
    auto pool = std::make_shared<Pool>();
    pool->properties = properties;
    if (properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        pool->device = properties.location.id;
    // By default accessible from the device or, of host memory, from the host (cuda.h, cuMemPoolCreate).
    pool->access.push_back({properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    pools().all.push_back(pool);
    return pool;
}

CUresult find_place(const CUmemLocation& location, CUmemAllocationType type, Place** out) {
    CUmemPoolProps properties{};
    properties.allocType = type;
    properties.location = location;
    if (const CUresult result = check(properties); result != CUDA_SUCCESS)
        return result;
    auto& places = pools().places;
    auto it = std::find_if(places.begin(), places.end(),
                           [&](const Place& place) { return place.type == type && same(place.location, location); });
    if (it == places.end()) {
        const PoolPtr pool = make(properties);
        pool->is_default = true;
        it = places.insert(places.end(), {location, type, pool, pool});
    }
    *out = &*it;
    return CUDA_SUCCESS;
}

// Ends with the last copy of the range, so that memory counts as used until its last copy has run.
std::shared_ptr<void> account(const PoolPtr& pool, std::size_t size) {
    {
        std::lock_guard lock(pool->mutex);
        pool->used += size;
        pool->used_high = std::max(pool->used_high, pool->used);
    }
    return {pool.get(), [pool, size](void*) {
                std::lock_guard lock(pool->mutex);
                pool->used -= size;
            }};
}

}  // namespace

CUmemAccess_flags Pool::access_from(const CUmemLocation& location) {
    std::lock_guard lock(mutex);
    for (const CUmemAccessDesc& entry : access)
        if (same(entry.location, location))
            return entry.flags;
    return CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

bool device_reaches(const Range& range) {
    const PoolPtr pool = range.pool ? find_pool(range.pool) : nullptr;
    return pool && pool->access_from({CU_MEM_LOCATION_TYPE_DEVICE, pool->device}) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

CUresult create_pool(const CUmemPoolProps& properties, CUmemoryPool* out) {
    if (const CUresult result = check(properties); result != CUDA_SUCCESS)
        return result;
    std::lock_guard lock(pools().mutex);
    *out = handle(make(properties));
    return CUDA_SUCCESS;
}

CUresult destroy_pool(CUmemoryPool wanted) {
    const PoolPtr pool = find_pool(wanted);
    if (!pool || pool->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(pools().mutex);
    for (Place& place : pools().places)
        if (place.current == pool)
            place.current = place.standard;
    std::erase(pools().all, pool);  // memory that is still out keeps the object
    return CUDA_SUCCESS;
}

PoolPtr find_pool(CUmemoryPool wanted) {
    std::lock_guard lock(pools().mutex);
    for (const PoolPtr& pool : pools().all)
        if (handle(pool) == wanted)
            return pool;
    return nullptr;
}

CUresult default_pool(const CUmemLocation& location, CUmemAllocationType type, CUmemoryPool* out) {
    std::lock_guard lock(pools().mutex);
    Place* place = nullptr;
    if (const CUresult result = find_place(location, type, &place); result != CUDA_SUCCESS)
        return result;
    *out = handle(place->standard);
    return CUDA_SUCCESS;
}

CUresult current_pool(const CUmemLocation& location, CUmemAllocationType type, CUmemoryPool* out) {
    std::lock_guard lock(pools().mutex);
    Place* place = nullptr;
    if (const CUresult result = find_place(location, type, &place); result != CUDA_SUCCESS)
        return result;
    *out = handle(place->current);
    return CUDA_SUCCESS;
}

CUresult set_current_pool(const CUmemLocation& location, CUmemAllocationType type, CUmemoryPool wanted) {
    const PoolPtr pool = find_pool(wanted);
    if (!pool || pool->properties.allocType != type || !same(pool->properties.location, location))
        return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(pools().mutex);
    Place* place = nullptr;
    if (const CUresult result = find_place(location, type, &place); result != CUDA_SUCCESS)
        return result;
    place->current = pool;
    return CUDA_SUCCESS;
}

CUresult allocate_from_pool(Context* context, const PoolPtr& pool, std::size_t size, CUdeviceptr* out) {
    if (context->device != pool->device)
        context = primary_context(pool->device);
    if (pool->properties.maxSize) {
        std::lock_guard lock(pool->mutex);
        if (size > pool->properties.maxSize - std::min<std::size_t>(pool->used, pool->properties.maxSize))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = CUDA_SUCCESS;
    std::uintptr_t host = 0;
    if (pool->properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
        result = allocate_managed(context, size, out);
    else if (pool->host_located() && (result = allocate_host_located(context, size, &host)) == CUDA_SUCCESS)
        *out = host;
    else if (!pool->host_located())
        result = allocate_device(context, size, out);
    if (result == CUDA_SUCCESS)
        assign_pool(*out, handle(pool), account(pool, size));
    return result;
}

}  // namespace simcuda
