// Graphs: making, copying and asking for their structure. Handles are the objects' addresses.
#include <algorithm>

#include "context.h"
#include "graph.h"

using namespace simcuda;

namespace {

// How arrays are handed out (cuda.h, cuGraphGetNodes): without an array the count; otherwise as many as fit, the rest
// null, and the number that was filled in.
CUresult give(const std::vector<CUgraphNode>& found, CUgraphNode* out, size_t* count) {
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t room = *count;
    *count = out ? std::min(room, found.size()) : found.size();
    if (!out)
        return CUDA_SUCCESS;
    for (size_t i = 0; i < room; ++i)
        out[i] = i < found.size() ? found[i] : nullptr;
    return CUDA_SUCCESS;
}

std::vector<CUgraphNode> handles(const std::vector<GraphNode*>& nodes) {
    std::vector<CUgraphNode> out;
    for (const GraphNode* node : nodes)
        out.push_back(handle(node));
    return out;
}

std::vector<GraphNode*> dependents(const GraphNode* node) {
    std::vector<GraphNode*> out;
    for (const auto& other : node->graph->nodes)
        if (std::find(other->dependencies.begin(), other->dependencies.end(), node) != other->dependencies.end())
            out.push_back(other.get());
    return out;
}

#if CUDA_VERSION >= 12030
// Every edge is a plain one.
CUresult give_edge_data(CUgraphEdgeData* data, CUresult result, const size_t* count) {
    if (data && result == CUDA_SUCCESS)
        std::fill_n(data, *count, CUgraphEdgeData{});
    return result;
}
#endif

CUresult edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    if (!graph || !count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> begins, ends;
    for (const auto& node : graph_of(graph)->nodes)
        for (const GraphNode* dependency : node->dependencies) {
            begins.push_back(handle(dependency));
            ends.push_back(handle(node.get()));
        }
    size_t room = *count;
    give(begins, from, &room);
    return give(ends, to, count);
}

// cuda.h, cuGraphAddDependencies and cuGraphRemoveDependencies: an edge that exists already, or does not, is an error.
CUresult change_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count, bool add) {
    if (!graph || (count && (!from || !to)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
        GraphNode* const begin = node_of(from[i]);
        GraphNode* const end = node_of(to[i]);
        if (!graph_of(graph)->holds(begin) || !graph_of(graph)->holds(end) || begin == end)
            return CUDA_ERROR_INVALID_VALUE;
        const bool exists = std::count(end->dependencies.begin(), end->dependencies.end(), begin) != 0;
        if (exists == add)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; ++i) {
        auto& dependencies = node_of(to[i])->dependencies;
        if (add)
            dependencies.push_back(node_of(from[i]));
        else
            std::erase(dependencies, node_of(from[i]));
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIM_PLAIN(cuGraphCreate, (CUgraph * out, unsigned flags), {
    if (!out || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle(new Graph);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphDestroy, (CUgraph graph), {
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    delete graph_of(graph);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphClone, (CUgraph * out, CUgraph graph), {
    if (!out || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle(new Graph(*graph_of(graph)));
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphNodeFindInClone, (CUgraphNode * out, CUgraphNode original, CUgraph clone), {
    if (!out || !original || !clone)
        return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : graph_of(clone)->nodes)
        if (node->copied_from == node_of(original)) {
            *out = handle(node.get());
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
})

SIM_PLAIN(cuGraphDestroyNode, (CUgraphNode node), {
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    node_of(node)->graph->remove(node_of(node));
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType* type), {
    if (!node || !type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = type_of(node_of(node)->params);
    return CUDA_SUCCESS;
})

SIM_PLAIN(cuGraphGetNodes, (CUgraph graph, CUgraphNode* nodes, size_t* count), {
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> all;
    for (const auto& node : graph_of(graph)->nodes)
        all.push_back(handle(node.get()));
    return give(all, nodes, count);
})

SIM_PLAIN(cuGraphGetRootNodes, (CUgraph graph, CUgraphNode* nodes, size_t* count), {
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> roots;
    for (const auto& node : graph_of(graph)->nodes)
        if (node->dependencies.empty())
            roots.push_back(handle(node.get()));
    return give(roots, nodes, count);
})

SIM_PLAIN(cuGraphGetEdges, (CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count),
          { return edges(graph, from, to, count); })
SIM_PLAIN(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode* nodes, size_t* count),
          { return node ? give(handles(node_of(node)->dependencies), nodes, count) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuGraphNodeGetDependentNodes, (CUgraphNode node, CUgraphNode* nodes, size_t* count),
          { return node ? give(handles(dependents(node_of(node))), nodes, count) : CUDA_ERROR_INVALID_VALUE; })
SIM_PLAIN(cuGraphAddDependencies, (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count),
          { return change_edges(graph, from, to, count, true); })
SIM_PLAIN(cuGraphRemoveDependencies, (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count),
          { return change_edges(graph, from, to, count, false); })

#if CUDA_VERSION >= 12030
SIM_PLAIN(cuGraphGetEdges_v2, (CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count),
          { return give_edge_data(data, edges(graph, from, to, count), count); })
SIM_PLAIN(cuGraphNodeGetDependencies_v2, (CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count), {
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    return give_edge_data(data, give(handles(node_of(node)->dependencies), nodes, count), count);
})
SIM_PLAIN(cuGraphNodeGetDependentNodes_v2, (CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count),
          {
              if (!node)
                  return CUDA_ERROR_INVALID_VALUE;
              return give_edge_data(data, give(handles(dependents(node_of(node))), nodes, count), count);
          })
SIM_PLAIN(cuGraphAddDependencies_v2,
          (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*, size_t count),
          { return change_edges(graph, from, to, count, true); })
SIM_PLAIN(cuGraphRemoveDependencies_v2,
          (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*, size_t count),
          { return change_edges(graph, from, to, count, false); })
#endif
