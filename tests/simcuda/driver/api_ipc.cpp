// Device memory of other processes.
#include "context.h"
#include "ipc.h"

using namespace simcuda;

namespace {

// cuda.h: the flags must be CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.
CUresult open_handle(Context* context, CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags) {
    if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    return open_exported(context, handle, out);
}

}  // namespace

SIM_ONE(cuIpcGetMemHandle, (CUipcMemHandle * out, CUdeviceptr address),
        { return out ? export_memory(address, out) : CUDA_ERROR_INVALID_VALUE; })
SIM_ONE(cuIpcOpenMemHandle, (CUdeviceptr * out, CUipcMemHandle handle, unsigned flags),
        { return open_handle(context, out, handle, flags); })
SIM_ONE(cuIpcOpenMemHandle_v2, (CUdeviceptr * out, CUipcMemHandle handle, unsigned flags),
        { return open_handle(context, out, handle, flags); })
SIM_ONE(cuIpcCloseMemHandle, (CUdeviceptr address), { return close_exported(context, address); })
