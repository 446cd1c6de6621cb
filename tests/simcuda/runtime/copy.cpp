#include "copy.h"

namespace simcudart {

bool memory_types(cudaMemcpyKind kind, CUmemorytype* to, CUmemorytype* from) {
    switch (kind) {
        case cudaMemcpyHostToHost:
        case cudaMemcpyHostToDevice:
        case cudaMemcpyDeviceToHost:
        case cudaMemcpyDeviceToDevice:
            *to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE
                                                                                     : CU_MEMORYTYPE_HOST;
            *from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE
                                                                                       : CU_MEMORYTYPE_HOST;
            return true;
        case cudaMemcpyDefault:
            *to = *from = CU_MEMORYTYPE_UNIFIED;
            return true;
    }
    return false;
}

CUresult copy_2d(const Route& route, const CUDA_MEMCPY2D& parameters) {
    const bool per_thread = route.per_thread;
    return route.wait ? RT_DRIVER(cuMemcpy2DUnaligned_v2, _ptds)(&parameters)
                      : RT_DRIVER(cuMemcpy2DAsync_v2, _ptsz)(&parameters, route.stream);
}

CUresult copy_3d(const Route& route, const CUDA_MEMCPY3D& parameters) {
    const bool per_thread = route.per_thread;
    return route.wait ? RT_DRIVER(cuMemcpy3D_v2, _ptds)(&parameters)
                      : RT_DRIVER(cuMemcpy3DAsync_v2, _ptsz)(&parameters, route.stream);
}

CUresult array_shape(cudaArray_const_t array, ArrayShape* out) {
    const CUresult result = driver().cuArray3DGetDescriptor_v2(&out->descriptor, driver_array(array));
    if (result != CUDA_SUCCESS)
        return result;
    switch (out->descriptor.Format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            out->element = 1;
            break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            out->element = 2;
            break;
        default:  // the driver makes no others
            out->element = 4;
    }
    out->element *= out->descriptor.NumChannels;
    out->row = out->element * out->descriptor.Width;
    return CUDA_SUCCESS;
}

}  // namespace simcudart
