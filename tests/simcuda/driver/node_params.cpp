#include "node_params.h"

#include <chrono>
#include <thread>

#include "context.h"
#include "event.h"
#include "graph.h"
#include "memcpy_node.h"
#include "memory_operation.h"
#include "settings.h"
#include "transfer.h"

namespace simcuda {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};

Context* context_or(CUcontext handle, Context* otherwise) {
    return handle ? find_context(handle) : otherwise;
}

std::optional<NodeParams> kernel_from(Context* context, const CUDA_KERNEL_NODE_PARAMS_v3& k, CUresult* error) {
    const void* function = k.func ? static_cast<const void*>(k.func) : k.kern;
    if (!is_kernel(function)) {
        *error = CUDA_ERROR_INVALID_HANDLE;
        return std::nullopt;
    }
    if (k.extra) {  // packed parameter buffers would need the machine code's layout
        *error = k.kernelParams ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
        return std::nullopt;
    }
    const auto* kernel = static_cast<const Kernel*>(function);
    return KernelNode{kernel,
                      SimDim3{k.gridDimX, k.gridDimY, k.gridDimZ},
                      SimDim3{k.blockDimX, k.blockDimY, k.blockDimZ},
                      k.sharedMemBytes,
                      std::make_shared<Arguments>(*kernel, k.kernelParams),
                      context_or(k.func ? nullptr : k.ctx, context)};
}

}  // namespace

Arguments::Arguments(const Kernel& kernel, void** parameters) {
    if (!kernel.argument_sizes || !parameters)
        return;
    for (const std::size_t* size = kernel.argument_sizes; *size; ++size, ++parameters)
        values.emplace_back(static_cast<char*>(*parameters), static_cast<char*>(*parameters) + *size);
    for (auto& value : values)
        pointers.push_back(value.data());
}

CUgraphNodeType type_of(const NodeParams& params) {
    return std::visit(Overloaded{[](const KernelNode&) { return CU_GRAPH_NODE_TYPE_KERNEL; },
                                 [](const MemcpyNode&) { return CU_GRAPH_NODE_TYPE_MEMCPY; },
                                 [](const MemsetNode&) { return CU_GRAPH_NODE_TYPE_MEMSET; },
                                 [](const HostNode&) { return CU_GRAPH_NODE_TYPE_HOST; },
                                 [](const ChildNode&) { return CU_GRAPH_NODE_TYPE_GRAPH; },
                                 [](const EmptyNode&) { return CU_GRAPH_NODE_TYPE_EMPTY; },
                                 [](const EventRecordNode&) { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; },
                                 [](const EventWaitNode&) { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; },
                                 [](const BatchNode&) { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; },
                                 [](const AllocNode&) { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; },
                                 [](const FreeNode&) { return CU_GRAPH_NODE_TYPE_MEM_FREE; },
                                 [](const OpaqueNode& node) { return node.type; }},
                      params);
}

std::optional<NodeParams> from_generic(Context* context, const CUgraphNodeParams& generic, CUresult* error) {
    *error = CUDA_ERROR_INVALID_VALUE;
    switch (generic.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return kernel_from(context, generic.kernel, error);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            if (generic.memcpy.flags != 0 || generic.memcpy.reserved != 0)
                return std::nullopt;
            return MemcpyNode{generic.memcpy.copyParams, context_or(generic.memcpy.copyCtx, context)};
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            const auto& m = generic.memset;
            return MemsetNode{{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height}, context_or(m.ctx, context)};
        }
        case CU_GRAPH_NODE_TYPE_HOST:
            return HostNode{generic.host.fn, generic.host.userData};
        case CU_GRAPH_NODE_TYPE_GRAPH:
            if (!generic.graph.graph)
                return std::nullopt;
            return ChildNode{std::make_shared<Graph>(*graph_of(generic.graph.graph))};
        case CU_GRAPH_NODE_TYPE_EMPTY:
            return EmptyNode{};
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            return EventRecordNode{generic.eventRecord.event, find_event(generic.eventRecord.event)};
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            return EventWaitNode{generic.eventWait.event, find_event(generic.eventWait.event)};
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
            const auto& m = generic.memOp;
            if (!m.paramArray)
                return std::nullopt;
            return BatchNode{{m.paramArray, m.paramArray + m.count}, m.flags, context_or(m.ctx, context)};
        }
        default:
            *error = CUDA_ERROR_NOT_SUPPORTED;
            return std::nullopt;
    }
}

CUresult check(const NodeParams& params) {
    const auto valid = [](bool answer) { return answer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; };
    return std::visit(
        Overloaded{[&](const KernelNode& node) {
                       const unsigned long threads = 1ul * node.block.x * node.block.y * node.block.z;
                       return valid(threads > 0 && threads <= 1024 && node.grid.x && node.grid.y && node.grid.z);
                   },
                   [&](const MemcpyNode& node) { return check_copy(node.copy); },
                   [&](const MemsetNode& node) { return check_fill(node.fill); },
                   [&](const HostNode& node) { return valid(node.function != nullptr); },
                   [&](const EventRecordNode& node) { return valid(node.event != nullptr); },
                   [&](const EventWaitNode& node) { return valid(node.event != nullptr); },
                   [&](const BatchNode& node) { return check_operations(node.operations); },
                   [&](const auto&) { return CUDA_SUCCESS; }},
        params);
}

NodeCommand command_of(const NodeParams& params) {
    return std::visit(
        Overloaded{[](const KernelNode& node) {
                       return NodeCommand{Engine::compute, [node] { run_kernel(node); }};
                   },
                   [](const MemcpyNode& node) {
                       return NodeCommand{engine_of(direction_of(node.copy)), [copy = node.copy] { run_copy(copy); }};
                   },
                   [](const MemsetNode& node) {
                       return NodeCommand{Engine::compute, [fill = node.fill] { run_fill(fill); }};
                   },
                   [](const HostNode& node) {
                       return NodeCommand{Engine::host, [node] { node.function(node.data); }};
                   },
                   [](const BatchNode& node) {
                       return NodeCommand{Engine::compute, [node] {
                                              for (const auto& operation : node.operations)
                                                  run_operation(operation);
                                          }};
                   },
                   [](const OpaqueNode& node) {
                       return NodeCommand{node.engine, node.work};
                   },
                   [](const auto&) { return NodeCommand{}; }},
        params);
}

void run_kernel(const KernelNode& node) {
    if (!node.kernel->run) {
        if (settings().missing_kernel_us > 0)
            std::this_thread::sleep_for(
                std::chrono::duration<double, std::micro>(settings().missing_kernel_us / settings().speed));
        return;
    }
    // A kernel may change its parameters; a graph runs it again with the ones it was given.
    std::vector<std::vector<char>> values = node.arguments->values;
    std::vector<void*> pointers;
    for (auto& value : values)
        pointers.push_back(value.data());
    int error = 0;
    const SimKernelLaunch launch{node.grid, node.block, node.shared_bytes, pointers.data(), &error};
    node.kernel->run(&launch);
    if (error == 0)
        return;
    std::lock_guard lock(machine().mutex);
    node.context->sticky = static_cast<CUresult>(error);
}

}  // namespace simcuda
