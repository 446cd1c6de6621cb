// Strided memory: rows of bytes, as the 2D and 3D copies and memsets describe them. Plain memory is one long row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace simcuda {

// In bytes, rows and slices. None is zero.
struct Extent {
    std::size_t width = 0;
    std::size_t height = 1;
    std::size_t depth = 1;
};

// A sequence of bytes in the order x, y, z. `position` counts along that sequence, without the gaps between the rows,
// so that two regions of different pitch can be walked together.
struct Region {
    Span span;              // from the first byte to the last one, gaps included
    std::size_t width = 0;  // of one contiguous piece, bytes
    std::size_t rows = 1;   // pieces in a slice
    std::size_t pitch = 0;  // from one piece to the next, bytes
    std::size_t slice = 0;  // from one slice to the next, bytes
    std::size_t bytes = 0;  // without the gaps

    // The contiguous piece at the position, `limit` bytes at most.
    Span piece(std::size_t position, std::size_t limit) const;
};

// CUDA_ERROR_INVALID_VALUE when the memory is only partly inside a known range, or the numbers overflow. Pitch and
// slice are at least as large as what they hold.
CUresult make_region(std::uintptr_t address, const Extent& extent, std::size_t pitch, std::size_t slice, Region* out);

// Memory whose range is known already: a staging buffer, an array.
Region region_inside(const Range& range, std::uintptr_t address, const Extent& extent, std::size_t pitch,
                     std::size_t slice);

}  // namespace simcuda
