// Pointer queries. They need an initialised driver but no current context. All answers as measured: H200, driver
// 580.159.04.
#include "context.h"
#include "ipc.h"
#include "memory.h"
#include "virtual_memory.h"

using namespace simcuda;

namespace {

template <typename T>
CUresult give(void* out, T value) {
    *static_cast<T*>(out) = value;
    return CUDA_SUCCESS;
}

// Part of the reservation of virtual addresses around the address; nothing is written where there is none.
template <typename T>
CUresult reservation(void* out, CUdeviceptr address, T Reserved::*part) {
    const auto reserved = find_reservation(address);
    return reserved ? give(out, (*reserved).*part) : CUDA_SUCCESS;
}

// For memory that CUDA does not know the values are zero, but for the ordinal, which is CU_DEVICE_INVALID, the host
// pointer, which is the pointer itself, and the range, which is written only inside a reservation.
CUresult answer(void* out, CUpointer_attribute which, CUdeviceptr address, const std::optional<Range>& range) {
    switch (which) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return give(out, range && !range->without_context() ? handle(range->context) : nullptr);
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            if (!range)
                return give(out, 0u);
            return give(out, static_cast<unsigned>(range->pinned_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return give(out, range && !(range->pool_host() && !device_reaches(*range)) ? address : CUdeviceptr{0});
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return give(out, range && range->kind == Kind::device ? nullptr : reinterpret_cast<void*>(address));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return give(out, static_cast<int>(range && range->kind == Kind::managed));
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return give(out, range ? static_cast<unsigned long long>(range->id) : 0ull);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return give(out, static_cast<int>(range && range->kind == Kind::managed));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return give(out, range ? range->context->device : -2);
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:  // as documented (cuda.h)
            return give(out, static_cast<int>(range && exportable(*range)));
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:  // of virtual memory the reservation (cuda.h)
            if (!range)
                return reservation(out, address, &Reserved::base);
            if (range->pool_host())
                return give(out, CUdeviceptr{0});
            return give(out, CUdeviceptr{range->reserved_size ? range->reserved_base : range->base});
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            if (!range)
                return reservation(out, address, &Reserved::size);
            return give(out, range->reserved_size ? range->reserved_size : range->size);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return give(out, static_cast<int>(range.has_value()));
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return give(out, 0ull);
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return give(out, static_cast<int>(range && range->kind == Kind::device));
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return give(out, range ? 3 : 0);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return give(out, range ? range->pool : nullptr);
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            return range ? give(out, CUdeviceptr{range->base}) : CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            return range ? give(out, range->size) : CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return give(out, range ? static_cast<unsigned long long>(range->id) : 0ull);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

SIM_PLAIN(cuPointerGetAttribute, (void* data, CUpointer_attribute which, CUdeviceptr address), {
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    const auto range = find_range(address);
    if (!range)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = answer(data, which, address, range);
    // Device memory has no host pointer, a pool that the device has no access to no device pointer: null, and an error
    // from this call only (measured: H200, driver 580.159.04).
    const bool no_host = which == CU_POINTER_ATTRIBUTE_HOST_POINTER && range->kind == Kind::device;
    const bool no_device =
        which == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && range->pool_host() && !device_reaches(*range);
    return no_host || no_device ? CUDA_ERROR_INVALID_VALUE : result;
})

SIM_PLAIN(cuPointerGetAttributes, (unsigned count, CUpointer_attribute* which, void** data, CUdeviceptr address), {
    if (count == 0 || !which || !data)
        return CUDA_ERROR_INVALID_VALUE;
    const auto range = find_range(address);
    for (unsigned i = 0; i < count; ++i) {
        if (!data[i])
            return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult result = answer(data[i], which[i], address, range); result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
})
