// Graphs: nodes with edges, and executable copies of them. An executable graph runs its nodes one after the other in a
// topological order; the parallelism of a real graph is not modelled. As in the real driver a graph is not thread-safe
// (cuda.h, "graph object thread safety").
#pragma once

#include <memory>
#include <vector>

#include "node_params.h"

namespace simcuda {

struct GraphNode {
    Graph* graph = nullptr;
    const GraphNode* copied_from = nullptr;  // for cuGraphNodeFindInClone
    NodeParams params;
    std::vector<GraphNode*> dependencies;  // in the order in which the edges were added
};

struct Graph {
    Graph() = default;
    Graph(const Graph& other);  // deep, with the same order of nodes and edges
    Graph& operator=(const Graph&) = delete;

    std::vector<std::unique_ptr<GraphNode>> nodes;  // in the order in which they were added

    bool holds(const GraphNode* node) const;
    // Null when a dependency is none of this graph's nodes or named twice.
    GraphNode* add(NodeParams params, const std::vector<GraphNode*>& dependencies);
    void remove(GraphNode* node);
    std::size_t index_of(const GraphNode* node) const;
    // Indices of all nodes, each after what it depends on. Of a graph with a cycle those that can be ordered.
    std::vector<std::size_t> order() const;
};

inline Graph* graph_of(CUgraph handle) {
    return reinterpret_cast<Graph*>(handle);
}
inline GraphNode* node_of(CUgraphNode handle) {
    return reinterpret_cast<GraphNode*>(handle);
}
inline CUgraph handle(const Graph* graph) {
    return reinterpret_cast<CUgraph>(const_cast<Graph*>(graph));
}
inline CUgraphNode handle(const GraphNode* node) {
    return reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(node));
}

struct ExecutableNode {
    const GraphNode* origin = nullptr;  // the handle by which the program names it
    NodeParams params;
    bool enabled = true;
    std::vector<std::size_t> dependencies;
    std::vector<ExecutableNode> children;  // of a child graph, in topological order
};

struct Executable {
    unsigned long long flags = 0;
    std::vector<ExecutableNode> nodes;  // in topological order
    std::vector<std::size_t> position;  // of the original's nth node
    CompletionPtr last;                 // of the last launch: launches of one executable do not overlap

    // Also the nodes of child graphs. Null for a node of another graph.
    ExecutableNode* find(const GraphNode* node);
};

// Null, and the node that cannot be ordered, for a graph with a cycle.
std::unique_ptr<Executable> instantiate(const Graph& graph, unsigned long long flags, const GraphNode** offender);
CUresult launch(const StreamPtr& stream, Executable& executable);
// Gives the node new parameters, of which later launches know.
CUresult set_params(Executable& executable, const GraphNode* node, NodeParams params);
CUresult update(Executable& executable, const Graph& graph, CUgraphExecUpdateResultInfo* info);

}  // namespace simcuda
