// Streams, host functions and capture.
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
    return issue(stream, Engine::host, [function, data] { function(data); });
}

}  // namespace

SIM_EXPORT CUresult cuStreamCreate(CUstream* out, unsigned flags) {
    SIM_CONTEXT(cuStreamCreate);
    return create(context, out, flags, 0);
}

SIM_EXPORT CUresult cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
    SIM_CONTEXT(cuStreamCreateWithPriority);
    return create(context, out, flags, priority);
}

// Returns at once; work that was issued still runs (cuda.h, cuStreamDestroy).
SIM_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
    SIM_CONTEXT(cuStreamDestroy_v2);
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_INVALID_HANDLE;
    const StreamPtr stream = find_stream(context, handle, DefaultStream::legacy);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard lock(machine().mutex);
    stream->destroyed = true;
    if (stream->queue.empty())
        std::erase(stream->context->streams, stream);
    return CUDA_SUCCESS;
}

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
    machine().wait_stream(stream);
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

SIM_TWINS(cuStreamIsCapturing, _ptsz, (CUstream handle, CUstreamCaptureStatus* status), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(machine().mutex);
    *status = !stream->capture               ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
})

SIM_TWINS(cuStreamGetCaptureInfo, _ptsz, (CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(machine().mutex);
    *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    if (id && stream->capture)
        *id = stream->capture->id;
    return CUDA_SUCCESS;
})

// The first version had no mode: global.
SIM_TWINS(cuStreamBeginCapture, _ptsz, (CUstream handle), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr);
})

SIM_TWINS(cuStreamBeginCapture_v2, _ptsz, (CUstream handle, CUstreamCaptureMode mode), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return begin_capture(stream, mode, nullptr);
})

#if CUDA_VERSION >= 12030
SIM_TWINS(cuStreamBeginCaptureToGraph, _ptsz,
          (CUstream handle, CUgraph graph, const CUgraphNode*, const CUgraphEdgeData*, size_t,
           CUstreamCaptureMode mode),
          {
              const StreamPtr stream = find_stream(context, handle, meaning);
              if (!stream)
                  return CUDA_ERROR_INVALID_HANDLE;
              if (!graph)
                  return CUDA_ERROR_INVALID_VALUE;
              return begin_capture(stream, mode, reinterpret_cast<Graph*>(graph));
          })
#endif

SIM_TWINS(cuStreamEndCapture, _ptsz, (CUstream handle, CUgraph* out), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    Graph* graph = nullptr;
    const CUresult result = end_capture(stream, &graph);
    *out = reinterpret_cast<CUgraph>(graph);
    return result;
})
