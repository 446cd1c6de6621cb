// 2D and 3D copies. The structures of the different versions have the same members, the first ones with 32 bits; so has
// the one for copies between contexts.
#include "context.h"
#include "strided.h"

using namespace simcuda;

namespace {

template <typename Copy>
void widen(const Copy& c, CUDA_MEMCPY3D* out) {
    out->srcXInBytes = c.srcXInBytes;
    out->srcY = c.srcY;
    out->srcMemoryType = c.srcMemoryType;
    out->srcHost = c.srcHost;
    out->srcDevice = c.srcDevice;
    out->srcArray = c.srcArray;
    out->srcPitch = c.srcPitch;
    out->dstXInBytes = c.dstXInBytes;
    out->dstY = c.dstY;
    out->dstMemoryType = c.dstMemoryType;
    out->dstHost = c.dstHost;
    out->dstDevice = c.dstDevice;
    out->dstArray = c.dstArray;
    out->dstPitch = c.dstPitch;
    out->WidthInBytes = c.WidthInBytes;
    out->Height = c.Height;
}

// Every version has the members of the largest one; what a 2D copy does not have is the first slice.
template <typename Copy2D>
CUresult copy_2d(const StreamPtr& stream, const Copy2D* c, HostWait wait) {
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D whole{};
    widen(*c, &whole);
    whole.Depth = 1;
    return copy_strided(stream, whole, wait);
}

template <typename Copy3D>
CUresult copy_3d(const StreamPtr& stream, const Copy3D* c, HostWait wait) {
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D whole{};
    widen(*c, &whole);
    whole.srcZ = c->srcZ;
    whole.srcLOD = c->srcLOD;
    whole.srcHeight = c->srcHeight;
    whole.dstZ = c->dstZ;
    whole.dstLOD = c->dstLOD;
    whole.dstHeight = c->dstHeight;
    whole.Depth = c->Depth;
    return copy_strided(stream, whole, wait);
}

// The contexts count for what is no array (cuda.h, CUDA_MEMCPY3D_PEER); with unified addressing they say nothing new.
CUresult copy_peer(const StreamPtr& stream, const CUDA_MEMCPY3D_PEER* c, HostWait wait) {
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    if ((c->srcMemoryType != CU_MEMORYTYPE_ARRAY && !find_context(c->srcContext)) ||
        (c->dstMemoryType != CU_MEMORYTYPE_ARRAY && !find_context(c->dstContext)))
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy_3d(stream, c, wait);
}

}  // namespace

#define SIM_STRIDED(function, wait, stream) return function(find_stream(context, stream, meaning), c, HostWait::wait);

SIM_ONE(cuMemcpy2D, (const CUDA_MEMCPY2D_v1* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_ONE(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D_v1* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_ONE(cuMemcpy2DAsync, (const CUDA_MEMCPY2D_v1* c, CUstream stream), SIM_STRIDED(copy_2d, asynchronous, stream))
SIM_ONE(cuMemcpy3D, (const CUDA_MEMCPY3D_v1* c), SIM_STRIDED(copy_3d, synchronous, nullptr))
SIM_ONE(cuMemcpy3DAsync, (const CUDA_MEMCPY3D_v1* c, CUstream stream), SIM_STRIDED(copy_3d, asynchronous, stream))

SIM_TWINS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_TWINS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* c), SIM_STRIDED(copy_2d, synchronous, nullptr))
SIM_TWINS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* c, CUstream stream),
          SIM_STRIDED(copy_2d, asynchronous, stream))
SIM_TWINS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* c), SIM_STRIDED(copy_3d, synchronous, nullptr))
SIM_TWINS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* c, CUstream stream),
          SIM_STRIDED(copy_3d, asynchronous, stream))
SIM_TWINS(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* c), SIM_STRIDED(copy_peer, synchronous, nullptr))
SIM_TWINS(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* c, CUstream stream),
          SIM_STRIDED(copy_peer, asynchronous, stream))
