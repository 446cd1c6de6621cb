// Batches of copies, and managed memory. The structures have the driver's members and values, so they are handed on as
// they are. CUDA 12's functions differ from CUDA 13's: a failed copy's index, and a device instead of a location.
#include "call.h"

using namespace simcudart;

#if CUDART_VERSION >= 12080

static_assert(sizeof(cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes));
static_assert(sizeof(cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP));
static_assert(sizeof(cudaMemLocation) == sizeof(CUmemLocation));
static_assert(int{cudaMemcpySrcAccessOrderDuringApiCall} == int{CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL});

namespace {

// The driver takes its arrays without const and changes none.
CUdeviceptr* addresses(const void* const* pointers) {
    return reinterpret_cast<CUdeviceptr*>(const_cast<void**>(pointers));
}
CUmemcpyAttributes* attributes(cudaMemcpyAttributes* list) {
    return reinterpret_cast<CUmemcpyAttributes*>(list);
}
CUDA_MEMCPY3D_BATCH_OP* operations(cudaMemcpy3DBatchOp* list) {
    return reinterpret_cast<CUDA_MEMCPY3D_BATCH_OP*>(list);
}

}  // namespace

#if CUDART_VERSION >= 13000

RT_TWINS(cudaMemcpyBatchAsync, _ptsz,
         (void* const* to, const void* const* from, const size_t* sizes, size_t count, cudaMemcpyAttributes* list,
          size_t* firsts, size_t attribute_count, cudaStream_t stream),
         {
             return finish(RT_DRIVER(cuMemcpyBatchAsync_v2, _ptsz)(addresses(to), addresses(from),
                                                                   const_cast<size_t*>(sizes), count, attributes(list),
                                                                   firsts, attribute_count, stream));
         })
RT_TWINS(cudaMemcpy3DBatchAsync, _ptsz,
         (size_t count, cudaMemcpy3DBatchOp* list, unsigned long long flags, cudaStream_t stream),
         { return finish(RT_DRIVER(cuMemcpy3DBatchAsync_v2, _ptsz)(count, operations(list), flags, stream)); })

#else

RT_TWINS(cudaMemcpyBatchAsync, _ptsz,
         (void** to, void** from, size_t* sizes, size_t count, cudaMemcpyAttributes* list, size_t* firsts,
          size_t attribute_count, size_t* failed, cudaStream_t stream),
         {
             return finish(RT_DRIVER(cuMemcpyBatchAsync, _ptsz)(addresses(to), addresses(from), sizes, count,
                                                                attributes(list), firsts, attribute_count, failed,
                                                                stream));
         })
RT_TWINS(cudaMemcpy3DBatchAsync, _ptsz,
         (size_t count, cudaMemcpy3DBatchOp* list, size_t* failed, unsigned long long flags, cudaStream_t stream),
         { return finish(RT_DRIVER(cuMemcpy3DBatchAsync, _ptsz)(count, operations(list), failed, flags, stream)); })

#endif
#endif

#if CUDART_VERSION >= 13000

namespace {

CUmemLocation location(const cudaMemLocation& wanted) {
    return {static_cast<CUmemLocationType>(wanted.type), wanted.id};
}
CUmemLocation* locations(cudaMemLocation* list) {
    return reinterpret_cast<CUmemLocation*>(list);
}

}  // namespace

RT_TWINS(cudaMemPrefetchAsync, _ptsz,
         (const void* address, size_t size, cudaMemLocation to, unsigned flags, cudaStream_t stream), {
             return finish(
                 RT_DRIVER(cuMemPrefetchAsync_v2, _ptsz)(device_address(address), size, location(to), flags, stream));
         })
RT_ONE(cudaMemAdvise, context, (const void* address, size_t size, cudaMemoryAdvise advice, cudaMemLocation where), {
    return finish(
        driver().cuMemAdvise_v2(device_address(address), size, static_cast<CUmem_advise>(advice), location(where)));
})
RT_TWINS(cudaMemPrefetchBatchAsync, _ptsz,
         (void** list, size_t* sizes, size_t count, cudaMemLocation* to, size_t* firsts, size_t location_count,
          unsigned long long flags, cudaStream_t stream),
         {
             return finish(RT_DRIVER(cuMemPrefetchBatchAsync, _ptsz)(addresses(list), sizes, count, locations(to),
                                                                     firsts, location_count, flags, stream));
         })
RT_TWINS(cudaMemDiscardBatchAsync, _ptsz,
         (void** list, size_t* sizes, size_t count, unsigned long long flags, cudaStream_t stream),
         { return finish(RT_DRIVER(cuMemDiscardBatchAsync, _ptsz)(addresses(list), sizes, count, flags, stream)); })
RT_TWINS(cudaMemDiscardAndPrefetchBatchAsync, _ptsz,
         (void** list, size_t* sizes, size_t count, cudaMemLocation* to, size_t* firsts, size_t location_count,
          unsigned long long flags, cudaStream_t stream),
         {
             return finish(RT_DRIVER(cuMemDiscardAndPrefetchBatchAsync, _ptsz)(
                 addresses(list), sizes, count, locations(to), firsts, location_count, flags, stream));
         })

#else

RT_TWINS(cudaMemPrefetchAsync, _ptsz, (const void* address, size_t size, int device, cudaStream_t stream),
         { return finish(RT_DRIVER(cuMemPrefetchAsync, _ptsz)(device_address(address), size, device, stream)); })
RT_ONE(cudaMemAdvise, context, (const void* address, size_t size, cudaMemoryAdvise advice, int device), {
    return finish(driver().cuMemAdvise(device_address(address), size, static_cast<CUmem_advise>(advice), device));
})

#endif
