#include "graph.h"

#include <algorithm>

namespace simcuda {

Graph::Graph(const Graph& other) {
    for (const auto& node : other.nodes) {
        auto copy = std::make_unique<GraphNode>();
        copy->graph = this;
        copy->copied_from = node.get();
        copy->params = node->params;
        if (auto* child = std::get_if<ChildNode>(&copy->params))
            child->graph = std::make_shared<Graph>(*child->graph);
        nodes.push_back(std::move(copy));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const GraphNode* dependency : other.nodes[i]->dependencies)
            nodes[i]->dependencies.push_back(nodes[other.index_of(dependency)].get());
}

bool Graph::holds(const GraphNode* node) const {
    return index_of(node) < nodes.size();
}

std::size_t Graph::index_of(const GraphNode* node) const {
    const auto it = std::find_if(nodes.begin(), nodes.end(), [&](const auto& own) { return own.get() == node; });
    return static_cast<std::size_t>(it - nodes.begin());
}

GraphNode* Graph::add(NodeParams params, const std::vector<GraphNode*>& dependencies) {
    for (std::size_t i = 0; i < dependencies.size(); ++i) {
        const auto rest = dependencies.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        if (!holds(dependencies[i]) || std::find(rest, dependencies.end(), dependencies[i]) != dependencies.end())
            return nullptr;
    }
    auto node = std::make_unique<GraphNode>();
    node->graph = this;
    node->params = std::move(params);
    node->dependencies = dependencies;
    nodes.push_back(std::move(node));
    return nodes.back().get();
}

void Graph::remove(GraphNode* node) {
    for (const auto& other : nodes)
        std::erase(other->dependencies, node);
    std::erase_if(nodes, [&](const auto& own) { return own.get() == node; });
}

std::vector<std::size_t> Graph::order() const {
    std::vector<std::size_t> sorted;
    std::vector<bool> placed(nodes.size());
    // A pass per level is quadratic at worst; nodes that come in order, as captured ones do, need one pass.
    for (bool progress = true; progress && sorted.size() < nodes.size();) {
        progress = false;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const auto& before = nodes[i]->dependencies;
            if (placed[i] || !std::all_of(before.begin(), before.end(),
                                          [&](const GraphNode* node) { return placed[index_of(node)]; }))
                continue;
            placed[i] = true;
            sorted.push_back(i);
            progress = true;
        }
    }
    return sorted;
}

}  // namespace simcuda
