// Graphs: instantiate, launch, destroy. Nodes come from capture only.
#include "capture.h"
#include "context.h"

using namespace simcuda;

namespace {

// An executable graph is a copy: destroying or changing the graph does not touch it.
using Executable = std::shared_ptr<const Graph>;

CUresult instantiate(CUgraphExec* out, CUgraph graph) {
    if (!out || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    auto* executable = new Executable(std::make_shared<Graph>(*reinterpret_cast<Graph*>(graph)));
    *out = reinterpret_cast<CUgraphExec>(executable);
    return CUDA_SUCCESS;
}

CUresult launch(const StreamPtr& stream, CUgraphExec handle) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    const Executable graph = *reinterpret_cast<Executable*>(handle);
    for (const Node& node : graph->nodes)
        if (const CUresult result = issue(stream, node.engine, node.work); result != CUDA_SUCCESS)
            return result;
    return CUDA_SUCCESS;
}

}  // namespace

SIM_EXPORT CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
    SIM_ENTER(cuGraphCreate);
    if (!out || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUgraph>(new Graph);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
    SIM_ENTER(cuGraphDestroy);
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    delete reinterpret_cast<Graph*>(graph);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*, size_t) {
    SIM_CONTEXT(cuGraphInstantiate);
    return instantiate(out, graph);
}
SIM_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*, size_t) {
    SIM_CONTEXT(cuGraphInstantiate_v2);
    return instantiate(out, graph);
}
SIM_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long) {
    SIM_CONTEXT(cuGraphInstantiateWithFlags);
    return instantiate(out, graph);
}

SIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec graph) {
    SIM_ENTER(cuGraphExecDestroy);
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    delete reinterpret_cast<Executable*>(graph);  // launches that were issued keep their own reference
    return CUDA_SUCCESS;
}

SIM_TWINS(cuGraphLaunch, _ptsz, (CUgraphExec graph, CUstream stream),
          { return launch(find_stream(context, stream, meaning), graph); })
