// Streams and host functions.
#include "capture.h"
#include "context.h"

using namespace simcuda;

namespace {

CUresult create(Context* context, CUstream* out, unsigned flags, int priority) {
    if (!out || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}))
        return CUDA_ERROR_INVALID_VALUE;
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    *out = reinterpret_cast<CUstream>(stream.get());
    std::lock_guard lock(machine().mutex);
    // Destroyed streams stay listed until they are drained, since device-wide waits include them.
    std::erase_if(context->streams, [](const StreamPtr& s) { return s->destroyed && s->queue.empty(); });
    context->streams.push_back(stream);
    return CUDA_SUCCESS;
}

CUresult host_function(const StreamPtr& stream, CUhostFn function, void* data) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    if (const auto captured = capture_node(stream, HostNode{function, data}))
        return *captured;
    return issue(stream, Engine::host, [function, data] { function(data); });
}

// Returns at once; work that was issued still runs (cuda.h, cuStreamDestroy).
CUresult destroy(Context* context, CUstream handle) {
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    const StreamPtr stream = find_stream(context, handle, DefaultStream::legacy);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard lock(machine().mutex);
    if (stream->capture)  // a capture cannot end without its stream
        stream->capture->invalidated = true;
    stream->destroyed = true;
    if (stream->queue.empty())
        std::erase(stream->context->streams, stream);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_ONE(cuStreamCreate, (CUstream * out, unsigned flags), { return create(context, out, flags, 0); })

SIM_ONE(cuStreamCreateWithPriority, (CUstream * out, unsigned flags, int priority),
        { return create(context, out, flags, priority); })

SIM_ONE(cuStreamDestroy_v2, (CUstream handle), { return destroy(context, handle); })
SIM_ONE(cuStreamDestroy, (CUstream handle), { return destroy(context, handle); })

SIM_TWINS(cuStreamQuery, _ptsz, (CUstream handle), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = check_wait(stream); result != CUDA_SUCCESS)
        return result;
    return machine().stream_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
})

SIM_TWINS(cuStreamSynchronize, _ptsz, (CUstream handle), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = check_wait(stream); result != CUDA_SUCCESS)
        return result;
    TimedWait timed(SimcudaWaitKind::stream, context, stream.get());
    machine().wait_stream(stream);
    timed.stop(context->sticky);
    return context->sticky;
})

SIM_TWINS(cuStreamGetFlags, _ptsz, (CUstream handle, unsigned* flags), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
})

SIM_TWINS(cuStreamGetPriority, _ptsz, (CUstream handle, int* priority), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
})

SIM_TWINS(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data),
          { return host_function(find_stream(context, stream, meaning), function, data); })

SIM_TWINS(cuStreamAddCallback, _ptsz, (CUstream handle, CUstreamCallback callback, void* data, unsigned flags), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!callback || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (capturing(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return issue(stream, Engine::host, [=] { callback(handle, CUDA_SUCCESS, data); });
})

// A destroyed stream's number is not given again (cuda.h, cuStreamGetId).
SIM_TWINS(cuStreamGetId, _ptsz, (CUstream handle, unsigned long long* id), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = stream->id;
    return CUDA_SUCCESS;
})

SIM_TWINS(cuStreamGetCtx, _ptsz, (CUstream handle, CUcontext* out), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = simcuda::handle(stream->context);
    return CUDA_SUCCESS;
})

#if CUDA_VERSION >= 12080
SIM_TWINS(cuStreamGetDevice, _ptsz, (CUstream handle, CUdevice* device), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = stream->context->device;
    return CUDA_SUCCESS;
})
#endif
