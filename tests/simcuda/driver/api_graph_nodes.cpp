// Graph nodes: adding them, and reading and changing their parameters, each in the old form of its type and in the
// generic one.
#include "calls.h"
#include "context.h"
#include "event.h"
#include "graph.h"
#include "memcpy_node.h"

using namespace simcuda;

namespace {

// Where nodes run that name no context of their own.
Context* named_or_current(CUcontext named) {
    return named ? find_context(named) : current_context();
}

CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count, NodeParams params) {
    if (!out || !graph || (count && !dependencies))
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = check(params); result != CUDA_SUCCESS)
        return result;
    std::vector<GraphNode*> after;
    for (size_t i = 0; i < count; ++i)
        after.push_back(node_of(dependencies[i]));
    const GraphNode* node = graph_of(graph)->add(std::move(params), after);
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle(node);
    return CUDA_SUCCESS;
}

CUresult add_generic(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                     const CUgraphNodeParams& generic) {
    CUresult error = CUDA_SUCCESS;
    auto params = from_generic(current_context(), generic, &error);
    return params ? add(out, graph, dependencies, count, std::move(*params)) : error;
}

CUresult set(CUgraphNode node, NodeParams params) {
    if (!node || node_of(node)->params.index() != params.index())
        return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = check(params); result != CUDA_SUCCESS)
        return result;
    node_of(node)->params = std::move(params);
    return CUDA_SUCCESS;
}

// Null when the node is of another type.
template <typename T>
const T* params_of(CUgraphNode node) {
    return node ? std::get_if<T>(&node_of(node)->params) : nullptr;
}

CUgraphNodeParams generic(const CUDA_KERNEL_NODE_PARAMS_v1& k) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel = {k.func,      k.gridDimX,       k.gridDimY,     k.gridDimZ, k.blockDimX, k.blockDimY,
                     k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra,    nullptr,     nullptr};
    return params;
}
CUgraphNodeParams generic(const CUDA_KERNEL_NODE_PARAMS_v2& k) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel = {k.func,      k.gridDimX,       k.gridDimY,     k.gridDimZ, k.blockDimX, k.blockDimY,
                     k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra,    k.kern,      k.ctx};
    return params;
}

CUresult set_generic(CUgraphNode node, const CUgraphNodeParams& generic) {
    CUresult error = CUDA_SUCCESS;
    auto params = from_generic(current_context(), generic, &error);
    return params ? set(node, std::move(*params)) : error;
}

// The arrays stay the node's own (cuda.h, cuGraphKernelNodeGetParams).
template <typename Params>
CUresult give_kernel(CUgraphNode node, Params* out) {
    const auto* kernel = params_of<KernelNode>(node);
    if (!kernel || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = Params{};
    out->func = reinterpret_cast<CUfunction>(const_cast<Kernel*>(kernel->kernel));
    out->gridDimX = kernel->grid.x;
    out->gridDimY = kernel->grid.y;
    out->gridDimZ = kernel->grid.z;
    out->blockDimX = kernel->block.x;
    out->blockDimY = kernel->block.y;
    out->blockDimZ = kernel->block.z;
    out->sharedMemBytes = kernel->shared_bytes;
    if (!kernel->arguments->pointers.empty())
        out->kernelParams = kernel->arguments->pointers.data();
    return CUDA_SUCCESS;
}

}  // namespace

#define SIM_NODE CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t count

SIM_PLAIN(cuGraphAddKernelNode, (SIM_NODE, const CUDA_KERNEL_NODE_PARAMS_v1* params), {
    return params ? add_generic(out, graph, dependencies, count, generic(*params)) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuGraphAddKernelNode_v2, (SIM_NODE, const CUDA_KERNEL_NODE_PARAMS_v2* params), {
    return params ? add_generic(out, graph, dependencies, count, generic(*params)) : CUDA_ERROR_INVALID_VALUE;
})
SIM_PLAIN(cuGraphAddMemcpyNode, (SIM_NODE, const CUDA_MEMCPY3D* copy, CUcontext context), {
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, dependencies, count, MemcpyNode{*copy, named_or_current(context)});
})
SIM_PLAIN(cuGraphAddMemsetNode, (SIM_NODE, const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context), {
    if (!fill)
        return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, dependencies, count, MemsetNode{*fill, named_or_current(context)});
})
SIM_PLAIN(cuGraphAddHostNode, (SIM_NODE, const CUDA_HOST_NODE_PARAMS* host), {
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, dependencies, count, HostNode{host->fn, host->userData});
})
SIM_PLAIN(cuGraphAddChildGraphNode, (SIM_NODE, CUgraph child), {
    if (!child)
        return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, dependencies, count, ChildNode{std::make_shared<Graph>(*graph_of(child))});
})
SIM_PLAIN(cuGraphAddEmptyNode, (SIM_NODE), { return add(out, graph, dependencies, count, EmptyNode{}); })
SIM_PLAIN(cuGraphAddEventRecordNode, (SIM_NODE, CUevent event), {
    return add(out, graph, dependencies, count, EventRecordNode{event, find_event(event)});
})
SIM_PLAIN(cuGraphAddEventWaitNode, (SIM_NODE, CUevent event), {
    return add(out, graph, dependencies, count, EventWaitNode{event, find_event(event)});
})
SIM_PLAIN(cuGraphAddBatchMemOpNode, (SIM_NODE, const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch), {
    if (!batch || !batch->paramArray || batch->flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return add(out, graph, dependencies, count,
               BatchNode{{batch->paramArray, batch->paramArray + batch->count}, 0, named_or_current(batch->ctx)});
})
SIM_PLAIN(cuGraphAddNode, (SIM_NODE, CUgraphNodeParams* params),
          { return params ? add_generic(out, graph, dependencies, count, *params) : CUDA_ERROR_INVALID_VALUE; })
#if CUDA_VERSION >= 12030
SIM_PLAIN(cuGraphAddNode_v2,
          (CUgraphNode * out, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*, size_t count,
           CUgraphNodeParams* params),
          { return params ? add_generic(out, graph, dependencies, count, *params) : CUDA_ERROR_INVALID_VALUE; })
#endif

SIM_PLAIN(cuGraphNodeSetParams, (CUgraphNode node, CUgraphNodeParams* params),
          { return params ? set_generic(node, *params) : CUDA_ERROR_INVALID_VALUE; })

SIM_PLAIN(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out),
          { return give_kernel(node, out); })
SIM_PLAIN(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out), {
    const CUresult result = give_kernel(node, out);
    if (result == CUDA_SUCCESS)
        out->ctx = handle(params_of<KernelNode>(node)->context);
    return result;
})
SIM_PLAIN(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params),
          { return params ? set_generic(node, generic(*params)) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params),
          { return params ? set_generic(node, generic(*params)) : CUDA_ERROR_INVALID_VALUE; })

SIM_PLAIN(cuGraphMemcpyNodeGetParams, (CUgraphNode node, CUDA_MEMCPY3D* out), {
    const auto* copy = params_of<MemcpyNode>(node);
    if (!copy || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = copy->copy;
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphMemcpyNodeSetParams, (CUgraphNode node, const CUDA_MEMCPY3D* copy), {
    const auto* before = params_of<MemcpyNode>(node);
    if (!before || !copy)
        return CUDA_ERROR_INVALID_VALUE;
    return set(node, MemcpyNode{*copy, before->context});
})

SIM_PLAIN(cuGraphMemsetNodeGetParams, (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out), {
    const auto* fill = params_of<MemsetNode>(node);
    if (!fill || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = fill->fill;
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphMemsetNodeSetParams, (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill), {
    const auto* before = params_of<MemsetNode>(node);
    if (!before || !fill)
        return CUDA_ERROR_INVALID_VALUE;
    return set(node, MemsetNode{*fill, before->context});
})

SIM_PLAIN(cuGraphHostNodeGetParams, (CUgraphNode node, CUDA_HOST_NODE_PARAMS* out), {
    const auto* host = params_of<HostNode>(node);
    if (!host || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = {host->function, host->data};
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphHostNodeSetParams, (CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host), {
    return host ? set(node, HostNode{host->fn, host->userData}) : CUDA_ERROR_INVALID_VALUE;
})

SIM_PLAIN(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph* out), {
    const auto* child = params_of<ChildNode>(node);
    if (!child || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle(child->graph.get());
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphEventRecordNodeGetEvent, (CUgraphNode node, CUevent* out), {
    const auto* record = params_of<EventRecordNode>(node);
    if (!record || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = record->handle;
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphEventRecordNodeSetEvent, (CUgraphNode node, CUevent event), {
    return set(node, EventRecordNode{event, find_event(event)});
})
SIM_PLAIN(cuGraphEventWaitNodeGetEvent, (CUgraphNode node, CUevent* out), {
    const auto* wait = params_of<EventWaitNode>(node);
    if (!wait || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = wait->handle;
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphEventWaitNodeSetEvent, (CUgraphNode node, CUevent event), {
    return set(node, EventWaitNode{event, find_event(event)});
})

// What a captured stream-ordered allocation or release left behind.
SIM_PLAIN(cuGraphMemAllocNodeGetParams, (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* out), {
    const auto* alloc = params_of<AllocNode>(node);
    if (!alloc || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = {alloc->properties, nullptr, 0, alloc->size, alloc->address};
    return CUDA_SUCCESS;
})
SIM_PLAIN(cuGraphMemFreeNodeGetParams, (CUgraphNode node, CUdeviceptr* out), {
    const auto* free = params_of<FreeNode>(node);
    if (!free || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = free->address;
    return CUDA_SUCCESS;
})
