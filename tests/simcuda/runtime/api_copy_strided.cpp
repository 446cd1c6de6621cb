// 2D and 3D copies, and copies between devices.
#include <algorithm>

#include "copy.h"

using namespace simcudart;

namespace {

constexpr std::size_t kMaxPitch = 0x7fffffff;  // cudaDevAttrMaxPitch

cudaError_t copy_rows(const Route& route, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    CUDA_MEMCPY2D c{};
    if (!memory_types(kind, &c.dstMemoryType, &c.srcMemoryType))
        return finish(cudaErrorInvalidMemcpyDirection);
    if (width > to_pitch || width > from_pitch || to_pitch > kMaxPitch || from_pitch > kMaxPitch)
        return finish(cudaErrorInvalidPitchValue);
    c.dstHost = to;
    c.dstDevice = device_address(to);
    c.dstPitch = to_pitch;
    c.srcHost = from;
    c.srcDevice = device_address(from);
    c.srcPitch = from_pitch;
    c.WidthInBytes = width;
    c.Height = height;
    return finish(copy_2d(route, c));
}

// The part of the driver's parameters that is the same for a copy inside a device and between two. `types` are those of
// the ends that are no arrays. Offsets and extent are in elements of the array if there is one, also those of a pointer
// beside it (measured: H200, driver 580.159.04; the documentation says bytes for a pointer).
template <typename Driver, typename Runtime>
cudaError_t fill_in(const Runtime& p, CUmemorytype to, CUmemorytype from, Driver* c) {
    if ((p.srcArray != nullptr) == (p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr) == (p.dstPtr.ptr != nullptr))
        return cudaErrorInvalidValue;
    if (p.srcPtr.pitch > kMaxPitch || p.dstPtr.pitch > kMaxPitch)
        return cudaErrorInvalidPitchValue;
    ArrayShape source{.element = 1}, destination{.element = 1};
    CUresult result = p.srcArray ? array_shape(p.srcArray, &source) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && p.dstArray)
        result = array_shape(p.dstArray, &destination);
    if (result != CUDA_SUCCESS)
        return static_cast<cudaError_t>(result);
    if (p.srcArray && p.dstArray && source.element != destination.element)
        return cudaErrorInvalidValue;
    const std::size_t element = std::max(source.element, destination.element);
    c->srcXInBytes = p.srcPos.x * element;
    c->srcY = p.srcPos.y;
    c->srcZ = p.srcPos.z;
    c->srcMemoryType = p.srcArray ? CU_MEMORYTYPE_ARRAY : from;
    c->srcArray = driver_array(p.srcArray);
    c->srcHost = p.srcPtr.ptr;
    c->srcDevice = device_address(p.srcPtr.ptr);
    c->srcPitch = p.srcPtr.pitch;
    c->srcHeight = p.srcPtr.ysize;
    c->dstXInBytes = p.dstPos.x * element;
    c->dstY = p.dstPos.y;
    c->dstZ = p.dstPos.z;
    c->dstMemoryType = p.dstArray ? CU_MEMORYTYPE_ARRAY : to;
    c->dstArray = driver_array(p.dstArray);
    c->dstHost = p.dstPtr.ptr;
    c->dstDevice = device_address(p.dstPtr.ptr);
    c->dstPitch = p.dstPtr.pitch;
    c->dstHeight = p.dstPtr.ysize;
    c->WidthInBytes = p.extent.width * std::max(source.element, destination.element);
    c->Height = p.extent.height;
    c->Depth = p.extent.depth;
    return cudaSuccess;
}

cudaError_t copy_box(const Route& route, const cudaMemcpy3DParms* p) {
    if (!p)
        return finish(cudaErrorInvalidValue);
    CUDA_MEMCPY3D c{};
    if (const cudaError_t error = driver_copy(*p, &c); error != cudaSuccess)
        return finish(error);
    return finish(copy_3d(route, c));
}

cudaError_t copy_box_between(const Route& route, const cudaMemcpy3DPeerParms* p) {
    if (!p)
        return finish(cudaErrorInvalidValue);
    CUDA_MEMCPY3D_PEER c{};
    cudaError_t error = device_context(p->srcDevice, &c.srcContext);
    if (error == cudaSuccess)
        error = device_context(p->dstDevice, &c.dstContext);
    if (error == cudaSuccess)
        error = fill_in(*p, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED, &c);
    if (error != cudaSuccess)
        return finish(error);
    const bool per_thread = route.per_thread;
    return finish(route.wait ? RT_DRIVER(cuMemcpy3DPeer, _ptds)(&c)
                             : RT_DRIVER(cuMemcpy3DPeerAsync, _ptsz)(&c, route.stream));
}

}  // namespace

cudaError_t simcudart::driver_copy(const cudaMemcpy3DParms& copy, CUDA_MEMCPY3D* out) {
    CUmemorytype to{}, from{};
    if (!memory_types(copy.kind, &to, &from))
        return cudaErrorInvalidMemcpyDirection;
    return fill_in(copy, to, from, out);
}

RT_TWINS(cudaMemcpy2D, _ptds,
         (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
          cudaMemcpyKind kind),
         {
             return copy_rows({per_thread, true, nullptr}, to, to_pitch, from, from_pitch, width, height, kind);
         })
RT_TWINS(cudaMemcpy2DAsync, _ptsz,
         (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
          cudaMemcpyKind kind, cudaStream_t stream),
         {
             return copy_rows({per_thread, false, stream}, to, to_pitch, from, from_pitch, width, height, kind);
         })
RT_TWINS(cudaMemcpy3D, _ptds, (const cudaMemcpy3DParms* p), { return copy_box({per_thread, true, nullptr}, p); })
RT_TWINS(cudaMemcpy3DAsync, _ptsz, (const cudaMemcpy3DParms* p, cudaStream_t stream), {
    return copy_box({per_thread, false, stream}, p);
})
RT_TWINS(cudaMemcpy3DPeer, _ptds, (const cudaMemcpy3DPeerParms* p), {
    return copy_box_between({per_thread, true, nullptr}, p);
})
RT_TWINS(cudaMemcpy3DPeerAsync, _ptsz, (const cudaMemcpy3DPeerParms* p, cudaStream_t stream), {
    return copy_box_between({per_thread, false, stream}, p);
})

// These two have no twins (libcudart.so.13 exports none).
RT_ONE(cudaMemcpyPeer, context, (void* to, int to_device, const void* from, int from_device, size_t size), {
    CUcontext to_context = nullptr, from_context = nullptr;
    cudaError_t error = device_context(to_device, &to_context);
    if (error == cudaSuccess)
        error = device_context(from_device, &from_context);
    if (error != cudaSuccess)
        return finish(error);
    return finish(driver().cuMemcpyPeer(device_address(to), to_context, device_address(from), from_context, size));
})
RT_ONE(cudaMemcpyPeerAsync, context,
       (void* to, int to_device, const void* from, int from_device, size_t size, cudaStream_t stream), {
           CUcontext to_context = nullptr, from_context = nullptr;
           cudaError_t error = device_context(to_device, &to_context);
           if (error == cudaSuccess)
               error = device_context(from_device, &from_context);
           if (error != cudaSuccess)
               return finish(error);
           return finish(driver().cuMemcpyPeerAsync(device_address(to), to_context, device_address(from), from_context,
                                                    size, stream));
       })

RT_ONE(cudaDeviceCanAccessPeer, driver, (int* can, int device, int peer),
       { return finish(driver().cuDeviceCanAccessPeer(can, device, peer)); })
RT_ONE(cudaDeviceEnablePeerAccess, context, (int peer, unsigned flags), {
    CUcontext context = nullptr;
    if (const cudaError_t error = device_context(peer, &context); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuCtxEnablePeerAccess(context, flags));
})
RT_ONE(cudaDeviceDisablePeerAccess, context, (int peer), {
    CUcontext context = nullptr;
    if (const cudaError_t error = device_context(peer, &context); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuCtxDisablePeerAccess(context));
})
