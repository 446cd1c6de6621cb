// CUDA arrays: device memory with dimensions and without an address. They are stored row by row; the layout of a real
// array is unknown to the program.
#pragma once

#include <cstddef>

#include "context.h"
#include "region.h"

namespace simcuda {

struct Array {
    Context* context = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};  // as asked for: unused dimensions are 0
    std::size_t element = 0;               // bytes
    std::size_t row = 0;                   // bytes
    std::size_t rows = 1;
    std::size_t slices = 1;
    char* memory = nullptr;

    std::size_t bytes() const { return row * rows * slices; }
};

// CUDA_ERROR_INVALID_VALUE for dimensions that make no array, CUDA_ERROR_NOT_SUPPORTED for formats whose elements are
// not of 8, 16 or 32 bit a channel.
CUresult create_array(Context* context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, CUarray* out);

// CUDA_ERROR_INVALID_HANDLE when it is none. The caller has waited for the device.
CUresult destroy_array(CUarray handle);
void free_context_arrays(Context* context);

// Null when the handle is none of ours.
const Array* find_array(CUarray handle);

// Part of an array; x and the width are in bytes. CUDA_ERROR_INVALID_VALUE unless they are whole elements inside it.
CUresult array_region(const Array& array, std::size_t x, std::size_t y, std::size_t z, const Extent& extent,
                      Region* out);

// Bytes of a one-dimensional array, for the functions that know arrays as one line only. CUDA_ERROR_INVALID_VALUE for
// an array with rows (cuda.h, cuMemcpyHtoA and the others: "1D CUDA array"; measured with a two-dimensional array:
// H200, driver 580.159.04), and unless they are whole elements inside it.
CUresult array_line(const Array& array, std::size_t offset, std::size_t size, Region* out);

}  // namespace simcuda
