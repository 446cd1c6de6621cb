// What a graph node does, as the program described it. Nothing is resolved before a launch: memory is looked at when
// the graph runs, so that a graph which outlives its buffer finds whatever is there then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "calls.h"
#include "cuda_symbols.h"
#include "kernels.h"
#include "region.h"
#include "stream.h"

namespace simcuda {

struct Context;
struct Event;
struct Graph;

// The node's own copies of a kernel's arguments (cuda.h, cuLaunchKernel and cuGraphAddKernelNode: the caller may reuse
// its memory at once). Empty where the sizes are unknown, see simcuda_kernel.h.
struct Arguments {
    Arguments(const Kernel& kernel, void** parameters);

    std::vector<std::vector<char>> values;
    std::vector<void*> pointers;  // into values, as a getter returns them
};

struct KernelNode {
    const Kernel* kernel = nullptr;
    SimDim3 grid{};
    SimDim3 block{};
    unsigned shared_bytes = 0;
    std::shared_ptr<Arguments> arguments;
    Context* context = nullptr;
};
struct MemcpyNode {
    CUDA_MEMCPY3D copy{};
    Context* context = nullptr;
};
struct MemsetNode {
    CUDA_MEMSET_NODE_PARAMS fill{};
    Context* context = nullptr;
};
struct HostNode {
    CUhostFn function = nullptr;
    void* data = nullptr;
};
struct ChildNode {
    std::shared_ptr<Graph> graph;  // the node's own; a copy of the node copies it too
};
struct EmptyNode {};
struct EventRecordNode {
    CUevent handle = nullptr;
    std::shared_ptr<Event> event;
};
struct EventWaitNode {
    CUevent handle = nullptr;
    std::shared_ptr<Event> event;
};
struct BatchNode {
    std::vector<CUstreamBatchMemOpParams> operations;
    unsigned flags = 0;
    Context* context = nullptr;
};
// Memory of a graph is there from the capture to the release by the program; the nodes only say so.
struct AllocNode {
    CUmemPoolProps properties{};
    std::size_t size = 0;
    CUdeviceptr address = 0;
};
struct FreeNode {
    CUdeviceptr address = 0;
};
struct CopyRegions {
    Region to, from;
    Direction direction = Direction::d2d;
};
// A captured command that has no description: its type can be asked for, its parameters cannot.
struct OpaqueNode {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    Engine engine = Engine::none;
    std::function<void()> work;
    std::shared_ptr<const CopyRegions> copy = {};  // of a copy
};

using NodeParams = std::variant<KernelNode, MemcpyNode, MemsetNode, HostNode, ChildNode, EmptyNode, EventRecordNode,
                                EventWaitNode, BatchNode, AllocNode, FreeNode, OpaqueNode>;

CUgraphNodeType type_of(const NodeParams& params);

// The generic description (cuGraphAddNode) and back. An empty result means CUDA_ERROR_INVALID_VALUE, and `error` says
// when it is another. The context is the one to run in where the parameters name none.
std::optional<NodeParams> from_generic(Context* context, const CUgraphNodeParams& generic, CUresult* error);

// CUDA_ERROR_INVALID_VALUE for parameters that no node may have, whatever the entry point.
CUresult check(const NodeParams& params);

// What an executable graph runs for one node: nothing for an engine of its own means a marker.
struct NodeCommand {
    Engine engine = Engine::none;
    std::function<void()> work;
};
NodeCommand command_of(const NodeParams& params);

// Runs a kernel on the calling engine thread; a fault becomes the context's sticky error.
void run_kernel(const KernelNode& node);

}  // namespace simcuda
