// Peer access. Every device reaches every other one, and copies do not ask whether access was enabled (nor do those of
// real devices, which then go through the host).
#include <algorithm>

#include "context.h"
#include "settings.h"

using namespace simcuda;

namespace {

bool valid(CUdevice device) {
    return device >= 0 && device < settings().devices;
}

}  // namespace

SIM_PLAIN(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer), {
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device) || !valid(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;  // a device is no peer of itself
    return CUDA_SUCCESS;
})

SIM_ONE(cuCtxEnablePeerAccess, (CUcontext handle, unsigned flags), {
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    Context* peer = find_context(handle);
    if (!peer || !peer->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (peer->device == context->device)
        return CUDA_ERROR_INVALID_DEVICE;
    std::lock_guard lock(machine().mutex);
    auto& peers = context->peers;
    if (std::find(peers.begin(), peers.end(), peer) != peers.end())
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    peers.push_back(peer);
    return CUDA_SUCCESS;
})

SIM_ONE(cuCtxDisablePeerAccess, (CUcontext handle), {
    Context* peer = find_context(handle);
    if (!peer)
        return CUDA_ERROR_INVALID_CONTEXT;
    std::lock_guard lock(machine().mutex);
    return std::erase(context->peers, peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
})
