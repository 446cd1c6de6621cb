// Executable graphs: instantiation, launch, and the changes that later launches see.
#include <algorithm>

#include "capture.h"
#include "context.h"
#include "event.h"
#include "graph.h"
#include "memcpy_node.h"
#include "observed.h"

namespace simcuda {
namespace {

ExecutableNode* find_in(std::vector<ExecutableNode>& nodes, const GraphNode* wanted) {
    for (ExecutableNode& node : nodes) {
        if (node.origin == wanted)
            return &node;
        if (ExecutableNode* inner = find_in(node.children, wanted))
            return inner;
    }
    return nullptr;
}

// False for a cycle, here or in a child graph.
bool copy_nodes(const Graph& graph, std::vector<ExecutableNode>* out, std::vector<std::size_t>* position,
                const GraphNode** offender) {
    const std::vector<std::size_t> order = graph.order();
    if (order.size() < graph.nodes.size()) {
        for (std::size_t i = 0; i < graph.nodes.size(); ++i)
            if (std::find(order.begin(), order.end(), i) == order.end())
                *offender = graph.nodes[i].get();
        return false;
    }
    position->assign(graph.nodes.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
        (*position)[order[i]] = i;
    for (const std::size_t index : order) {
        const GraphNode& node = *graph.nodes[index];
        ExecutableNode copy{
            .origin = &node, .params = node.params, .enabled = true, .dependencies = {}, .children = {}};
        for (const GraphNode* dependency : node.dependencies)
            copy.dependencies.push_back((*position)[graph.index_of(dependency)]);
        if (const auto* child = std::get_if<ChildNode>(&node.params)) {
            std::vector<std::size_t> inner;
            if (!copy_nodes(*child->graph, &copy.children, &inner, offender))
                return false;
        }
        out->push_back(std::move(copy));
    }
    return true;
}

// Nodes in the order of execution, child graphs in place.
void flatten(const std::vector<ExecutableNode>& nodes, std::vector<const ExecutableNode*>* out) {
    for (const ExecutableNode& node : nodes) {
        if (std::holds_alternative<ChildNode>(node.params))
            flatten(node.children, out);
        else
            out->push_back(&node);
    }
}

bool one_dimensional(const CUDA_MEMCPY3D& copy) {
    return copy.Height <= 1 && copy.Depth <= 1;
}

// cuda.h, cuGraphExecMemcpyNodeSetParams and cuGraphExecMemsetNodeSetParams: one dimension before and after.
bool may_replace(const NodeParams& before, const NodeParams& after) {
    if (before.index() != after.index())
        return false;
    if (const auto* copy = std::get_if<MemcpyNode>(&before))
        return one_dimensional(copy->copy) && one_dimensional(std::get<MemcpyNode>(after).copy);
    if (const auto* set = std::get_if<MemsetNode>(&before))
        return set->fill.height <= 1 && std::get<MemsetNode>(after).fill.height <= 1;
    return true;
}

bool same_children(const std::vector<ExecutableNode>& before, const std::vector<ExecutableNode>& after) {
    return std::equal(before.begin(), before.end(), after.begin(), after.end(), [](const auto& a, const auto& b) {
        return a.params.index() == b.params.index() && a.dependencies == b.dependencies &&
               same_children(a.children, b.children);
    });
}

// Parameters only: the program goes on naming the nodes of the graph that was instantiated.
void take_params(std::vector<ExecutableNode>& nodes, const std::vector<ExecutableNode>& from) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].params = from[i].params;
        take_params(nodes[i].children, from[i].children);
    }
}

CUgraphExecUpdateResult compare(const Executable& executable, const Graph& graph,
                                const std::vector<ExecutableNode>& nodes, const std::vector<std::size_t>& position,
                                const GraphNode** offender) {
    if (graph.nodes.size() != executable.nodes.size())
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        *offender = graph.nodes[i].get();
        const ExecutableNode& before = executable.nodes[executable.position[i]];
        const ExecutableNode& after = nodes[position[i]];
        if (before.params.index() != after.params.index())
            return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (before.dependencies != after.dependencies || executable.position[i] != position[i] ||
            !same_children(before.children, after.children))
            return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        const auto* copy = std::get_if<MemcpyNode>(&before.params);
        if (!copy)
            continue;
        const CUDA_MEMCPY3D& now = std::get<MemcpyNode>(after.params).copy;
        if (copy->copy.srcMemoryType != now.srcMemoryType || copy->copy.dstMemoryType != now.dstMemoryType)
            return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    *offender = nullptr;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

ExecutableNode* Executable::find(const GraphNode* node) {
    return find_in(nodes, node);
}

std::unique_ptr<Executable> instantiate(const Graph& graph, unsigned long long flags, const GraphNode** offender) {
    auto executable = std::make_unique<Executable>();
    executable->flags = flags;
    if (!copy_nodes(graph, &executable->nodes, &executable->position, offender))
        return nullptr;
    return executable;
}

CUresult launch(const StreamPtr& stream, Executable& executable) {
    // A capturing stream refuses a launch as it refuses a wait, and the capture is invalid from then on (measured:
    // H200, driver 580.159.04, mode global).
    if (const CUresult result = check_wait(stream); result != CUDA_SUCCESS)
        return result;
    std::vector<const ExecutableNode*> nodes;
    flatten(executable.nodes, &nodes);
    std::vector<CompletionPtr> after;
    if (executable.last)
        after.push_back(executable.last);
    // However many nodes it has, a launch takes one slot of the stream's queue.
    Slot slot = Slot::take;
    for (const ExecutableNode* node : nodes) {
        NodeCommand command;
        if (node->enabled)
            command = command_of(node->params);
        if (const auto* wait = std::get_if<EventWaitNode>(&node->params)) {
            std::lock_guard lock(machine().mutex);
            if (wait->event->recorded)
                after.push_back(wait->event->recorded);
        }
        if (const auto copy = node->enabled ? host_copy(node->params) : std::nullopt) {
            machine().submit(stream, Engine::none, nullptr, std::move(after));
            after.clear();
            const CUresult result = copy_at_launch(stream, copy->direction, copy->to, copy->from, &command.work);
            if (result != CUDA_SUCCESS)
                return result;
            if (!command.work)
                command.engine = Engine::none;
        } else if (node->enabled) {
            command.work = with_trace(trace_node(stream, node->params), std::move(command.work));
        }
        const CompletionPtr done = machine().submit(stream, command.engine, std::move(command.work), after, slot);
        if (command.engine != Engine::none && command.engine != Engine::host)
            slot = Slot::none;
        after.clear();
        if (const auto* record = std::get_if<EventRecordNode>(&node->params)) {
            std::lock_guard lock(machine().mutex);
            record->event->recorded = done;
            record->event->capture = nullptr;
        }
        executable.last = done;
    }
    return CUDA_SUCCESS;
}

CUresult set_params(Executable& executable, const GraphNode* node, NodeParams params) {
    ExecutableNode* own = executable.find(node);
    if (!own || !may_replace(own->params, params))
        return CUDA_ERROR_INVALID_VALUE;
    if (const auto* child = std::get_if<ChildNode>(&params)) {
        std::vector<ExecutableNode> nodes;
        std::vector<std::size_t> position;
        const GraphNode* offender = nullptr;
        if (!copy_nodes(*child->graph, &nodes, &position, &offender) || !same_children(own->children, nodes))
            return CUDA_ERROR_INVALID_VALUE;
        take_params(own->children, nodes);
        return CUDA_SUCCESS;
    }
    if (const CUresult result = check(params); result != CUDA_SUCCESS)
        return result;
    own->params = std::move(params);
    return CUDA_SUCCESS;
}

CUresult update(Executable& executable, const Graph& graph, CUgraphExecUpdateResultInfo* info) {
    std::vector<ExecutableNode> nodes;
    std::vector<std::size_t> position;
    const GraphNode* offender = nullptr;
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr, nullptr};
    if (copy_nodes(graph, &nodes, &position, &offender))
        info->result = compare(executable, graph, nodes, position, &offender);
    info->errorNode = offender ? handle(offender) : nullptr;
    if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    take_params(executable.nodes, nodes);
    return CUDA_SUCCESS;
}

}  // namespace simcuda
