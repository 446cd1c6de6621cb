// Prefetch, discard and advice for managed memory. Nothing moves, as there is only one memory: the calls check their
// arguments and take their place in the stream.
#include "capture.h"
#include "context.h"
#include "memory.h"
#include "settings.h"

using namespace simcuda;

namespace {

// Managed memory, and pageable memory where the device reaches it (cuda.h, cuMemPrefetchAsync and cuMemAdvise).
CUresult check_range(CUdeviceptr address, std::size_t size) {
    if (!address || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    Span span;
    if (const CUresult result = classify(address, size, &span); result != CUDA_SUCCESS)
        return result;
    const bool reachable = settings().pageable_access || settings().host_page_tables;
    return span.managed() || (span.pageable() && reachable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_device(int device) {
    return device >= 0 && device < settings().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

#if CUDA_VERSION >= 12020
CUresult check_location(const CUmemLocation& location) {
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            return check_device(location.id);
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return CUDA_SUCCESS;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
            return location.id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}
#endif

CUresult prefetch(const StreamPtr& stream, CUdeviceptr address, std::size_t size, CUresult destination) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (destination != CUDA_SUCCESS)
        return destination;
    if (const CUresult result = check_range(address, size); result != CUDA_SUCCESS)
        return result;
    return issue(stream, Engine::compute, [] {});
}

bool uses_location(CUmem_advise advice) {
    return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
           advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

CUresult advise(CUdeviceptr address, std::size_t size, CUmem_advise advice, CUresult location) {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    if (uses_location(advice) && location != CUDA_SUCCESS)
        return location;
    return check_range(address, size);
}

// The first versions know the host as a device of its own.
CUresult check_device_or_host(CUdevice device) {
    return device == CU_DEVICE_CPU ? CUDA_SUCCESS : check_device(device);
}

}  // namespace

SIM_TWINS(cuMemPrefetchAsync, _ptsz, (CUdeviceptr address, size_t size, CUdevice to, CUstream stream),
          { return prefetch(find_stream(context, stream, meaning), address, size, check_device_or_host(to)); })
SIM_ONE(cuMemAdvise, (CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device),
        { return advise(address, size, advice, check_device_or_host(device)); })

#if CUDA_VERSION >= 12020
SIM_TWINS(cuMemPrefetchAsync_v2, _ptsz,
          (CUdeviceptr address, size_t size, CUmemLocation to, unsigned flags, CUstream stream), {
              if (flags != 0)
                  return CUDA_ERROR_INVALID_VALUE;
              return prefetch(find_stream(context, stream, meaning), address, size, check_location(to));
          })
SIM_ONE(cuMemAdvise_v2, (CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation location),
        { return advise(address, size, advice, check_location(location)); })
#endif

#if CUDA_VERSION >= 13000

namespace {

struct Ranges {
    const CUdeviceptr* addresses;
    const std::size_t* sizes;
    std::size_t count;
};

CUresult check_ranges(const StreamPtr& stream, const Ranges& ranges, unsigned long long flags) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->legacy || !ranges.addresses || !ranges.sizes || ranges.count == 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < ranges.count; ++i)
        if (const CUresult result = check_range(ranges.addresses[i], ranges.sizes[i]); result != CUDA_SUCCESS)
            return result;
    return CUDA_SUCCESS;
}

// Location k belongs to the ranges from firsts[k] on (cuda.h, cuMemPrefetchBatchAsync).
CUresult check_locations(const Ranges& ranges, const CUmemLocation* locations, const std::size_t* firsts,
                         std::size_t count) {
    if (!locations || !firsts || count == 0 || count > ranges.count || firsts[0] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t k = 0; k < count; ++k) {
        if ((k > 0 && firsts[k] <= firsts[k - 1]) || firsts[k] >= ranges.count)
            return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult result = check_location(locations[k]); result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

// One place in the queue for the whole batch.
CUresult issue_batch(const StreamPtr& stream, const Ranges& ranges, unsigned long long flags, CUresult locations) {
    if (const CUresult result = check_ranges(stream, ranges, flags); result != CUDA_SUCCESS)
        return result;
    if (locations != CUDA_SUCCESS)
        return locations;
    return issue(stream, Engine::compute, [] {});
}

}  // namespace

SIM_TWINS(cuMemPrefetchBatchAsync, _ptsz,
          (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations, size_t* firsts,
           size_t location_count, unsigned long long flags, CUstream stream),
          {
              const Ranges ranges{addresses, sizes, count};
              return issue_batch(find_stream(context, stream, meaning), ranges, flags,
                                 check_locations(ranges, locations, firsts, location_count));
          })
SIM_TWINS(cuMemDiscardAndPrefetchBatchAsync, _ptsz,
          (CUdeviceptr * addresses, size_t* sizes, size_t count, CUmemLocation* locations, size_t* firsts,
           size_t location_count, unsigned long long flags, CUstream stream),
          {
              const Ranges ranges{addresses, sizes, count};
              return issue_batch(find_stream(context, stream, meaning), ranges, flags,
                                 check_locations(ranges, locations, firsts, location_count));
          })
// What is discarded reads as it was: an allowed value (cuda.h: "indeterminate").
SIM_TWINS(cuMemDiscardBatchAsync, _ptsz,
          (CUdeviceptr * addresses, size_t* sizes, size_t count, unsigned long long flags, CUstream stream), {
              return issue_batch(find_stream(context, stream, meaning), {addresses, sizes, count}, flags, CUDA_SUCCESS);
          })

#endif
