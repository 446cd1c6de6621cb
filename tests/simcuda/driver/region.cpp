#include "region.h"

#include <algorithm>

namespace simcuda {
namespace {

// Rows without gaps are one row: fewer pieces to copy.
Region shape(const Span& span, const Extent& extent, std::size_t pitch, std::size_t slice) {
    Region region{.span = span,
                  .width = extent.width,
                  .rows = extent.height,
                  .pitch = pitch,
                  .slice = slice,
                  .bytes = extent.width * extent.height * extent.depth};
    if (extent.height == 1 || pitch == extent.width) {
        region.width = extent.width * extent.height;
        region.rows = 1;
    }
    if (region.rows == 1 && (extent.depth == 1 || slice == region.width))
        region.width = region.bytes;
    return region;
}

std::size_t length(const Extent& extent, std::size_t pitch, std::size_t slice) {
    return (extent.depth - 1) * slice + (extent.height - 1) * pitch + extent.width;
}

bool overflows(std::uintptr_t address, const Extent& extent, std::size_t pitch, std::size_t slice) {
    std::size_t slices = 0, rows = 0, end = 0;
    return __builtin_mul_overflow(extent.depth - 1, slice, &slices) ||
           __builtin_mul_overflow(extent.height - 1, pitch, &rows) || __builtin_add_overflow(slices, rows, &end) ||
           __builtin_add_overflow(end, extent.width, &end) || __builtin_add_overflow(end, address, &end);
}

}  // namespace

Span Region::piece(std::size_t position, std::size_t limit) const {
    const std::size_t row = position / width;
    const std::size_t column = position % width;
    const std::uintptr_t address = span.address + row / rows * slice + row % rows * pitch + column;
    return {address, std::min(width - column, limit), span.range};
}

CUresult make_region(std::uintptr_t address, const Extent& extent, std::size_t pitch, std::size_t slice, Region* out) {
    if (overflows(address, extent, pitch, slice))
        return CUDA_ERROR_INVALID_VALUE;
    Span span;
    if (const CUresult result = classify(address, length(extent, pitch, slice), &span); result != CUDA_SUCCESS)
        return result;
    *out = shape(span, extent, pitch, slice);
    return CUDA_SUCCESS;
}

Region region_inside(const Range& range, std::uintptr_t address, const Extent& extent, std::size_t pitch,
                     std::size_t slice) {
    return shape({address, length(extent, pitch, slice), range}, extent, pitch, slice);
}

}  // namespace simcuda
