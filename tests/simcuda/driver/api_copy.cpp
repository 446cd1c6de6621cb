// Copies and memsets. The functions without suffix take 32-bit device addresses and sizes (CUDA 2 and 3.0); such an
// address reaches memory only with SIMCUDA_LOW_ADDRESSES, as only then does any lie below 4 GiB.
#include "context.h"
#include "copy.h"

using namespace simcuda;

namespace {

std::uintptr_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}
std::uintptr_t address(CUdeviceptr pointer) {
    return pointer;
}
std::uintptr_t address(CUdeviceptr_v1 pointer) {
    return pointer;
}

}  // namespace

// `stream` is 0 for the synchronous calls: they go through the default stream.
#define SIM_COPY(ends, wait, destination, source, size, stream)                                                 \
    return copy(find_stream(context, stream, meaning), address(destination), address(source), size, Ends::ends, \
                HostWait::wait);

#define SIM_ONE(symbol, parameters, ...)                \
    SIM_EXPORT CUresult symbol parameters {             \
        constexpr auto meaning = DefaultStream::legacy; \
        SIM_CONTEXT(symbol);                            \
        __VA_ARGS__                                     \
    }

SIM_ONE(cuMemcpyHtoD, (CUdeviceptr_v1 to, const void* from, unsigned size),
        SIM_COPY(h2d, synchronous, to, from, size, nullptr))
SIM_ONE(cuMemcpyDtoH, (void* to, CUdeviceptr_v1 from, unsigned size),
        SIM_COPY(d2h, synchronous, to, from, size, nullptr))
SIM_ONE(cuMemcpyHtoDAsync, (CUdeviceptr_v1 to, const void* from, unsigned size, CUstream stream),
        SIM_COPY(h2d, asynchronous, to, from, size, stream))
SIM_ONE(cuMemcpyDtoHAsync, (void* to, CUdeviceptr_v1 from, unsigned size, CUstream stream),
        SIM_COPY(d2h, asynchronous, to, from, size, stream))

SIM_TWINS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t size),
          SIM_COPY(h2d, synchronous, to, from, size, nullptr))
SIM_TWINS(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t size),
          SIM_COPY(d2h, synchronous, to, from, size, nullptr))
SIM_TWINS(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void* from, size_t size, CUstream stream),
          SIM_COPY(h2d, asynchronous, to, from, size, stream))
SIM_TWINS(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, CUdeviceptr from, size_t size, CUstream stream),
          SIM_COPY(d2h, asynchronous, to, from, size, stream))
SIM_TWINS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size),
          SIM_COPY(d2d, synchronous, to, from, size, nullptr))
SIM_TWINS(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
          SIM_COPY(d2d, asynchronous, to, from, size, stream))
SIM_TWINS(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size),
          SIM_COPY(any, synchronous, to, from, size, nullptr))
SIM_TWINS(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
          SIM_COPY(any, asynchronous, to, from, size, stream))

#define SIM_FILL(wait, width, stream) \
    return fill(find_stream(context, stream, meaning), to, value, width, count, HostWait::wait);

SIM_TWINS(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count), SIM_FILL(synchronous, 1, nullptr))
SIM_TWINS(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t count),
          SIM_FILL(synchronous, 2, nullptr))
SIM_TWINS(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned value, size_t count), SIM_FILL(synchronous, 4, nullptr))
SIM_TWINS(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
          SIM_FILL(asynchronous, 1, stream))
SIM_TWINS(cuMemsetD16Async, _ptsz, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
          SIM_FILL(asynchronous, 2, stream))
SIM_TWINS(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
          SIM_FILL(asynchronous, 4, stream))
