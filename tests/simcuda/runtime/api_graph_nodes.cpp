// Graph nodes: adding them, and reading and changing their parameters, in graphs and in executable graphs. All end in
// the driver's functions of the same name.
#include "copy.h"
#include "graph_params.h"
#include "registry.h"

using namespace simcudart;

namespace {

// What the functions for plain copies and for copies of a device variable have in common.
cudaError_t add_copy(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                     const cudaMemcpy3DParms& copy) {
    CUDA_MEMCPY3D params{};
    if (const cudaError_t error = driver_copy(copy, &params); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuGraphAddMemcpyNode(out, graph, after, count, &params, current_context()));
}
cudaError_t set_copy(cudaGraphNode_t node, const cudaMemcpy3DParms& copy) {
    CUDA_MEMCPY3D params{};
    if (const cudaError_t error = driver_copy(copy, &params); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuGraphMemcpyNodeSetParams(node, &params));
}
cudaError_t set_copy(cudaGraphExec_t graph, cudaGraphNode_t node, const cudaMemcpy3DParms& copy) {
    CUDA_MEMCPY3D params{};
    if (const cudaError_t error = driver_copy(copy, &params); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuGraphExecMemcpyNodeSetParams(graph, node, &params, current_context()));
}

}  // namespace

// The parameters that every function of one family has, and the one statement in which the families differ.
#define RT_ADD_PARAMETERS cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count
#define RT_TO_SYMBOL_PARAMETERS const void *symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind kind
#define RT_FROM_SYMBOL_PARAMETERS void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind
#define RT_PLAIN_PARAMETERS void *to, const void *from, size_t size, cudaMemcpyKind kind
#define RT_INSIDE_SYMBOL(address)                                                                      \
    void* address = nullptr;                                                                           \
    if (const cudaError_t error = inside_symbol(symbol, offset, size, &address); error != cudaSuccess) \
    return finish(error)
#define RT_NEED(pointer) \
    if (!(pointer))      \
    return finish(cudaErrorInvalidValue)

RT_ONE(cudaGraphAddKernelNode, context, (RT_ADD_PARAMETERS, const cudaKernelNodeParams* kernel), {
    RT_NEED(kernel);
    CUDA_KERNEL_NODE_PARAMS params;
    if (const cudaError_t error = driver_params(*kernel, &params); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuGraphAddKernelNode_v2(out, graph, after, count, &params));
})
RT_ONE(cudaGraphAddMemcpyNode, context, (RT_ADD_PARAMETERS, const cudaMemcpy3DParms* copy), {
    RT_NEED(copy);
    return add_copy(out, graph, after, count, *copy);
})
RT_ONE(cudaGraphAddMemcpyNode1D, context, (RT_ADD_PARAMETERS, RT_PLAIN_PARAMETERS),
       { return add_copy(out, graph, after, count, plain_copy(to, from, size, kind)); })
RT_ONE(cudaGraphAddMemcpyNodeToSymbol, context, (RT_ADD_PARAMETERS, RT_TO_SYMBOL_PARAMETERS), {
    RT_INSIDE_SYMBOL(to);
    return add_copy(out, graph, after, count, plain_copy(to, from, size, kind));
})
RT_ONE(cudaGraphAddMemcpyNodeFromSymbol, context, (RT_ADD_PARAMETERS, RT_FROM_SYMBOL_PARAMETERS), {
    RT_INSIDE_SYMBOL(from);
    return add_copy(out, graph, after, count, plain_copy(to, from, size, kind));
})
RT_ONE(cudaGraphAddMemsetNode, context, (RT_ADD_PARAMETERS, const cudaMemsetParams* fill), {
    RT_NEED(fill);
    const CUDA_MEMSET_NODE_PARAMS params = driver_params(*fill);
    return finish(driver().cuGraphAddMemsetNode(out, graph, after, count, &params, current_context()));
})
RT_ONE(cudaGraphAddHostNode, context, (RT_ADD_PARAMETERS, const cudaHostNodeParams* host), {
    return finish(
        driver().cuGraphAddHostNode(out, graph, after, count, reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(host)));
})
RT_ONE(cudaGraphAddChildGraphNode, context, (RT_ADD_PARAMETERS, cudaGraph_t child),
       { return finish(driver().cuGraphAddChildGraphNode(out, graph, after, count, child)); })
RT_ONE(cudaGraphAddEmptyNode, context, (RT_ADD_PARAMETERS),
       { return finish(driver().cuGraphAddEmptyNode(out, graph, after, count)); })
RT_ONE(cudaGraphAddEventRecordNode, context, (RT_ADD_PARAMETERS, cudaEvent_t event),
       { return finish(driver().cuGraphAddEventRecordNode(out, graph, after, count, event)); })
RT_ONE(cudaGraphAddEventWaitNode, context, (RT_ADD_PARAMETERS, cudaEvent_t event),
       { return finish(driver().cuGraphAddEventWaitNode(out, graph, after, count, event)); })
#if CUDART_VERSION >= 13000
RT_ONE(cudaGraphAddNode, context,
       (cudaGraphNode_t * out, cudaGraph_t graph, const cudaGraphNode_t* after, const cudaGraphEdgeData* edges,
        size_t count, cudaGraphNodeParams* generic),
       {
           RT_NEED(generic);
           CUgraphNodeParams params;
           if (const cudaError_t error = driver_params(*generic, &params); error != cudaSuccess)
               return finish(error);
           return finish(driver().cuGraphAddNode_v2(out, graph, after, reinterpret_cast<const CUgraphEdgeData*>(edges),
                                                    count, &params));
       })
#endif
RT_ONE(cudaGraphNodeSetParams, context, (cudaGraphNode_t node, cudaGraphNodeParams* generic), {
    RT_NEED(generic);
    CUgraphNodeParams params;
    if (const cudaError_t error = driver_params(*generic, &params); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuGraphNodeSetParams(node, &params));
})
RT_ONE(cudaGraphExecNodeSetParams, context, (cudaGraphExec_t graph, cudaGraphNode_t node, cudaGraphNodeParams* generic),
       {
           RT_NEED(generic);
           CUgraphNodeParams params;
           if (const cudaError_t error = driver_params(*generic, &params); error != cudaSuccess)
               return finish(error);
           return finish(driver().cuGraphExecNodeSetParams(graph, node, &params));
       })

RT_ONE(cudaGraphKernelNodeGetParams, context, (cudaGraphNode_t node, cudaKernelNodeParams* out), {
    RT_NEED(out);
    CUDA_KERNEL_NODE_PARAMS params;
    const CUresult result = driver().cuGraphKernelNodeGetParams_v2(node, &params);
    if (result == CUDA_SUCCESS)
        *out = runtime_params(params);
    return finish(result);
})
RT_ONE(cudaGraphKernelNodeSetParams, context, (cudaGraphNode_t node, const cudaKernelNodeParams* kernel), {
    RT_NEED(kernel);
    CUDA_KERNEL_NODE_PARAMS params;
    if (const cudaError_t error = driver_params(*kernel, &params); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuGraphKernelNodeSetParams_v2(node, &params));
})
RT_ONE(cudaGraphExecKernelNodeSetParams, context,
       (cudaGraphExec_t graph, cudaGraphNode_t node, const cudaKernelNodeParams* kernel), {
           RT_NEED(kernel);
           CUDA_KERNEL_NODE_PARAMS params;
           if (const cudaError_t error = driver_params(*kernel, &params); error != cudaSuccess)
               return finish(error);
           return finish(driver().cuGraphExecKernelNodeSetParams_v2(graph, node, &params));
       })

RT_ONE(cudaGraphMemcpyNodeGetParams, context, (cudaGraphNode_t node, cudaMemcpy3DParms* out), {
    RT_NEED(out);
    CUDA_MEMCPY3D params;
    const CUresult result = driver().cuGraphMemcpyNodeGetParams(node, &params);
    if (result == CUDA_SUCCESS)
        *out = runtime_params(params);
    return finish(result);
})
RT_ONE(cudaGraphMemcpyNodeSetParams, context, (cudaGraphNode_t node, const cudaMemcpy3DParms* copy), {
    RT_NEED(copy);
    return set_copy(node, *copy);
})
RT_ONE(cudaGraphMemcpyNodeSetParams1D, context, (cudaGraphNode_t node, RT_PLAIN_PARAMETERS),
       { return set_copy(node, plain_copy(to, from, size, kind)); })
RT_ONE(cudaGraphMemcpyNodeSetParamsToSymbol, context, (cudaGraphNode_t node, RT_TO_SYMBOL_PARAMETERS), {
    RT_INSIDE_SYMBOL(to);
    return set_copy(node, plain_copy(to, from, size, kind));
})
RT_ONE(cudaGraphMemcpyNodeSetParamsFromSymbol, context, (cudaGraphNode_t node, RT_FROM_SYMBOL_PARAMETERS), {
    RT_INSIDE_SYMBOL(from);
    return set_copy(node, plain_copy(to, from, size, kind));
})
RT_ONE(cudaGraphExecMemcpyNodeSetParams, context,
       (cudaGraphExec_t graph, cudaGraphNode_t node, const cudaMemcpy3DParms* copy), {
           RT_NEED(copy);
           return set_copy(graph, node, *copy);
       })
RT_ONE(cudaGraphExecMemcpyNodeSetParams1D, context, (cudaGraphExec_t graph, cudaGraphNode_t node, RT_PLAIN_PARAMETERS),
       { return set_copy(graph, node, plain_copy(to, from, size, kind)); })
RT_ONE(cudaGraphExecMemcpyNodeSetParamsToSymbol, context,
       (cudaGraphExec_t graph, cudaGraphNode_t node, RT_TO_SYMBOL_PARAMETERS), {
           RT_INSIDE_SYMBOL(to);
           return set_copy(graph, node, plain_copy(to, from, size, kind));
       })
RT_ONE(cudaGraphExecMemcpyNodeSetParamsFromSymbol, context,
       (cudaGraphExec_t graph, cudaGraphNode_t node, RT_FROM_SYMBOL_PARAMETERS), {
           RT_INSIDE_SYMBOL(from);
           return set_copy(graph, node, plain_copy(to, from, size, kind));
       })

RT_ONE(cudaGraphMemsetNodeGetParams, context, (cudaGraphNode_t node, cudaMemsetParams* out), {
    RT_NEED(out);
    CUDA_MEMSET_NODE_PARAMS params;
    const CUresult result = driver().cuGraphMemsetNodeGetParams(node, &params);
    if (result == CUDA_SUCCESS)
        *out = runtime_params(params);
    return finish(result);
})
RT_ONE(cudaGraphMemsetNodeSetParams, context, (cudaGraphNode_t node, const cudaMemsetParams* fill), {
    RT_NEED(fill);
    const CUDA_MEMSET_NODE_PARAMS params = driver_params(*fill);
    return finish(driver().cuGraphMemsetNodeSetParams(node, &params));
})
RT_ONE(cudaGraphExecMemsetNodeSetParams, context,
       (cudaGraphExec_t graph, cudaGraphNode_t node, const cudaMemsetParams* fill), {
           RT_NEED(fill);
           const CUDA_MEMSET_NODE_PARAMS params = driver_params(*fill);
           return finish(driver().cuGraphExecMemsetNodeSetParams(graph, node, &params, current_context()));
       })

RT_ONE(cudaGraphHostNodeGetParams, context, (cudaGraphNode_t node, cudaHostNodeParams* out),
       { return finish(driver().cuGraphHostNodeGetParams(node, reinterpret_cast<CUDA_HOST_NODE_PARAMS*>(out))); })
RT_ONE(cudaGraphHostNodeSetParams, context, (cudaGraphNode_t node, const cudaHostNodeParams* host), {
    return finish(driver().cuGraphHostNodeSetParams(node, reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(host)));
})
RT_ONE(cudaGraphExecHostNodeSetParams, context,
       (cudaGraphExec_t graph, cudaGraphNode_t node, const cudaHostNodeParams* host), {
           return finish(driver().cuGraphExecHostNodeSetParams(graph, node,
                                                               reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(host)));
       })

RT_ONE(cudaGraphChildGraphNodeGetGraph, context, (cudaGraphNode_t node, cudaGraph_t* graph),
       { return finish(driver().cuGraphChildGraphNodeGetGraph(node, graph)); })
RT_ONE(cudaGraphExecChildGraphNodeSetParams, context, (cudaGraphExec_t graph, cudaGraphNode_t node, cudaGraph_t child),
       { return finish(driver().cuGraphExecChildGraphNodeSetParams(graph, node, child)); })

RT_ONE(cudaGraphEventRecordNodeGetEvent, context, (cudaGraphNode_t node, cudaEvent_t* event),
       { return finish(driver().cuGraphEventRecordNodeGetEvent(node, event)); })
RT_ONE(cudaGraphEventRecordNodeSetEvent, context, (cudaGraphNode_t node, cudaEvent_t event),
       { return finish(driver().cuGraphEventRecordNodeSetEvent(node, event)); })
RT_ONE(cudaGraphExecEventRecordNodeSetEvent, context, (cudaGraphExec_t graph, cudaGraphNode_t node, cudaEvent_t event),
       { return finish(driver().cuGraphExecEventRecordNodeSetEvent(graph, node, event)); })
RT_ONE(cudaGraphEventWaitNodeGetEvent, context, (cudaGraphNode_t node, cudaEvent_t* event),
       { return finish(driver().cuGraphEventWaitNodeGetEvent(node, event)); })
RT_ONE(cudaGraphEventWaitNodeSetEvent, context, (cudaGraphNode_t node, cudaEvent_t event),
       { return finish(driver().cuGraphEventWaitNodeSetEvent(node, event)); })
RT_ONE(cudaGraphExecEventWaitNodeSetEvent, context, (cudaGraphExec_t graph, cudaGraphNode_t node, cudaEvent_t event),
       { return finish(driver().cuGraphExecEventWaitNodeSetEvent(graph, node, event)); })
