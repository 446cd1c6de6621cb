// Batches of copies. CUDA 12.8's functions say which copy failed, CUDA 13's do not. A batch has to be right as a whole
// before any of it is issued; its copies are issued in their order, though the program may not rely on it.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays.h"
#include "capture.h"
#include "context.h"
#include "copy.h"

using namespace simcuda;

#if CUDA_VERSION >= 12080

namespace {

struct BatchCopy {
    End to, from;
    SourceOrder order;
};

// The index of the copy that is wrong, SIZE_MAX for an error of the call.
struct Failure {
    std::size_t* index;
    CUresult at(std::size_t copy, CUresult result) const {
        if (index)
            *index = copy;
        return result;
    }
    CUresult whole(CUresult result) const { return at(SIZE_MAX, result); }
};

bool order_of(CUmemcpySrcAccessOrder wanted, SourceOrder* out) {
    switch (wanted) {
        case CU_MEMCPY_SRC_ACCESS_ORDER_STREAM:
            *out = SourceOrder::stream;
            return true;
        case CU_MEMCPY_SRC_ACCESS_ORDER_ANY:
            *out = SourceOrder::any;
            return true;
        case CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL:
            *out = SourceOrder::during_call;
            return true;
        default:
            return false;
    }
}

bool known_flags(unsigned flags) {
    return (flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) == 0;
}

// The legacy default stream is not allowed (cuda.h, cuMemcpyBatchAsync). A capturing stream refuses the call and goes
// on capturing (as reported for CUDA 13 in rapidsai/rmm#2518).
CUresult check_stream(const StreamPtr& stream, std::size_t count) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->legacy || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return capturing(stream) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult issue_all(const StreamPtr& stream, const std::vector<BatchCopy>& copies, const Failure& failure) {
    for (std::size_t i = 0; i < copies.size(); ++i)
        if (const CUresult result = copy(stream, copies[i].to, copies[i].from, HostWait::asynchronous, copies[i].order);
            result != CUDA_SUCCESS)
            return failure.at(i, result);
    return CUDA_SUCCESS;
}

CUresult linear_end(CUdeviceptr address, std::size_t size, End* out) {
    out->side = Side::unified;
    return address && size ? make_region(address, {.width = size}, size, size, &out->region) : CUDA_ERROR_INVALID_VALUE;
}

CUresult batch(const StreamPtr& stream, const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* sizes,
               std::size_t count, const CUmemcpyAttributes* attributes, const std::size_t* firsts,
               std::size_t attribute_count, const Failure& failure) {
    if (const CUresult result = check_stream(stream, count); result != CUDA_SUCCESS)
        return failure.whole(result);
    if (!to || !from || !sizes || !attributes || !firsts || attribute_count == 0 || attribute_count > count ||
        firsts[0] != 0)
        return failure.whole(CUDA_ERROR_INVALID_VALUE);
    for (std::size_t k = 0; k < attribute_count; ++k) {
        SourceOrder ignored;
        if ((k > 0 && firsts[k] <= firsts[k - 1]) || firsts[k] >= count || !known_flags(attributes[k].flags) ||
            !order_of(attributes[k].srcAccessOrder, &ignored))
            return failure.whole(CUDA_ERROR_INVALID_VALUE);
    }
    std::vector<BatchCopy> copies(count);
    for (std::size_t i = 0, k = 0; i < count; ++i) {
        if (k + 1 < attribute_count && firsts[k + 1] == i)
            ++k;
        order_of(attributes[k].srcAccessOrder, &copies[i].order);
        if (const CUresult result = linear_end(to[i], sizes[i], &copies[i].to); result != CUDA_SUCCESS)
            return failure.at(i, result);
        if (const CUresult result = linear_end(from[i], sizes[i], &copies[i].from); result != CUDA_SUCCESS)
            return failure.at(i, result);
    }
    return issue_all(stream, copies, failure);
}

// Extents, offsets and row lengths are in elements: the array's, or bytes where there is none.
CUresult end_of(const CUmemcpy3DOperand& operand, const CUextent3D& extent, std::size_t element, End* out) {
    const Extent bytes{extent.width * element, extent.height, extent.depth};
    if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        const Array* array = find_array(operand.op.array.array);
        const CUoffset3D& offset = operand.op.array.offset;
        out->side = Side::device;
        return array ? array_region(*array, offset.x * element, offset.y, offset.z, bytes, &out->region)
                     : CUDA_ERROR_INVALID_VALUE;
    }
    if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER || !operand.op.ptr.ptr)
        return CUDA_ERROR_INVALID_VALUE;
    const std::size_t row = operand.op.ptr.rowLength ? operand.op.ptr.rowLength : extent.width;
    const std::size_t layer = operand.op.ptr.layerHeight ? operand.op.ptr.layerHeight : extent.height;
    std::size_t pitch = 0, slice = 0;
    if (row < extent.width || layer < extent.height || __builtin_mul_overflow(row, element, &pitch) ||
        __builtin_mul_overflow(pitch, layer, &slice))
        return CUDA_ERROR_INVALID_VALUE;
    out->side = Side::unified;
    return make_region(operand.op.ptr.ptr, bytes, pitch, slice, &out->region);
}

// 0 for a handle that is no array.
std::size_t element_of(const CUmemcpy3DOperand& operand) {
    if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return 1;
    const Array* array = find_array(operand.op.array.array);
    return array ? array->element : 0;
}

CUresult prepare(const CUDA_MEMCPY3D_BATCH_OP& wanted, BatchCopy* out) {
    const CUextent3D& extent = wanted.extent;
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0 || !known_flags(wanted.flags) ||
        !order_of(wanted.srcAccessOrder, &out->order))
        return CUDA_ERROR_INVALID_VALUE;
    const std::size_t to = element_of(wanted.dst), from = element_of(wanted.src);
    const bool arrays =
        wanted.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY && wanted.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
    std::size_t width = 0;
    if (to == 0 || from == 0 || (arrays && to != from) ||
        __builtin_mul_overflow(extent.width, std::max(to, from), &width))
        return CUDA_ERROR_INVALID_VALUE;
    const std::size_t element = std::max(to, from);
    if (const CUresult result = end_of(wanted.dst, extent, element, &out->to); result != CUDA_SUCCESS)
        return result;
    return end_of(wanted.src, extent, element, &out->from);
}

CUresult batch_3d(const StreamPtr& stream, const CUDA_MEMCPY3D_BATCH_OP* list, std::size_t count,
                  unsigned long long flags, const Failure& failure) {
    if (const CUresult result = check_stream(stream, count); result != CUDA_SUCCESS)
        return failure.whole(result);
    if (!list || flags != 0)
        return failure.whole(CUDA_ERROR_INVALID_VALUE);
    std::vector<BatchCopy> copies(count);
    for (std::size_t i = 0; i < count; ++i)
        if (const CUresult result = prepare(list[i], &copies[i]); result != CUDA_SUCCESS)
            return failure.at(i, result);
    return issue_all(stream, copies, failure);
}

}  // namespace

SIM_TWINS(cuMemcpyBatchAsync, _ptsz,
          (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
           size_t* firsts, size_t attribute_count, size_t* failed, CUstream stream),
          {
              return batch(find_stream(context, stream, meaning), to, from, sizes, count, attributes, firsts,
                           attribute_count, {failed});
          })
SIM_TWINS(cuMemcpy3DBatchAsync, _ptsz,
          (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed, unsigned long long flags, CUstream stream),
          { return batch_3d(find_stream(context, stream, meaning), list, count, flags, {failed}); })

#if CUDA_VERSION >= 13000
SIM_TWINS(cuMemcpyBatchAsync_v2, _ptsz,
          (CUdeviceptr * to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
           size_t* firsts, size_t attribute_count, CUstream stream),
          {
              return batch(find_stream(context, stream, meaning), to, from, sizes, count, attributes, firsts,
                           attribute_count, {nullptr});
          })
SIM_TWINS(cuMemcpy3DBatchAsync_v2, _ptsz,
          (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags, CUstream stream),
          { return batch_3d(find_stream(context, stream, meaning), list, count, flags, {nullptr}); })
#endif

#endif
