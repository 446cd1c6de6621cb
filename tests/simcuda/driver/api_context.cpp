// Primary and other contexts.
#include "capture.h"
#include "context.h"
#include "settings.h"

using namespace simcuda;

namespace {

bool valid(CUdevice device) {
    return device >= 0 && device < settings().devices;
}

CUresult release_primary(CUdevice device) {
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context* context = primary_context(device);
    if (context->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->retained == 0)
        return destroy_context(context);
    return CUDA_SUCCESS;
}

CUresult reset_primary(CUdevice device) {
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context* context = primary_context(device);
    if (!context->alive)
        return CUDA_SUCCESS;
    const CUresult result = destroy_context(context);
    context->alive = context->retained > 0;  // the owners' handle stays valid, its contents are gone
    return result;
}

CUresult set_primary_flags(CUdevice device, unsigned flags) {
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    primary_context(device)->flags = flags;
    return CUDA_SUCCESS;
}

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context* context = create_context(device, flags);
    *out = handle(context);
    return push_current(context);
}

CUresult synchronize(Context* context) {
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    machine().wait_context(context);
    return context->sticky;
}

}  // namespace

SIM_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxRetain);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context* context = primary_context(device);
    ++context->retained;
    context->alive = true;
    *out = handle(context);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxRelease);
    return release_primary(device);
}
SIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxRelease_v2);
    return release_primary(device);
}

SIM_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxReset);
    return reset_primary(device);
}
SIM_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxReset_v2);
    return reset_primary(device);
}

SIM_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    SIM_ENTER(cuDevicePrimaryCtxGetState);
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = primary_context(device)->flags;
    *active = primary_context(device)->alive;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    SIM_ENTER(cuDevicePrimaryCtxSetFlags);
    return set_primary_flags(device, flags);
}
SIM_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    SIM_ENTER(cuDevicePrimaryCtxSetFlags_v2);
    return set_primary_flags(device, flags);
}

SIM_EXPORT CUresult cuCtxGetCurrent(CUcontext* out) {
    SIM_ENTER(cuCtxGetCurrent);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle(current_context());
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxSetCurrent(CUcontext wanted) {
    SIM_ENTER(cuCtxSetCurrent);
    Context* context = find_context(wanted);
    if (wanted && (!context || !context->alive))
        return CUDA_ERROR_INVALID_CONTEXT;
    return set_current(context);
}

SIM_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext wanted) {
    SIM_ENTER(cuCtxPushCurrent_v2);
    Context* context = find_context(wanted);
    if (!context || !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    return push_current(context);
}

SIM_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* out) {
    SIM_ENTER(cuCtxPopCurrent_v2);
    Context* context = pop_current();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (out)
        *out = handle(context);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
    SIM_ENTER(cuCtxCreate_v2);
    return create(out, flags, device);
}

#if CUDA_VERSION >= 12050
SIM_EXPORT CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams*, unsigned flags, CUdevice device) {
    SIM_ENTER(cuCtxCreate_v4);
    return create(out, flags, device);
}
#endif

SIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext which) {
    SIM_ENTER(cuCtxDestroy_v2);
    Context* context = find_context(which);
    if (!context || !context->alive || context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    return destroy_context(context);
}

SIM_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
    SIM_CONTEXT(cuCtxGetDevice);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxSynchronize() {
    SIM_CONTEXT(cuCtxSynchronize);
    return synchronize(context);
}

#if CUDA_VERSION >= 13000
SIM_EXPORT CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext which) {
    SIM_ENTER(cuCtxGetDevice_v2);
    Context* context = which ? find_context(which) : current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxSynchronize_v2(CUcontext which) {
    SIM_ENTER(cuCtxSynchronize_v2);
    Context* context = which ? find_context(which) : current_context();
    if (!context || !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->sticky != CUDA_SUCCESS)
        return context->sticky;
    return synchronize(context);
}
#endif

SIM_EXPORT CUresult cuCtxGetFlags(unsigned* flags) {
    SIM_CONTEXT(cuCtxGetFlags);
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    SIM_CONTEXT(cuCtxGetStreamPriorityRange);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;  // the stand-in ignores priorities
    return CUDA_SUCCESS;
}
