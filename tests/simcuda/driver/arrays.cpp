#include "arrays.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "memory.h"

namespace simcuda {
namespace {

struct Arrays {
    std::mutex mutex;
    std::vector<Array*> all;
};

Arrays& arrays() {
    static Arrays& instance = *new Arrays;
    return instance;
}

std::size_t channel_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

// cuda.h, cuArray3DCreate: a one-dimensional array has height and depth 0, a two-dimensional one depth 0; in a layered
// array the depth counts layers, in a cubemap the six faces.
bool valid(const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
    constexpr unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                               CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT;
    if (wanted.Width == 0 || (wanted.Flags & ~known))
        return false;
    if (wanted.NumChannels != 1 && wanted.NumChannels != 2 && wanted.NumChannels != 4)
        return false;
    if (wanted.Height == 0 && wanted.Depth != 0 && !(wanted.Flags & CUDA_ARRAY3D_LAYERED))
        return false;
    if ((wanted.Flags & CUDA_ARRAY3D_LAYERED) && wanted.Depth == 0)
        return false;
    if ((wanted.Flags & CUDA_ARRAY3D_CUBEMAP) && (wanted.Width != wanted.Height || wanted.Depth % 6 != 0))
        return false;
    constexpr std::size_t most = 1 << 17;  // beyond every limit of cuda.h's table, and far from an overflow
    return wanted.Width <= most && wanted.Height <= most && wanted.Depth <= most;
}

void discard(Array* array) {
    unmap_device(array->context->device, array->memory, array->bytes());
    delete array;
}

}  // namespace

CUresult create_array(Context* context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, CUarray* out) {
    const std::size_t channel = channel_bytes(descriptor.Format);
    if (channel == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!valid(descriptor))
        return CUDA_ERROR_INVALID_VALUE;
    Array array{.context = context, .descriptor = descriptor};
    array.element = channel * descriptor.NumChannels;
    array.row = array.element * descriptor.Width;
    array.rows = std::max<std::size_t>(descriptor.Height, 1);
    array.slices = std::max<std::size_t>(descriptor.Depth, 1);
    array.memory = map_device(context->device, array.bytes());
    if (!array.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    auto* made = new Array(array);
    std::lock_guard lock(arrays().mutex);
    arrays().all.push_back(made);
    *out = reinterpret_cast<CUarray>(made);
    return CUDA_SUCCESS;
}

CUresult destroy_array(CUarray handle) {
    auto* array = reinterpret_cast<Array*>(handle);
    {
        std::lock_guard lock(arrays().mutex);
        if (std::erase(arrays().all, array) == 0)
            return CUDA_ERROR_INVALID_HANDLE;
    }
    discard(array);
    return CUDA_SUCCESS;
}

void free_context_arrays(Context* context) {
    std::lock_guard lock(arrays().mutex);
    std::erase_if(arrays().all, [&](Array* array) {
        if (array->context != context)
            return false;
        discard(array);
        return true;
    });
}

const Array* find_array(CUarray handle) {
    std::lock_guard lock(arrays().mutex);
    const auto& all = arrays().all;
    const auto* array = reinterpret_cast<const Array*>(handle);
    return std::find(all.begin(), all.end(), array) != all.end() ? array : nullptr;
}

CUresult array_region(const Array& array, std::size_t x, std::size_t y, std::size_t z, const Extent& extent,
                      Region* out) {
    if (x % array.element || extent.width % array.element)
        return CUDA_ERROR_INVALID_VALUE;
    const auto inside = [](std::size_t first, std::size_t count, std::size_t all) {
        return first <= all && count <= all - first;
    };
    if (!inside(x, extent.width, array.row) || !inside(y, extent.height, array.rows) ||
        !inside(z, extent.depth, array.slices))
        return CUDA_ERROR_INVALID_VALUE;
    const auto base = reinterpret_cast<std::uintptr_t>(array.memory);
    const Range range{
        .base = base, .size = array.bytes(), .kind = Kind::device, .context = array.context, .array = true};
    const std::size_t slice = array.row * array.rows;
    *out = region_inside(range, base + z * slice + y * array.row + x, extent, array.row, slice);
    return CUDA_SUCCESS;
}

CUresult array_line(const Array& array, std::size_t offset, std::size_t size, Region* out) {
    if (array.descriptor.Height != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (offset % array.element || size % array.element || offset > array.bytes() || size > array.bytes() - offset)
        return CUDA_ERROR_INVALID_VALUE;
    const auto base = reinterpret_cast<std::uintptr_t>(array.memory);
    const Range range{
        .base = base, .size = array.bytes(), .kind = Kind::device, .context = array.context, .array = true};
    *out = region_inside(range, base + offset, {.width = size}, size, size);
    return CUDA_SUCCESS;
}

}  // namespace simcuda
