// Copies of contiguous memory. The functions without suffix take 32-bit device addresses and sizes (CUDA 2 and 3.0);
// such an address reaches memory only with SIMCUDA_LOW_ADDRESSES, as only then does any lie below 4 GiB.
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

// With unified addressing the contexts say nothing new: an address belongs to one device.
CUresult peer_copy(const StreamPtr& stream, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                   CUcontext from_context, std::size_t size, HostWait wait) {
    if (!find_context(to_context) || !find_context(from_context))
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy(stream, to, Side::device, from, Side::device, size, wait);
}

}  // namespace

// `stream` is null for the synchronous calls: they go through the default stream.
#define SIM_COPY(to_side, from_side, wait, stream)                                                                 \
    return copy(find_stream(context, stream, meaning), address(to), Side::to_side, address(from), Side::from_side, \
                size, HostWait::wait);

SIM_ONE(cuMemcpyHtoD, (CUdeviceptr_v1 to, const void* from, unsigned size),
        SIM_COPY(device, host, synchronous, nullptr))
SIM_ONE(cuMemcpyDtoH, (void* to, CUdeviceptr_v1 from, unsigned size), SIM_COPY(host, device, synchronous, nullptr))
SIM_ONE(cuMemcpyDtoD, (CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned size),
        SIM_COPY(device, device, synchronous, nullptr))
SIM_ONE(cuMemcpyHtoDAsync, (CUdeviceptr_v1 to, const void* from, unsigned size, CUstream stream),
        SIM_COPY(device, host, asynchronous, stream))
SIM_ONE(cuMemcpyDtoHAsync, (void* to, CUdeviceptr_v1 from, unsigned size, CUstream stream),
        SIM_COPY(host, device, asynchronous, stream))
SIM_ONE(cuMemcpyDtoDAsync, (CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned size, CUstream stream),
        SIM_COPY(device, device, asynchronous, stream))

SIM_TWINS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t size),
          SIM_COPY(device, host, synchronous, nullptr))
SIM_TWINS(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t size),
          SIM_COPY(host, device, synchronous, nullptr))
SIM_TWINS(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void* from, size_t size, CUstream stream),
          SIM_COPY(device, host, asynchronous, stream))
SIM_TWINS(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, CUdeviceptr from, size_t size, CUstream stream),
          SIM_COPY(host, device, asynchronous, stream))
SIM_TWINS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size),
          SIM_COPY(device, device, synchronous, nullptr))
SIM_TWINS(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
          SIM_COPY(device, device, asynchronous, stream))
SIM_TWINS(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size),
          SIM_COPY(unified, unified, synchronous, nullptr))
SIM_TWINS(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
          SIM_COPY(unified, unified, asynchronous, stream))

SIM_TWINS(cuMemcpyPeer, _ptds,
          (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size), {
              return peer_copy(find_stream(context, nullptr, meaning), to, to_context, from, from_context, size,
                               HostWait::synchronous);
          })
SIM_TWINS(cuMemcpyPeerAsync, _ptsz,
          (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
           CUstream stream),
          {
              return peer_copy(find_stream(context, stream, meaning), to, to_context, from, from_context, size,
                               HostWait::asynchronous);
          })
