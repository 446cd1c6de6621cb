// Copies to, from and between arrays: rectangles, and the older functions that run on from row to row.
#include <algorithm>

#include "copy.h"

using namespace simcudart;

namespace {

// One end of a copy: an array with an offset in bytes and rows, or plain memory.
struct Place {
    cudaArray_const_t array = nullptr;
    std::size_t x = 0, y = 0;
    const void* memory = nullptr;
    std::size_t pitch = 0;
    CUmemorytype type = CU_MEMORYTYPE_UNIFIED;  // of the memory
};

CUresult copy_rectangle(const Route& route, const Place& to, const Place& from, std::size_t width, std::size_t height) {
    CUDA_MEMCPY2D c{};
    c.dstXInBytes = to.x;
    c.dstY = to.y;
    c.dstMemoryType = to.array ? CU_MEMORYTYPE_ARRAY : to.type;
    c.dstArray = driver_array(to.array);
    c.dstHost = const_cast<void*>(to.memory);
    c.dstDevice = device_address(to.memory);
    c.dstPitch = to.pitch;
    c.srcXInBytes = from.x;
    c.srcY = from.y;
    c.srcMemoryType = from.array ? CU_MEMORYTYPE_ARRAY : from.type;
    c.srcArray = driver_array(from.array);
    c.srcHost = from.memory;
    c.srcDevice = device_address(from.memory);
    c.srcPitch = from.pitch;
    c.WidthInBytes = width;
    c.Height = height;
    return copy_2d(route, c);
}

// Whole rows at once where both ends are at the begin of one.
CUresult copy_running(const Route& route, Place to, Place from, std::size_t size) {
    ArrayShape shape_to, shape_from;
    CUresult result = to.array ? array_shape(to.array, &shape_to) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && from.array)
        result = array_shape(from.array, &shape_from);
    const auto left_in_row = [](const Place& place, const ArrayShape& shape) {
        return place.array ? shape.row - std::min(place.x, shape.row) : ~std::size_t{0};
    };
    const auto advance = [](Place* place, const ArrayShape& shape, std::size_t width, std::size_t rows) {
        if (!place->array) {
            place->memory = static_cast<const char*>(place->memory) + width * rows;
            return;
        }
        place->x += width;
        place->y += rows - 1;
        if (place->x == shape.row) {
            place->x = 0;
            ++place->y;
        }
    };
    while (result == CUDA_SUCCESS && size > 0) {
        const std::size_t width = std::min({left_in_row(to, shape_to), left_in_row(from, shape_from), size});
        if (width == 0)
            return CUDA_ERROR_INVALID_VALUE;
        const auto whole = [&](const Place& place, const ArrayShape& shape) {
            return !place.array || (place.x == 0 && shape.row == width);
        };
        const std::size_t rows = whole(to, shape_to) && whole(from, shape_from) ? size / width : 1;
        to.pitch = from.pitch = width;
        result = copy_rectangle(route, to, from, width, rows);
        if (result != CUDA_SUCCESS)
            return result;
        advance(&to, shape_to, width, rows);
        advance(&from, shape_from, width, rows);
        size -= width * rows;
    }
    return result;
}

// The memory type of the end that is no array: the kind may name what can be there, or leave it open.
bool memory_type(cudaMemcpyKind kind, bool to_array, CUmemorytype* out) {
    CUmemorytype to{}, from{};
    if (!memory_types(kind, &to, &from) || kind == cudaMemcpyHostToHost)
        return false;
    if (kind != cudaMemcpyDefault && (to_array ? to : from) != CU_MEMORYTYPE_DEVICE)
        return false;
    *out = to_array ? from : to;
    return true;
}

enum class Shape { rectangle, running };

cudaError_t to_array(const Route& route, Shape shape, cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                     std::size_t pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    Place source{.memory = from, .pitch = pitch};
    if (!memory_type(kind, true, &source.type))
        return finish(cudaErrorInvalidMemcpyDirection);
    if (shape == Shape::rectangle && width > pitch)
        return finish(cudaErrorInvalidPitchValue);
    const Place destination{.array = to, .x = x, .y = y};
    return finish(shape == Shape::rectangle ? copy_rectangle(route, destination, source, width, height)
                                            : copy_running(route, destination, source, width));
}

cudaError_t from_array(const Route& route, Shape shape, void* to, std::size_t pitch, cudaArray_const_t from,
                       std::size_t x, std::size_t y, std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    Place destination{.memory = to, .pitch = pitch};
    if (!memory_type(kind, false, &destination.type))
        return finish(cudaErrorInvalidMemcpyDirection);
    if (shape == Shape::rectangle && width > pitch)
        return finish(cudaErrorInvalidPitchValue);
    const Place source{.array = from, .x = x, .y = y};
    return finish(shape == Shape::rectangle ? copy_rectangle(route, destination, source, width, height)
                                            : copy_running(route, destination, source, width));
}

cudaError_t between_arrays(bool per_thread, Shape shape, const Place& to, const Place& from, std::size_t width,
                           std::size_t height, cudaMemcpyKind kind) {
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return finish(cudaErrorInvalidMemcpyDirection);
    const Route route{per_thread, true, nullptr};
    return finish(shape == Shape::rectangle ? copy_rectangle(route, to, from, width, height)
                                            : copy_running(route, to, from, width));
}

}  // namespace

RT_TWINS(cudaMemcpy2DToArray, _ptds,
         (cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
          cudaMemcpyKind kind),
         {
             return to_array({per_thread, true, nullptr}, Shape::rectangle, to, x, y, from, pitch, width, height, kind);
         })
RT_TWINS(cudaMemcpy2DToArrayAsync, _ptsz,
         (cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
          cudaMemcpyKind kind, cudaStream_t stream),
         {
             return to_array({per_thread, false, stream}, Shape::rectangle, to, x, y, from, pitch, width, height, kind);
         })
RT_TWINS(
    cudaMemcpy2DFromArray, _ptds,
    (void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
     cudaMemcpyKind kind),
    {
        return from_array({per_thread, true, nullptr}, Shape::rectangle, to, pitch, from, x, y, width, height, kind);
    })
RT_TWINS(
    cudaMemcpy2DFromArrayAsync, _ptsz,
    (void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
     cudaMemcpyKind kind, cudaStream_t stream),
    {
        return from_array({per_thread, false, stream}, Shape::rectangle, to, pitch, from, x, y, width, height, kind);
    })
RT_TWINS(cudaMemcpy2DArrayToArray, _ptds,
         (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y, size_t width,
          size_t height, cudaMemcpyKind kind),
         {
             return between_arrays(per_thread, Shape::rectangle, {.array = to, .x = to_x, .y = to_y},
                                   {.array = from, .x = from_x, .y = from_y}, width, height, kind);
         })

RT_TWINS(cudaMemcpyToArray, _ptds,
         (cudaArray_t to, size_t x, size_t y, const void* from, size_t size, cudaMemcpyKind kind), {
             return to_array({per_thread, true, nullptr}, Shape::running, to, x, y, from, 0, size, 1, kind);
         })
RT_TWINS(cudaMemcpyToArrayAsync, _ptsz,
         (cudaArray_t to, size_t x, size_t y, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream),
         {
             return to_array({per_thread, false, stream}, Shape::running, to, x, y, from, 0, size, 1, kind);
         })
RT_TWINS(cudaMemcpyFromArray, _ptds,
         (void* to, cudaArray_const_t from, size_t x, size_t y, size_t size, cudaMemcpyKind kind), {
             return from_array({per_thread, true, nullptr}, Shape::running, to, 0, from, x, y, size, 1, kind);
         })
RT_TWINS(cudaMemcpyFromArrayAsync, _ptsz,
         (void* to, cudaArray_const_t from, size_t x, size_t y, size_t size, cudaMemcpyKind kind, cudaStream_t stream),
         {
             return from_array({per_thread, false, stream}, Shape::running, to, 0, from, x, y, size, 1, kind);
         })
RT_TWINS(cudaMemcpyArrayToArray, _ptds,
         (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y, size_t size,
          cudaMemcpyKind kind),
         {
             return between_arrays(per_thread, Shape::running, {.array = to, .x = to_x, .y = to_y},
                                   {.array = from, .x = from_x, .y = from_y}, size, 1, kind);
         })
