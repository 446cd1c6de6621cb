// Graphs: structure, instantiation, launch.
#include "call.h"

using namespace simcudart;

RT_ONE(cudaGraphCreate, context, (cudaGraph_t * graph, unsigned flags),
       { return finish(driver().cuGraphCreate(graph, flags)); })
RT_ONE(cudaGraphDestroy, context, (cudaGraph_t graph), { return finish(driver().cuGraphDestroy(graph)); })
RT_ONE(cudaGraphClone, context, (cudaGraph_t * clone, cudaGraph_t graph),
       { return finish(driver().cuGraphClone(clone, graph)); })
RT_ONE(cudaGraphNodeFindInClone, context, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
       { return finish(driver().cuGraphNodeFindInClone(node, original, clone)); })
RT_ONE(cudaGraphDestroyNode, context, (cudaGraphNode_t node), { return finish(driver().cuGraphDestroyNode(node)); })
RT_ONE(cudaGraphNodeGetType, context, (cudaGraphNode_t node, cudaGraphNodeType* type),
       { return finish(driver().cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type))); })
RT_ONE(cudaGraphGetNodes, context, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
       { return finish(driver().cuGraphGetNodes(graph, nodes, count)); })
RT_ONE(cudaGraphGetRootNodes, context, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
       { return finish(driver().cuGraphGetRootNodes(graph, nodes, count)); })

#if CUDART_VERSION >= 13000
namespace {

CUgraphEdgeData* driver_edges(cudaGraphEdgeData* edges) {
    return reinterpret_cast<CUgraphEdgeData*>(edges);
}
const CUgraphEdgeData* driver_edges(const cudaGraphEdgeData* edges) {
    return reinterpret_cast<const CUgraphEdgeData*>(edges);
}

}  // namespace

RT_ONE(cudaGraphGetEdges, context,
       (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges, size_t* count),
       { return finish(driver().cuGraphGetEdges_v2(graph, from, to, driver_edges(edges), count)); })
RT_ONE(cudaGraphNodeGetDependencies, context,
       (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count),
       { return finish(driver().cuGraphNodeGetDependencies_v2(node, nodes, driver_edges(edges), count)); })
RT_ONE(cudaGraphNodeGetDependentNodes, context,
       (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count),
       { return finish(driver().cuGraphNodeGetDependentNodes_v2(node, nodes, driver_edges(edges), count)); })
RT_ONE(cudaGraphAddDependencies, context,
       (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
        size_t count),
       { return finish(driver().cuGraphAddDependencies_v2(graph, from, to, driver_edges(edges), count)); })
RT_ONE(cudaGraphRemoveDependencies, context,
       (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
        size_t count),
       { return finish(driver().cuGraphRemoveDependencies_v2(graph, from, to, driver_edges(edges), count)); })

RT_TWINS(cudaStreamGetCaptureInfo, _ptsz,
         (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
          const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count),
         {
             return finish(RT_DRIVER(cuStreamGetCaptureInfo_v3, _ptsz)(
                 stream, reinterpret_cast<CUstreamCaptureStatus*>(status), reinterpret_cast<cuuint64_t*>(id), graph,
                 dependencies, reinterpret_cast<const CUgraphEdgeData**>(edges), count));
         })
RT_TWINS(cudaStreamUpdateCaptureDependencies, _ptsz,
         (cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges, size_t count, unsigned flags), {
             return finish(RT_DRIVER(cuStreamUpdateCaptureDependencies_v2, _ptsz)(stream, nodes, driver_edges(edges),
                                                                                  count, flags));
         })
RT_TWINS(cudaStreamBeginCaptureToGraph, _ptsz,
         (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
          size_t count, cudaStreamCaptureMode mode),
         {
             return finish(RT_DRIVER(cuStreamBeginCaptureToGraph, _ptsz)(
                 stream, graph, dependencies, driver_edges(edges), count, static_cast<CUstreamCaptureMode>(mode)));
         })
#endif
RT_ONE(cudaThreadExchangeStreamCaptureMode, context, (cudaStreamCaptureMode * mode),
       { return finish(driver().cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode))); })

#if CUDART_VERSION >= 12000
RT_ONE(cudaGraphInstantiate, context, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
       { return finish(driver().cuGraphInstantiateWithFlags(out, graph, flags)); })
RT_TWINS(cudaGraphInstantiateWithParams, _ptsz,
         (cudaGraphExec_t * out, cudaGraph_t graph, cudaGraphInstantiateParams* params), {
             return finish(RT_DRIVER(cuGraphInstantiateWithParams, _ptsz)(
                 out, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(params)));
         })
RT_ONE(cudaGraphExecGetFlags, context, (cudaGraphExec_t graph, unsigned long long* flags),
       { return finish(driver().cuGraphExecGetFlags(graph, reinterpret_cast<cuuint64_t*>(flags))); })
RT_ONE(cudaGraphExecUpdate, context, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info), {
    return finish(driver().cuGraphExecUpdate_v2(exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(info)));
})
#endif
RT_ONE(cudaGraphInstantiateWithFlags, context, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
       { return finish(driver().cuGraphInstantiateWithFlags(out, graph, flags)); })
RT_TWINS(cudaGraphLaunch, _ptsz, (cudaGraphExec_t graph, cudaStream_t stream),
         { return finish(RT_DRIVER(cuGraphLaunch, _ptsz)(graph, stream)); })
RT_TWINS(cudaGraphUpload, _ptsz, (cudaGraphExec_t graph, cudaStream_t stream),
         { return finish(RT_DRIVER(cuGraphUpload, _ptsz)(graph, stream)); })
RT_ONE(cudaGraphExecDestroy, context, (cudaGraphExec_t graph), { return finish(driver().cuGraphExecDestroy(graph)); })
RT_ONE(cudaGraphNodeSetEnabled, context, (cudaGraphExec_t graph, cudaGraphNode_t node, unsigned enabled),
       { return finish(driver().cuGraphNodeSetEnabled(graph, node, enabled)); })
RT_ONE(cudaGraphNodeGetEnabled, context, (cudaGraphExec_t graph, cudaGraphNode_t node, unsigned* enabled),
       { return finish(driver().cuGraphNodeGetEnabled(graph, node, enabled)); })
