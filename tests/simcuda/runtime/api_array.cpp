// Arrays and pitched memory, and what fills them.
#include <algorithm>

#include "copy.h"

using namespace simcudart;

namespace {

bool format_of(const cudaChannelFormatDesc& wanted, CUDA_ARRAY3D_DESCRIPTOR* out) {
    const int bits[] = {wanted.x, wanted.y, wanted.z, wanted.w};
    unsigned channels = 0;
    while (channels < 4 && bits[channels] != 0)
        ++channels;
    for (unsigned i = 0; i < 4; ++i)
        if (bits[i] != (i < channels ? wanted.x : 0))
            return false;
    out->NumChannels = channels;
    const bool is_signed = wanted.f == cudaChannelFormatKindSigned;
    const bool is_float = wanted.f == cudaChannelFormatKindFloat;
    if (!is_signed && !is_float && wanted.f != cudaChannelFormatKindUnsigned)
        return false;
    switch (wanted.x) {
        case 8:
            out->Format = is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
            return !is_float;
        case 16:
            out->Format = is_float    ? CU_AD_FORMAT_HALF
                          : is_signed ? CU_AD_FORMAT_SIGNED_INT16
                                      : CU_AD_FORMAT_UNSIGNED_INT16;
            return true;
        case 32:
            out->Format = is_float    ? CU_AD_FORMAT_FLOAT
                          : is_signed ? CU_AD_FORMAT_SIGNED_INT32
                                      : CU_AD_FORMAT_UNSIGNED_INT32;
            return true;
        default:
            return false;
    }
}

cudaChannelFormatDesc channels_of(const ArrayShape& shape) {
    const auto bits = static_cast<int>(shape.element / shape.descriptor.NumChannels * 8);
    const auto channel = [&](unsigned index) { return index < shape.descriptor.NumChannels ? bits : 0; };
    cudaChannelFormatKind kind = cudaChannelFormatKindUnsigned;
    switch (shape.descriptor.Format) {
        case CU_AD_FORMAT_SIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT32:
            kind = cudaChannelFormatKindSigned;
            break;
        case CU_AD_FORMAT_HALF:
        case CU_AD_FORMAT_FLOAT:
            kind = cudaChannelFormatKindFloat;
            break;
        default:
            break;
    }
    return {channel(0), channel(1), channel(2), channel(3), kind};
}

// The flags have the driver's values (cudaArrayLayered is CUDA_ARRAY3D_LAYERED, and so on).
cudaError_t create(cudaArray_t* out, const cudaChannelFormatDesc* format, const cudaExtent& extent, unsigned flags) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    if (!out || !format || !format_of(*format, &descriptor))
        return finish(out && format ? cudaErrorInvalidChannelDescriptor : cudaErrorInvalidValue);
    descriptor.Width = extent.width;
    descriptor.Height = extent.height;
    descriptor.Depth = extent.depth;
    descriptor.Flags = flags;
    return finish(driver().cuArray3DCreate_v2(reinterpret_cast<CUarray*>(out), &descriptor));
}

constexpr unsigned kElement = 4;  // the smallest that cuMemAllocPitch knows

// A slice after the other, or all of them as rows of one when there is no gap between them.
cudaError_t fill_slices(bool per_thread, bool wait, cudaStream_t stream, const cudaPitchedPtr& to, int value,
                        const cudaExtent& extent) {
    const auto byte = static_cast<unsigned char>(value);
    const bool together = extent.depth <= 1 || extent.height == to.ysize;
    const std::size_t calls = together ? std::min<std::size_t>(extent.depth, 1) : extent.depth;
    const std::size_t rows = together ? extent.height * extent.depth : extent.height;
    for (std::size_t z = 0; z < calls; ++z) {
        const CUdeviceptr slice = device_address(to.ptr) + z * to.pitch * to.ysize;
        const CUresult result =
            wait ? RT_DRIVER(cuMemsetD2D8_v2, _ptds)(slice, to.pitch, byte, extent.width, rows)
                 : RT_DRIVER(cuMemsetD2D8Async, _ptsz)(slice, to.pitch, byte, extent.width, rows, stream);
        if (result != CUDA_SUCCESS)
            return finish(result);
    }
    return cudaSuccess;
}

}  // namespace

RT_ONE(cudaMallocArray, context,
       (cudaArray_t * out, const cudaChannelFormatDesc* format, size_t width, size_t height, unsigned flags), {
           return create(out, format, {width, height, 0}, flags);
       })
RT_ONE(cudaMalloc3DArray, context,
       (cudaArray_t * out, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags),
       { return create(out, format, extent, flags); })
RT_ONE(cudaFreeArray, context, (cudaArray_t array),
       { return array ? finish(driver().cuArrayDestroy(driver_array(array))) : cudaSuccess; })
RT_ONE(cudaGetChannelDesc, context, (cudaChannelFormatDesc * out, cudaArray_const_t array), {
    ArrayShape shape;
    if (!out)
        return finish(cudaErrorInvalidValue);
    if (const CUresult result = array_shape(array, &shape); result != CUDA_SUCCESS)
        return finish(result);
    *out = channels_of(shape);
    return cudaSuccess;
})
RT_ONE(cudaArrayGetInfo, context,
       (cudaChannelFormatDesc * format, cudaExtent* extent, unsigned* flags, cudaArray_t array), {
           ArrayShape shape;
           if (const CUresult result = array_shape(array, &shape); result != CUDA_SUCCESS)
               return finish(result);
           if (format)
               *format = channels_of(shape);
           if (extent)
               *extent = {shape.descriptor.Width, shape.descriptor.Height, shape.descriptor.Depth};
           if (flags)
               *flags = shape.descriptor.Flags;
           return cudaSuccess;
       })

RT_ONE(cudaMallocPitch, context, (void** out, size_t* pitch, size_t width, size_t height), {
    return finish(driver().cuMemAllocPitch_v2(reinterpret_cast<CUdeviceptr*>(out), pitch, width, height, kElement));
})
RT_ONE(cudaMalloc3D, context, (cudaPitchedPtr * out, cudaExtent extent), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    const CUresult result = driver().cuMemAllocPitch_v2(&memory, &pitch, extent.width,
                                                        extent.height * std::max<size_t>(extent.depth, 1), kElement);
    if (result != CUDA_SUCCESS)
        return finish(result);
    *out = {reinterpret_cast<void*>(memory), pitch, extent.width, extent.height};
    return cudaSuccess;
})

RT_TWINS(cudaMemset2D, _ptds, (void* to, size_t pitch, int value, size_t width, size_t height), {
    return finish(
        RT_DRIVER(cuMemsetD2D8_v2, _ptds)(device_address(to), pitch, static_cast<unsigned char>(value), width, height));
})
RT_TWINS(cudaMemset2DAsync, _ptsz,
         (void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream), {
             return finish(RT_DRIVER(cuMemsetD2D8Async, _ptsz)(
                 device_address(to), pitch, static_cast<unsigned char>(value), width, height, stream));
         })
RT_TWINS(cudaMemset3D, _ptds, (cudaPitchedPtr to, int value, cudaExtent extent),
         { return fill_slices(per_thread, true, nullptr, to, value, extent); })
RT_TWINS(cudaMemset3DAsync, _ptsz, (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream),
         { return fill_slices(per_thread, false, stream, to, value, extent); })
