// Stream capture.
#include <algorithm>

#include "capture.h"
#include "context.h"

using namespace simcuda;

namespace {

CUresult begin(const StreamPtr& stream, CUstreamCaptureMode mode, Graph* into,
               std::vector<GraphNode*> dependencies = {}) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return begin_capture(stream, mode, into, std::move(dependencies));
}

// cuda.h, cuStreamGetCaptureInfo. What an older version of the function does not have is null. The arrays belong to the
// stream.
CUresult capture_info(const StreamPtr& stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                      const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!status || (edges && !dependencies))
        return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(machine().mutex);
    if (implicit_capture(*stream))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = stream->capture ? stream->capture->status() : CU_STREAM_CAPTURE_STATUS_NONE;
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (id)
        *id = stream->capture->id;
    if (graph)
        *graph = handle(stream->capture->graph);
    if (dependencies)
        *dependencies = reinterpret_cast<const CUgraphNode*>(stream->capture_tail.data());
    if (edges)
        *edges = nullptr;  // every edge is a plain one
    if (count)
        *count = stream->capture_tail.size();
    return CUDA_SUCCESS;
}

// cuda.h, cuStreamUpdateCaptureDependencies.
CUresult update_dependencies(const StreamPtr& stream, const CUgraphNode* nodes, size_t count, unsigned flags) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((count && !nodes) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(machine().mutex);
    if (!stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < count; ++i)
        if (!stream->capture->graph->holds(node_of(nodes[i])))
            return CUDA_ERROR_INVALID_VALUE;
    auto& tail = stream->capture_tail;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        auto& released = stream->capture->released;
        released.insert(released.end(), tail.begin(), tail.end());
        tail.clear();
    }
    for (size_t i = 0; i < count; ++i)
        if (std::find(tail.begin(), tail.end(), node_of(nodes[i])) == tail.end())
            tail.push_back(node_of(nodes[i]));
    return CUDA_SUCCESS;
}

}  // namespace

SIM_TWINS(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status), {
    return capture_info(find_stream(context, stream, meaning), status, nullptr, nullptr, nullptr, nullptr, nullptr);
})

SIM_TWINS(cuStreamGetCaptureInfo, _ptsz, (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id), {
    return capture_info(find_stream(context, stream, meaning), status, id, nullptr, nullptr, nullptr, nullptr);
})
SIM_TWINS(cuStreamGetCaptureInfo_v2, _ptsz,
          (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
           const CUgraphNode** dependencies, size_t* count),
          {
              return capture_info(find_stream(context, stream, meaning), status, id, graph, dependencies, nullptr,
                                  count);
          })
#if CUDA_VERSION >= 12030
SIM_TWINS(cuStreamGetCaptureInfo_v3, _ptsz,
          (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
           const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count),
          {
              return capture_info(find_stream(context, stream, meaning), status, id, graph, dependencies, edges, count);
          })
#endif

SIM_TWINS(cuStreamUpdateCaptureDependencies, _ptsz, (CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags),
          { return update_dependencies(find_stream(context, stream, meaning), nodes, count, flags); })
#if CUDA_VERSION >= 12030
SIM_TWINS(cuStreamUpdateCaptureDependencies_v2, _ptsz,
          (CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count, unsigned flags),
          { return update_dependencies(find_stream(context, stream, meaning), nodes, count, flags); })
#endif

SIM_PLAIN(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), {
    if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = exchange_thread_mode(*mode);
    return CUDA_SUCCESS;
})

// The first version had no mode: global.
SIM_TWINS(cuStreamBeginCapture, _ptsz, (CUstream stream),
          { return begin(find_stream(context, stream, meaning), CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr); })

SIM_TWINS(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode),
          { return begin(find_stream(context, stream, meaning), mode, nullptr); })

#if CUDA_VERSION >= 12030
SIM_TWINS(cuStreamBeginCaptureToGraph, _ptsz,
          (CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*, size_t count,
           CUstreamCaptureMode mode),
          {
              if (!graph || (count && !dependencies))
                  return CUDA_ERROR_INVALID_VALUE;
              std::vector<GraphNode*> nodes;
              for (size_t i = 0; i < count; ++i) {
                  nodes.push_back(node_of(dependencies[i]));
                  if (!graph_of(graph)->holds(nodes.back()))
                      return CUDA_ERROR_INVALID_VALUE;
              }
              return begin(find_stream(context, stream, meaning), mode, graph_of(graph), std::move(nodes));
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
    *out = simcuda::handle(graph);
    return result;
})
