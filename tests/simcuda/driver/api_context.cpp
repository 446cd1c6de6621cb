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
    if (--context->retained > 0)
        return CUDA_SUCCESS;
    tell_destroyed(context);
    return destroy_context(context);
}

CUresult reset_primary(CUdevice device) {
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context* context = primary_context(device);
    if (!context->alive)
        return CUDA_SUCCESS;
    tell_destroyed(context);
    const CUresult result = destroy_context(context);
    context->alive = context->retained > 0;  // the owners' handle stays valid, its contents are gone
    if (context->alive)
        tell_created(context);
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
    tell_created(context);
    return push_current(context);
}

CUresult synchronize(Context* context) {
    if (capture_forbids(context))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    TimedWait timed(SimcudaWaitKind::context, context, nullptr);
    machine().wait_context(context);
    timed.stop(context->sticky);
    return context->sticky;
}

}  // namespace

SIM_PLAIN(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice device), {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    Context* context = primary_context(device);
    ++context->retained;
    const bool created = !context->alive.exchange(true);
    *out = handle(context);
    if (created)
        tell_created(context);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDevicePrimaryCtxRelease, (CUdevice device), { return release_primary(device); })
SIM_PLAIN(cuDevicePrimaryCtxRelease_v2, (CUdevice device), { return release_primary(device); })

SIM_PLAIN(cuDevicePrimaryCtxReset, (CUdevice device), { return reset_primary(device); })
SIM_PLAIN(cuDevicePrimaryCtxReset_v2, (CUdevice device), { return reset_primary(device); })

SIM_PLAIN(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned* flags, int* active), {
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    if (!valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = primary_context(device)->flags;
    *active = primary_context(device)->alive;
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags), { return set_primary_flags(device, flags); })
SIM_PLAIN(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags),
          { return set_primary_flags(device, flags); })

SIM_PLAIN(cuCtxGetCurrent, (CUcontext * out), {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle(current_context());
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuCtxSetCurrent, (CUcontext wanted), {
    Context* context = find_context(wanted);
    if (wanted && (!context || !context->alive))
        return CUDA_ERROR_INVALID_CONTEXT;
    return set_current(context);
})

SIM_PLAIN(cuCtxPushCurrent_v2, (CUcontext wanted), {
    Context* context = find_context(wanted);
    if (!context || !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    return push_current(context);
})

SIM_PLAIN(cuCtxPopCurrent_v2, (CUcontext * out), {
    Context* context = pop_current();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (out)
        *out = handle(context);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuCtxCreate_v2, (CUcontext * out, unsigned flags, CUdevice device), { return create(out, flags, device); })

#if CUDA_VERSION >= 12050
SIM_PLAIN(cuCtxCreate_v4, (CUcontext * out, CUctxCreateParams*, unsigned flags, CUdevice device),
          { return create(out, flags, device); })
#endif

SIM_PLAIN(cuCtxDestroy_v2, (CUcontext which), {
    Context* context = find_context(which);
    if (!context || !context->alive || context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    tell_destroyed(context);
    return destroy_context(context);
})
SIM_PLAIN(cuCtxDestroy, (CUcontext which), {
    Context* context = find_context(which);
    if (!context || !context->alive || context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    tell_destroyed(context);
    return destroy_context(context);
})

SIM_ONE(cuCtxGetDevice, (CUdevice * device), {
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
})

SIM_ONE(cuCtxSynchronize, (), { return synchronize(context); })

#if CUDA_VERSION >= 13000
SIM_PLAIN(cuCtxGetDevice_v2, (CUdevice * device, CUcontext which), {
    Context* context = which ? find_context(which) : current_context();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuCtxSynchronize_v2, (CUcontext which), {
    Context* context = which ? find_context(which) : current_context();
    if (!context || !context->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->sticky != CUDA_SUCCESS)
        return context->sticky;
    return synchronize(context);
})
#endif

SIM_ONE(cuCtxGetFlags, (unsigned* flags), {
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
})

SIM_ONE(cuCtxGetStreamPriorityRange, (int* least, int* greatest), {
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;  // the stand-in ignores priorities
    return CUDA_SUCCESS;
})
