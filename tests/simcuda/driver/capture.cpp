#include "capture.h"

#include <algorithm>
#include <atomic>

#include "context.h"

namespace simcuda {
namespace {

std::vector<std::shared_ptr<Capture>>& open_captures() {  // guarded by machine().mutex
    static auto& all = *new std::vector<std::shared_ptr<Capture>>;
    return all;
}

// The legacy stream would make captured streams depend on uncaptured work.
bool implicit_conflict(const StreamPtr& stream) {
    if (!stream->legacy)
        return false;
    bool conflict = false;
    for (const StreamPtr& other : stream->context->streams) {
        if (!other->capture || !other->blocking())
            continue;
        other->capture->invalidated = true;
        conflict = true;
    }
    return conflict;
}

}  // namespace

CUresult issue(const StreamPtr& stream, Engine engine, std::function<void()> work, CompletionPtr* done) {
    {
        std::lock_guard lock(machine().mutex);
        if (implicit_conflict(stream))
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        if (stream->capture) {
            if (stream->capture->invalidated)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
            stream->capture->graph->nodes.push_back({engine, std::move(work)});
            return CUDA_SUCCESS;
        }
    }
    const CompletionPtr completion = machine().submit(stream, engine, std::move(work));
    if (done)
        *done = completion;
    return CUDA_SUCCESS;
}

bool capturing(const StreamPtr& stream) {
    std::lock_guard lock(machine().mutex);
    return stream->capture != nullptr;
}

bool capture_forbids(Context* context) {
    std::lock_guard lock(machine().mutex);
    bool forbidden = false;
    for (const auto& capture : open_captures()) {
        if (capture->origin->context != context)
            continue;
        const bool own = capture->thread == std::this_thread::get_id();
        if (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
            (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && own)) {
            capture->invalidated = true;
            forbidden = true;
        }
    }
    return forbidden;
}

CUresult check_wait(const StreamPtr& stream) {
    std::lock_guard lock(machine().mutex);
    if (implicit_conflict(stream))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!stream->capture)
        return CUDA_SUCCESS;
    stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult begin_capture(const StreamPtr& stream, CUstreamCaptureMode mode, Graph* into) {
    static std::atomic<unsigned long long> next_id{1};
    std::lock_guard lock(machine().mutex);
    if (stream->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->graph = into ? into : new Graph;
    capture->origin = stream.get();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->id = next_id++;
    stream->capture = capture;
    open_captures().push_back(capture);
    return CUDA_SUCCESS;
}

CUresult end_capture(const StreamPtr& stream, Graph** out) {
    std::lock_guard lock(machine().mutex);
    const auto capture = stream->capture;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream.get())
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    stream->capture = nullptr;
    for (const StreamPtr& other : stream->context->streams)
        if (other->capture == capture)
            other->capture = nullptr;
    std::erase(open_captures(), capture);
    *out = capture->invalidated ? nullptr : capture->graph;
    return capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

}  // namespace simcuda
