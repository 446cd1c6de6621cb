#include "memcpy_node.h"

#include "calls.h"
#include "host_access.h"
#include "strided.h"
#include "transfer.h"

namespace simcuda {
namespace {

CUmemorytype type_of(Side side) {
    switch (side) {
        case Side::host:
            return CU_MEMORYTYPE_HOST;
        case Side::device:
            return CU_MEMORYTYPE_DEVICE;
        case Side::unified:
            break;
    }
    return CU_MEMORYTYPE_UNIFIED;
}

}  // namespace

CUresult region_of(const CUDA_MEMSET_NODE_PARAMS& fill, Region* out) {
    const std::size_t row = fill.width * fill.elementSize;
    const std::size_t pitch = fill.height > 1 ? fill.pitch : row;
    return make_region(fill.dst, {.width = row, .height = fill.height}, pitch, pitch * fill.height, out);
}

CUDA_MEMCPY3D plain_copy(std::uintptr_t to, Side to_side, std::uintptr_t from, Side from_side, std::size_t size) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = type_of(from_side);
    copy.dstMemoryType = type_of(to_side);
    if (from_side == Side::host)
        copy.srcHost = reinterpret_cast<const void*>(from);
    else
        copy.srcDevice = from;
    if (to_side == Side::host)
        copy.dstHost = reinterpret_cast<void*>(to);
    else
        copy.dstDevice = to;
    copy.srcHeight = copy.dstHeight = 1;
    copy.WidthInBytes = size;
    copy.Height = copy.Depth = 1;
    return copy;
}

CUresult check_copy(const CUDA_MEMCPY3D& copy) {
    if (copy.reserved0 || copy.reserved1 || bytes_of(copy) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    End to, from;
    if (const CUresult result = resolve(copy, &to, &from); result != CUDA_SUCCESS)
        return result;
    for (const End* end : {&to, &from})
        if (end->side == Side::device)
            if (const CUresult result = check_device_access(end->region.span); result != CUDA_SUCCESS)
                return result;
    return CUDA_SUCCESS;
}

CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill) {
    const bool known_width = fill.elementSize == 1 || fill.elementSize == 2 || fill.elementSize == 4;
    if (!fill.dst || !known_width || fill.width == 0 || fill.height == 0 || fill.dst % fill.elementSize)
        return CUDA_ERROR_INVALID_VALUE;
    if (fill.height > 1 && (fill.pitch < fill.width * fill.elementSize || fill.pitch % fill.elementSize))
        return CUDA_ERROR_INVALID_VALUE;
    Region region;
    if (const CUresult result = region_of(fill, &region); result != CUDA_SUCCESS)
        return result;
    return check_device_access(region.span);
}

Direction direction_of(const CUDA_MEMCPY3D& copy) {
    End to, from;
    return resolve(copy, &to, &from) == CUDA_SUCCESS ? direction_of(to, from) : Direction::d2d;
}

std::size_t bytes_of(const CUDA_MEMCPY3D& copy) {
    return copy.WidthInBytes * copy.Height * copy.Depth;
}

void run_copy(const CUDA_MEMCPY3D& copy) {
    End to, from;
    if (resolve(copy, &to, &from) != CUDA_SUCCESS)
        return;
    count_copy(counted_direction(to, from), to.region.bytes);
    transfer(to.region, 0, from.region, 0, to.region.bytes, direction_of(to, from));
}

void run_fill(const CUDA_MEMSET_NODE_PARAMS& fill) {
    Region region;
    if (region_of(fill, &region) == CUDA_SUCCESS)
        fill_region(region, fill.value, fill.elementSize);
}

std::optional<CopyRegions> copy_of(const NodeParams& params) {
    End to, from;
    if (const auto* opaque = std::get_if<OpaqueNode>(&params); opaque && opaque->copy)
        return *opaque->copy;
    if (const auto* node = std::get_if<MemcpyNode>(&params); node && resolve(node->copy, &to, &from) == CUDA_SUCCESS)
        return CopyRegions{to.region, from.region, direction_of(to, from)};
    return std::nullopt;
}

std::optional<CopyRegions> host_copy(const NodeParams& params) {
    const std::optional<CopyRegions> regions = copy_of(params);
    if (!regions)
        return std::nullopt;
    // Memory that is gone is left to the engine, which survives it.
    const auto there = [](const Span& span, bool writable) {
        return span.range || mapped(reinterpret_cast<const void*>(span.address), span.size, writable);
    };
    if (!needs_host(regions->to, regions->from) || !there(regions->to.span, true) || !there(regions->from.span, false))
        return std::nullopt;
    return regions;
}

}  // namespace simcuda
