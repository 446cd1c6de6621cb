#include "strided.h"

#include "arrays.h"

namespace simcuda {
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

std::uintptr_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

CUresult resolve(const CUDA_MEMCPY3D& c, End* to, End* from) {
    const Extent extent{c.WidthInBytes, c.Height, c.Depth};
    if (c.srcLOD != 0 || c.dstLOD != 0 || extent.width > kMaxPitch)
        return CUDA_ERROR_INVALID_VALUE;
    const Operand destination{c.dstMemoryType, address(c.dstHost), c.dstDevice, c.dstArray, c.dstXInBytes, c.dstY,
                              c.dstZ,          c.dstPitch,         c.dstHeight};
    const Operand source{c.srcMemoryType, address(c.srcHost), c.srcDevice, c.srcArray, c.srcXInBytes, c.srcY,
                         c.srcZ,          c.srcPitch,         c.srcHeight};
    if (const CUresult result = end_of(destination, extent, to); result != CUDA_SUCCESS)
        return result;
    return end_of(source, extent, from);
}

CUresult copy_strided(const StreamPtr& stream, const CUDA_MEMCPY3D& c, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (c.srcLOD != 0 || c.dstLOD != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (c.WidthInBytes == 0 || c.Height == 0 || c.Depth == 0)
        return CUDA_SUCCESS;
    End to, from;
    if (const CUresult result = resolve(c, &to, &from); result != CUDA_SUCCESS)
        return result;
    return copy(stream, to, from, wait, SourceOrder::usual, &c);
}

}  // namespace simcuda
