// Stream-ordered allocation and memory pools. The runtime's structures and the driver's are laid out alike.
#include "call.h"

using namespace simcudart;

static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
static_assert(sizeof(cudaMemLocation) == sizeof(CUmemLocation));

RT_TWINS(cudaMallocAsync, _ptsz, (void** out, size_t size, cudaStream_t stream),
         { return finish(RT_DRIVER(cuMemAllocAsync, _ptsz)(reinterpret_cast<CUdeviceptr*>(out), size, stream)); })
RT_TWINS(cudaMallocFromPoolAsync, _ptsz, (void** out, size_t size, cudaMemPool_t pool, cudaStream_t stream), {
    return finish(RT_DRIVER(cuMemAllocFromPoolAsync, _ptsz)(reinterpret_cast<CUdeviceptr*>(out), size, pool, stream));
})
RT_TWINS(cudaFreeAsync, _ptsz, (void* address, cudaStream_t stream),
         { return finish(RT_DRIVER(cuMemFreeAsync, _ptsz)(device_address(address), stream)); })

RT_ONE(cudaMemPoolCreate, context, (cudaMemPool_t * pool, const cudaMemPoolProps* properties),
       { return finish(driver().cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties))); })
RT_ONE(cudaMemPoolDestroy, context, (cudaMemPool_t pool), { return finish(driver().cuMemPoolDestroy(pool)); })
RT_ONE(cudaMemPoolTrimTo, context, (cudaMemPool_t pool, size_t keep),
       { return finish(driver().cuMemPoolTrimTo(pool, keep)); })
RT_ONE(cudaMemPoolSetAttribute, context, (cudaMemPool_t pool, cudaMemPoolAttr which, void* value),
       { return finish(driver().cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(which), value)); })
RT_ONE(cudaMemPoolGetAttribute, context, (cudaMemPool_t pool, cudaMemPoolAttr which, void* value),
       { return finish(driver().cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(which), value)); })
RT_ONE(cudaMemPoolSetAccess, context, (cudaMemPool_t pool, const cudaMemAccessDesc* entries, size_t count),
       { return finish(driver().cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(entries), count)); })
RT_ONE(cudaMemPoolGetAccess, context, (cudaMemAccessFlags * flags, cudaMemPool_t pool, cudaMemLocation* location), {
    return finish(driver().cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                                              reinterpret_cast<CUmemLocation*>(location)));
})
RT_ONE(cudaDeviceGetDefaultMemPool, context, (cudaMemPool_t * pool, int device),
       { return finish(driver().cuDeviceGetDefaultMemPool(pool, device)); })
RT_ONE(cudaDeviceGetMemPool, context, (cudaMemPool_t * pool, int device),
       { return finish(driver().cuDeviceGetMemPool(pool, device)); })
RT_ONE(cudaDeviceSetMemPool, context, (int device, cudaMemPool_t pool),
       { return finish(driver().cuDeviceSetMemPool(device, pool)); })
#if CUDART_VERSION >= 13000
RT_ONE(cudaMemGetDefaultMemPool, context, (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
       {
           return finish(driver().cuMemGetDefaultMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                                                         static_cast<CUmemAllocationType>(type)));
       })
RT_ONE(cudaMemGetMemPool, context, (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type), {
    return finish(driver().cuMemGetMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                                           static_cast<CUmemAllocationType>(type)));
})
RT_ONE(cudaMemSetMemPool, context, (cudaMemLocation * location, cudaMemAllocationType type, cudaMemPool_t pool), {
    return finish(driver().cuMemSetMemPool(reinterpret_cast<CUmemLocation*>(location),
                                           static_cast<CUmemAllocationType>(type), pool));
})
#endif
