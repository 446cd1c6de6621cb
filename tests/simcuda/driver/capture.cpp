#include "capture.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "context.h"

namespace simcuda {
namespace {

thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

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

void collect_with_ancestors(GraphNode* node, std::set<GraphNode*>* out) {
    std::vector<GraphNode*> open{node};
    while (!open.empty()) {
        GraphNode* next = open.back();
        open.pop_back();
        if (out->insert(next).second)
            open.insert(open.end(), next->dependencies.begin(), next->dependencies.end());
    }
}

// Work of another stream that the capture's first stream does not wait for (cuda.h, cuStreamEndCapture).
bool unjoined(const std::shared_ptr<Capture>& capture, const StreamPtr& origin) {
    std::set<GraphNode*> joined;
    for (GraphNode* node : origin->capture_tail)
        collect_with_ancestors(node, &joined);
    for (GraphNode* node : capture->released)
        collect_with_ancestors(node, &joined);
    for (const StreamPtr& other : origin->context->streams) {
        if (other->capture != capture || other == origin)
            continue;
        for (GraphNode* node : other->capture_tail)
            if (!joined.count(node))
                return true;
    }
    return false;
}

CUgraphNodeType type_of_engine(Engine engine) {
    switch (engine) {
        case Engine::h2d:
        case Engine::d2h:
            return CU_GRAPH_NODE_TYPE_MEMCPY;
        case Engine::compute:
            return CU_GRAPH_NODE_TYPE_KERNEL;
        case Engine::host:
            return CU_GRAPH_NODE_TYPE_HOST;
        case Engine::none:
            break;
    }
    return CU_GRAPH_NODE_TYPE_EMPTY;
}

}  // namespace

std::optional<CUresult> capture_node(const StreamPtr& stream, NodeParams params) {
    std::lock_guard lock(machine().mutex);
    if (!stream->capture)
        return std::nullopt;
    if (stream->capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    GraphNode* node = stream->capture->graph->add(std::move(params), stream->capture_tail);
    if (!node)  // the program removed a node on which the stream depended
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->capture_tail = {node};
    return CUDA_SUCCESS;
}

CUresult issue(const StreamPtr& stream, Engine engine, std::function<void()> work, CompletionPtr* done) {
    if (const CUresult result = check_issue(stream); result != CUDA_SUCCESS)
        return result;
    if (capturing(stream)) {
        const auto captured = capture_node(stream, OpaqueNode{type_of_engine(engine), engine, std::move(work)});
        return captured ? *captured : CUDA_ERROR_ILLEGAL_STATE;
    }
    const CompletionPtr completion = machine().submit(stream, engine, std::move(work));
    if (done)
        *done = completion;
    return CUDA_SUCCESS;
}

CUresult check_issue(const StreamPtr& stream) {
    std::lock_guard lock(machine().mutex);
    return implicit_conflict(stream) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

bool capturing(const StreamPtr& stream) {
    std::lock_guard lock(machine().mutex);
    return stream->capture != nullptr;
}

bool capture_forbids(Context* context) {
    std::lock_guard lock(machine().mutex);
    if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    bool forbidden = false;
    for (const auto& capture : open_captures()) {
        if (capture->context != context || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        const bool own = capture->thread == std::this_thread::get_id();
        const bool others = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (own || others) {
            capture->invalidated = true;
            forbidden = true;
        }
    }
    return forbidden;
}

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) {
    const CUstreamCaptureMode before = t_mode;
    t_mode = mode;
    return before;
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

bool implicit_capture(const Stream& stream) {
    const auto& others = stream.context->streams;
    return stream.legacy && std::any_of(others.begin(), others.end(),
                                        [](const StreamPtr& other) { return other->capture && other->blocking(); });
}

CUresult begin_capture(const StreamPtr& stream, CUstreamCaptureMode mode, Graph* into,
                       std::vector<GraphNode*> dependencies) {
    static std::atomic<unsigned long long> next_id{1};
    std::lock_guard lock(machine().mutex);
    if (stream->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    auto capture = std::make_shared<Capture>();
    capture->graph = into ? into : new Graph;
    capture->own_graph = !into;
    capture->origin = stream.get();
    capture->context = stream->context;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->id = next_id++;
    stream->capture = capture;
    stream->capture_tail = std::move(dependencies);
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
    CUresult result = CUDA_SUCCESS;
    if (capture->invalidated)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (unjoined(capture, stream))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    for (const StreamPtr& other : stream->context->streams) {
        if (other->capture != capture)
            continue;
        other->capture = nullptr;
        other->capture_tail.clear();
    }
    stream->capture = nullptr;
    stream->capture_tail.clear();
    capture->ended = true;
    std::erase(open_captures(), capture);
    *out = result == CUDA_SUCCESS ? capture->graph : nullptr;
    if (result != CUDA_SUCCESS && capture->own_graph)
        delete capture->graph;
    capture->graph = nullptr;
    return result;
}

}  // namespace simcuda
