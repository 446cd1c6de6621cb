// Allocation, release and registration.
#include <algorithm>

#include "capture.h"
#include "context.h"
#include "memory.h"
#include "settings.h"

using namespace simcuda;

namespace {

// Measured: H200, driver 580.159.04: freeing device or pinned memory and unregistering wait for every stream of the
// device; allocating and registering do not. Meanwhile launches and copies of other threads wait too.
CUresult release_when_idle(Context* context, std::uintptr_t base, bool (*allowed)(Kind)) {
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const auto range = find_range(base);
    if (!range || range->base != base || range->reserved_size || range->imported || !allowed(range->kind))
        return CUDA_ERROR_INVALID_VALUE;
    machine().wait_before_release(range->context);
    return release(base, allowed);
}

bool is_device(Kind kind) {
    return kind == Kind::device || kind == Kind::managed || kind == Kind::host_located;
}
bool is_pinned(Kind kind) {
    return kind == Kind::pinned;
}
bool is_registered(Kind kind) {
    return kind == Kind::registered;
}

CUresult pinned(Context* context, void** out, std::size_t size, unsigned flags) {
    constexpr unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!out || (flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return allocate_pinned(context, size, flags, out);
}

CUresult register_memory(Context* context, void* address, std::size_t size, unsigned flags) {
    constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                               CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    if (!address || size == 0 || (flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return register_host(context, address, size, flags);
}

CUresult device_pointer(CUdeviceptr* out, void* address, unsigned flags) {
    if (!out || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto range = find_range(reinterpret_cast<std::uintptr_t>(address));
    if (!range || !range->pinned_host())
        return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUdeviceptr>(address);  // unified addressing: the same address on both sides
    return CUDA_SUCCESS;
}

// The first versions' 32 bits hold what they can; SIMCUDA_LOW_ADDRESSES puts device memory where they reach it.
unsigned narrow(std::size_t size) {
    return static_cast<unsigned>(std::min<std::size_t>(size, ~0u));
}

CUresult allocate(Context* context, CUdeviceptr* out, std::size_t size) {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return allocate_device(context, size, out);
}

constexpr std::size_t kPitchAlignment = 512;  // what cudaMallocPitch gives on devices of the last ten years

CUresult allocate_rows(Context* context, CUdeviceptr* out, std::size_t* pitch, std::size_t width, std::size_t height,
                       unsigned element) {
    if (!out || !pitch || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    std::size_t row = 0, size = 0;
    if (__builtin_add_overflow(width, kPitchAlignment - 1, &row))
        return CUDA_ERROR_INVALID_VALUE;
    row -= row % kPitchAlignment;
    if (__builtin_mul_overflow(row, height, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult result = allocate(context, out, size); result != CUDA_SUCCESS)
        return result;
    *pitch = row;
    return CUDA_SUCCESS;
}

// Gives the address to a function of the first version, or the memory back.
CUresult hand_out(CUdeviceptr address, CUdeviceptr_v1* out) {
    if (address > ~CUdeviceptr_v1{0}) {
        release(address, is_device);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = static_cast<CUdeviceptr_v1>(address);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_ONE(cuMemGetInfo, (unsigned* free_bytes, unsigned* total), {
    if (!free_bytes || !total)
        return CUDA_ERROR_INVALID_VALUE;
    std::size_t wide_free = 0, wide_total = 0;
    memory_info(context->device, &wide_free, &wide_total);
    *free_bytes = narrow(wide_free);
    *total = narrow(wide_total);
    return CUDA_SUCCESS;
})

SIM_ONE(cuMemGetInfo_v2, (size_t * free_bytes, size_t* total), {
    if (!free_bytes || !total)
        return CUDA_ERROR_INVALID_VALUE;
    memory_info(context->device, free_bytes, total);
    return CUDA_SUCCESS;
})

SIM_ONE(cuMemAlloc_v2, (CUdeviceptr * out, size_t size), { return allocate(context, out, size); })

SIM_ONE(cuMemAlloc, (CUdeviceptr_v1 * out, unsigned size), {
    CUdeviceptr wide = 0;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = allocate(context, &wide, size); result != CUDA_SUCCESS)
        return result;
    return hand_out(wide, out);
})

SIM_ONE(cuMemAllocPitch_v2, (CUdeviceptr * out, size_t* pitch, size_t width, size_t height, unsigned element),
        { return allocate_rows(context, out, pitch, width, height, element); })

SIM_ONE(cuMemAllocPitch, (CUdeviceptr_v1 * out, unsigned* pitch, unsigned width, unsigned height, unsigned element), {
    CUdeviceptr wide = 0;
    std::size_t wide_pitch = 0;
    if (!out || !pitch)
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = allocate_rows(context, &wide, &wide_pitch, width, height, element);
        result != CUDA_SUCCESS)
        return result;
    *pitch = narrow(wide_pitch);
    return hand_out(wide, out);
})

SIM_ONE(cuMemFree, (CUdeviceptr_v1 address), {
    if (address == 0)
        return CUDA_SUCCESS;
    return release_when_idle(context, address, is_device);
})

SIM_ONE(cuMemFree_v2, (CUdeviceptr address), {
    if (address == 0)
        return CUDA_SUCCESS;
    return release_when_idle(context, address, is_device);
})

SIM_ONE(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t* size, CUdeviceptr address), {
    const auto range = find_range(address);
    if (!range)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range->base;
    if (size)
        *size = range->size;
    return CUDA_SUCCESS;
})

SIM_ONE(cuMemGetAddressRange, (CUdeviceptr_v1 * base, unsigned* size, CUdeviceptr_v1 address), {
    const auto range = find_range(address);
    if (!range)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = static_cast<CUdeviceptr_v1>(range->base);
    if (size)
        *size = narrow(range->size);
    return CUDA_SUCCESS;
})

SIM_ONE(cuMemAllocManaged, (CUdeviceptr * out, size_t size, unsigned flags), {
    if (!out || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    return allocate_managed(context, size, out);
})

SIM_ONE(cuMemHostAlloc, (void** out, size_t size, unsigned flags), { return pinned(context, out, size, flags); })

SIM_ONE(cuMemAllocHost, (void** out, unsigned size), { return pinned(context, out, size, 0); })

SIM_ONE(cuMemAllocHost_v2, (void** out, size_t size), { return pinned(context, out, size, 0); })

SIM_ONE(cuMemFreeHost, (void* address), {
    if (!address)
        return CUDA_SUCCESS;
    return release_when_idle(context, reinterpret_cast<std::uintptr_t>(address), is_pinned);
})

SIM_ONE(cuMemHostRegister, (void* address, size_t size, unsigned flags),
        { return register_memory(context, address, size, flags); })

SIM_ONE(cuMemHostRegister_v2, (void* address, size_t size, unsigned flags),
        { return register_memory(context, address, size, flags); })

SIM_ONE(cuMemHostUnregister, (void* address), {
    const CUresult result = release_when_idle(context, reinterpret_cast<std::uintptr_t>(address), is_registered);
    // Memory that CUDA knows as something else is an invalid argument, unknown memory has an error of its own.
    const bool unknown = !find_range(reinterpret_cast<std::uintptr_t>(address));
    return result == CUDA_ERROR_INVALID_VALUE && unknown ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : result;
})

// Measured: H200, driver 580.159.04: pinned memory reads back as mapped (0x2) whatever was asked for, managed memory
// too; write-combined 0x6, portable 0x3, a small portable allocation like the slab it came from.
SIM_ONE(cuMemHostGetFlags, (unsigned* flags, void* address), {
    const auto range = find_range(reinterpret_cast<std::uintptr_t>(address));
    // Measured: H200, driver 580.159.04: a pool's memory has no flags, a mapping of virtual addresses reads as
    // portable, also one of device memory.
    const bool mapping = range && range->reserved_size;
    if (!flags || !range || (range->kind == Kind::device && !mapping) || range->pool_host())
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEMHOSTALLOC_DEVICEMAP;
    if (range->kind == Kind::pinned)
        *flags |= range->flags;
    if (range->kind == Kind::registered)
        *flags |= range->flags & CU_MEMHOSTREGISTER_PORTABLE;
    if (mapping)
        *flags |= CU_MEMHOSTALLOC_PORTABLE;
    return CUDA_SUCCESS;
})

SIM_ONE(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void* address, unsigned flags),
        { return device_pointer(out, address, flags); })

SIM_ONE(cuMemHostGetDevicePointer, (CUdeviceptr_v1 * out, void* address, unsigned flags), {
    CUdeviceptr wide = 0;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = device_pointer(&wide, address, flags); result != CUDA_SUCCESS)
        return result;
    if (wide > ~CUdeviceptr_v1{0})
        return CUDA_ERROR_INVALID_VALUE;  // not representable in the old interface
    *out = static_cast<CUdeviceptr_v1>(wide);
    return CUDA_SUCCESS;
})
