// Memsets: of a line, and of rows (D2D8 and its kind, with the pitch in bytes and the width in elements).
#include "context.h"
#include "copy.h"

using namespace simcuda;

namespace {

template <typename Value>
CUresult set_rows(const StreamPtr& stream, CUdeviceptr to, std::size_t pitch, Value value, std::size_t count,
                  std::size_t rows, HostWait wait) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (count == 0 || rows == 0)
        return CUDA_SUCCESS;
    std::size_t width = 0;
    if (to % sizeof value || __builtin_mul_overflow(count, sizeof value, &width))
        return CUDA_ERROR_INVALID_VALUE;
    if (rows > 1 && (pitch < width || pitch % sizeof value))
        return CUDA_ERROR_INVALID_VALUE;
    Region region;
    if (const CUresult result = make_region(to, {.width = width, .height = rows}, pitch, pitch * rows, &region);
        result != CUDA_SUCCESS)
        return result;
    return fill(stream, region, value, sizeof value, wait);
}

}  // namespace

#define SIM_FILL(wait, stream) \
    return set_rows(find_stream(context, stream, meaning), to, 0, value, count, 1, HostWait::wait);
#define SIM_FILL_ROWS(wait, stream) \
    return set_rows(find_stream(context, stream, meaning), to, pitch, value, width, height, HostWait::wait);

// `bits` names the functions, `Value` is what they take.
#define SIM_MEMSETS(bits, Value)                                                                                       \
    SIM_ONE(cuMemsetD##bits, (CUdeviceptr_v1 to, Value value, unsigned count), SIM_FILL(synchronous, nullptr))         \
    SIM_TWINS(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr to, Value value, size_t count),                                \
              SIM_FILL(synchronous, nullptr))                                                                          \
    SIM_TWINS(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr to, Value value, size_t count, CUstream stream),             \
              SIM_FILL(asynchronous, stream))                                                                          \
    SIM_ONE(cuMemsetD2D##bits, (CUdeviceptr_v1 to, unsigned pitch, Value value, unsigned width, unsigned height),      \
            SIM_FILL_ROWS(synchronous, nullptr))                                                                       \
    SIM_TWINS(cuMemsetD2D##bits##_v2, _ptds, (CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height), \
              SIM_FILL_ROWS(synchronous, nullptr))                                                                     \
    SIM_TWINS(cuMemsetD2D##bits##Async, _ptsz,                                                                         \
              (CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height, CUstream stream),               \
              SIM_FILL_ROWS(asynchronous, stream))

SIM_MEMSETS(8, unsigned char)
SIM_MEMSETS(16, unsigned short)
SIM_MEMSETS(32, unsigned)
