// 2D and 3D copies. The structures of the different versions have the same members, the first ones with 32 bits; so has
// the one for copies between contexts.
#include <algorithm>

#include "arrays.h"
#include "context.h"
#include "copy.h"

using namespace simcuda;

namespace {

constexpr std::size_t kMaxPitch = 0x7fffffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH

struct Operand {
    CUmemorytype type;
    std::uintptr_t host;
    std::uintptr_t device;
    CUarray array;
    std::size_t x, y, z;
    std::size_t pitch;   // 0: rows without gaps
    std::size_t height;  // rows from one slice to the next, 0: no gaps
};

CUresult end_of(const Operand& operand, const Extent& extent, End* out) {
    if (operand.type == CU_MEMORYTYPE_ARRAY) {
        const Array* array = find_array(operand.array);
        out->side = Side::device;
        return array ? array_region(*array, operand.x, operand.y, operand.z, extent, &out->region)
                     : CUDA_ERROR_INVALID_HANDLE;
    }
    std::uintptr_t base = operand.device;
    switch (operand.type) {
        case CU_MEMORYTYPE_HOST:
            base = operand.host;
            out->side = Side::host;
            break;
        case CU_MEMORYTYPE_DEVICE:
            out->side = Side::device;
            break;
        case CU_MEMORYTYPE_UNIFIED:
            out->side = Side::unified;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    // cuda.h, cuMemcpy3D: "if specified", pitch and height are at least as large as what is copied, with its offset.
    const std::size_t pitch = operand.pitch ? operand.pitch : operand.x + extent.width;
    const std::size_t height = operand.height ? operand.height : operand.y + extent.height;
    if (!base || pitch < operand.x + extent.width || pitch > kMaxPitch || height < operand.y + extent.height)
        return CUDA_ERROR_INVALID_VALUE;
    std::size_t slice = 0, offset = 0;
    if (__builtin_mul_overflow(pitch, height, &slice) || __builtin_mul_overflow(slice, operand.z, &offset))
        return CUDA_ERROR_INVALID_VALUE;
    return make_region(base + offset + operand.y * pitch + operand.x, extent, pitch, slice, &out->region);
}

CUresult strided(const StreamPtr& stream, const Operand& to, const Operand& from, const Extent& extent, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
        return CUDA_SUCCESS;
    if (extent.width > kMaxPitch)
        return CUDA_ERROR_INVALID_VALUE;
    End destination, source;
    if (const CUresult result = end_of(to, extent, &destination); result != CUDA_SUCCESS)
        return result;
    if (const CUresult result = end_of(from, extent, &source); result != CUDA_SUCCESS)
        return result;
    return copy(stream, destination, source, wait);
}

std::uintptr_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

template <typename Copy2D>
CUresult copy_2d(const StreamPtr& stream, const Copy2D* c, HostWait wait) {
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    return strided(
        stream,
        {c->dstMemoryType, address(c->dstHost), c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, 0, c->dstPitch, 0},
        {c->srcMemoryType, address(c->srcHost), c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, 0, c->srcPitch, 0},
        {c->WidthInBytes, c->Height, 1}, wait);
}

template <typename Copy3D>
CUresult copy_3d(const StreamPtr& stream, const Copy3D* c, HostWait wait) {
    if (!c || c->srcLOD != 0 || c->dstLOD != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return strided(stream,
                   {c->dstMemoryType, address(c->dstHost), c->dstDevice, c->dstArray, c->dstXInBytes, c->dstY, c->dstZ,
                    c->dstPitch, c->dstHeight},
                   {c->srcMemoryType, address(c->srcHost), c->srcDevice, c->srcArray, c->srcXInBytes, c->srcY, c->srcZ,
                    c->srcPitch, c->srcHeight},
                   {c->WidthInBytes, c->Height, c->Depth}, wait);
}

// The contexts count for what is no array (cuda.h, CUDA_MEMCPY3D_PEER); with unified addressing they say nothing new.
CUresult copy_peer(const StreamPtr& stream, const CUDA_MEMCPY3D_PEER* c, HostWait wait) {
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    if ((c->srcMemoryType != CU_MEMORYTYPE_ARRAY && !find_context(c->srcContext)) ||
        (c->dstMemoryType != CU_MEMORYTYPE_ARRAY && !find_context(c->dstContext)))
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy_3d(stream, c, wait);
}

}  // namespace

#define SIM_STRIDED(function, wait, stream) return function(find_stream(context, stream, meaning), c, HostWait::wait);

SIM_ONE(cuMemcpy2D, (const CUDA_MEMCPY2D_v1* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_ONE(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D_v1* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_ONE(cuMemcpy2DAsync, (const CUDA_MEMCPY2D_v1* c, CUstream stream), SIM_STRIDED(copy_2d, asynchronous, stream))
SIM_ONE(cuMemcpy3D, (const CUDA_MEMCPY3D_v1* c), SIM_STRIDED(copy_3d, synchronous, nullptr))
SIM_ONE(cuMemcpy3DAsync, (const CUDA_MEMCPY3D_v1* c, CUstream stream), SIM_STRIDED(copy_3d, asynchronous, stream))

SIM_TWINS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_TWINS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_TWINS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* c, CUstream stream),
          SIM_STRIDED(copy_2d, asynchronous, stream))
SIM_TWINS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* c), SIM_STRIDED(copy_3d, synchronous, nullptr))
SIM_TWINS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* c, CUstream stream),
          SIM_STRIDED(copy_3d, asynchronous, stream))
SIM_TWINS(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* c), SIM_STRIDED(copy_peer, synchronous, nullptr))
SIM_TWINS(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* c, CUstream stream),
          SIM_STRIDED(copy_peer, asynchronous, stream))
