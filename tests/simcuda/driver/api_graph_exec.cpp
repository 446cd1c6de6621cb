// Executable graphs: instantiating, changing, launching.
#include "capture.h"
#include "context.h"
#include "event.h"
#include "graph.h"

using namespace simcuda;

namespace {

constexpr unsigned long long kFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                      CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                      CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

Executable* executable_of(CUgraphExec handle) {
    return reinterpret_cast<Executable*>(handle);
}

CUresult make(CUgraphExec* out, CUgraph graph, unsigned long long flags, const GraphNode** offender) {
    if (!out || !graph || (flags & ~kFlags))
        return CUDA_ERROR_INVALID_VALUE;
    // Uploading changes nothing about the result (cuda.h, cuGraphExecGetFlags).
    auto executable = instantiate(*graph_of(graph), flags & ~CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, offender);
    if (!executable)
        return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUgraphExec>(executable.release());
    return CUDA_SUCCESS;
}

// The first two versions: the offending node, and a text for people, which is empty here.
CUresult make_with_log(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t size) {
    const GraphNode* offender = nullptr;
    const CUresult result = make(out, graph, 0, &offender);
    if (error_node)
        *error_node = handle(offender);
    if (log && size)
        *log = '\0';
    return result;
}

CUresult make_with_params(Context* context, DefaultStream meaning, CUgraphExec* out, CUgraph graph,
                          CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    const GraphNode* offender = nullptr;
    params->hErrNode_out = nullptr;
    params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
    if ((params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) && !find_stream(context, params->hUploadStream, meaning))
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = make(out, graph, params->flags, &offender);
    params->hErrNode_out = handle(offender);
    if (result == CUDA_SUCCESS)
        params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    else if (offender)
        params->result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    return result;
}

CUresult change(CUgraphExec graph, CUgraphNode node, NodeParams params) {
    if (!graph || !node)
        return CUDA_ERROR_INVALID_VALUE;
    return set_params(*executable_of(graph), node_of(node), std::move(params));
}

CUresult change_generic(CUgraphExec graph, CUgraphNode node, const CUgraphNodeParams& generic) {
    CUresult error = CUDA_SUCCESS;
    auto params = from_generic(current_context(), generic, &error);
    return params ? change(graph, node, std::move(*params)) : error;
}

template <typename Params>
CUresult change_kernel(CUgraphExec graph, CUgraphNode node, const Params* k, CUkernel kernel, CUcontext context) {
    if (!k)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams generic{};
    generic.type = CU_GRAPH_NODE_TYPE_KERNEL;
    generic.kernel = {k->func,      k->gridDimX,       k->gridDimY,     k->gridDimZ, k->blockDimX, k->blockDimY,
                      k->blockDimZ, k->sharedMemBytes, k->kernelParams, k->extra,    kernel,       context};
    return change_generic(graph, node, generic);
}

Context* named_or_current(CUcontext named) {
    return named ? find_context(named) : current_context();
}

}  // namespace

SIM_ONE(cuGraphInstantiate, (CUgraphExec * out, CUgraph graph, CUgraphNode* error_node, char* log, size_t size),
        { return make_with_log(out, graph, error_node, log, size); })
SIM_ONE(cuGraphInstantiate_v2, (CUgraphExec * out, CUgraph graph, CUgraphNode* error_node, char* log, size_t size),
        { return make_with_log(out, graph, error_node, log, size); })
SIM_ONE(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags), {
    const GraphNode* offender = nullptr;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)  // needs a stream: only with cuGraphInstantiateWithParams
        return CUDA_ERROR_INVALID_VALUE;
    return make(out, graph, flags, &offender);
})
SIM_TWINS(cuGraphInstantiateWithParams, _ptsz,
          (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params),
          { return make_with_params(context, meaning, out, graph, params); })

SIM_PLAIN(cuGraphExecDestroy, (CUgraphExec graph), {
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    delete executable_of(graph);  // launches that were issued have copies of what they need
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphExecGetFlags, (CUgraphExec graph, cuuint64_t* flags), {
    if (!graph || !flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = executable_of(graph)->flags;
    return CUDA_SUCCESS;
})

SIM_TWINS(cuGraphLaunch, _ptsz, (CUgraphExec graph, CUstream handle), {
    const StreamPtr stream = find_stream(context, handle, meaning);
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    return graph ? launch(stream, *executable_of(graph)) : CUDA_ERROR_INVALID_VALUE;
})
// There is nothing to upload.
SIM_TWINS(cuGraphUpload, _ptsz, (CUgraphExec graph, CUstream handle), {
    if (!find_stream(context, handle, meaning))
        return CUDA_ERROR_INVALID_HANDLE;
    return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
})

SIM_PLAIN(cuGraphExecKernelNodeSetParams,
          (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params),
          { return change_kernel(graph, node, params, nullptr, nullptr); })
SIM_PLAIN(cuGraphExecKernelNodeSetParams_v2,
          (CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params), {
              return change_kernel(graph, node, params, params ? params->kern : nullptr,
                                   params ? params->ctx : nullptr);
          })
SIM_PLAIN(
    cuGraphExecMemcpyNodeSetParams, (CUgraphExec graph, CUgraphNode node, const CUDA_MEMCPY3D* copy, CUcontext context),
    {
        return copy ? change(graph, node, MemcpyNode{*copy, named_or_current(context)}) : CUDA_ERROR_INVALID_VALUE;
    })
SIM_PLAIN(
    cuGraphExecMemsetNodeSetParams,
    (CUgraphExec graph, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context), {
        return fill ? change(graph, node, MemsetNode{*fill, named_or_current(context)}) : CUDA_ERROR_INVALID_VALUE;
    })
SIM_PLAIN(cuGraphExecHostNodeSetParams, (CUgraphExec graph, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host), {
    return host ? change(graph, node, HostNode{host->fn, host->userData}) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuGraphExecChildGraphNodeSetParams, (CUgraphExec graph, CUgraphNode node, CUgraph child), {
    return child ? change(graph, node, ChildNode{std::make_shared<Graph>(*graph_of(child))}) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec graph, CUgraphNode node, CUevent event), {
    return change(graph, node, EventRecordNode{event, find_event(event)});
})
SIM_PLAIN(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec graph, CUgraphNode node, CUevent event), {
    return change(graph, node, EventWaitNode{event, find_event(event)});
})
SIM_PLAIN(cuGraphExecNodeSetParams, (CUgraphExec graph, CUgraphNode node, CUgraphNodeParams* params),
          { return params ? change_generic(graph, node, *params) : CUDA_ERROR_INVALID_VALUE; })

SIM_PLAIN(cuGraphNodeSetEnabled, (CUgraphExec graph, CUgraphNode node, unsigned enabled), {
    ExecutableNode* own = graph ? executable_of(graph)->find(node_of(node)) : nullptr;
    // cuda.h: kernel, memset and memcpy nodes only.
    if (!own || type_of(own->params) > CU_GRAPH_NODE_TYPE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    own->enabled = enabled != 0;
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphNodeGetEnabled, (CUgraphExec graph, CUgraphNode node, unsigned* enabled), {
    const ExecutableNode* own = graph ? executable_of(graph)->find(node_of(node)) : nullptr;
    if (!own || !enabled || type_of(own->params) > CU_GRAPH_NODE_TYPE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    *enabled = own->enabled;
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphExecUpdate,
          (CUgraphExec executable, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* out), {
              if (!executable || !graph || !out)
                  return CUDA_ERROR_INVALID_VALUE;
              CUgraphExecUpdateResultInfo info{};
              const CUresult result = update(*executable_of(executable), *graph_of(graph), &info);
              *out = info.result;
              if (error_node)
                  *error_node = info.errorNode;
              return result;
          })
SIM_PLAIN(cuGraphExecUpdate_v2, (CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* info), {
    if (!executable || !graph || !info)
        return CUDA_ERROR_INVALID_VALUE;
    return update(*executable_of(executable), *graph_of(graph), info);
})
