#include "graph_book.h"

#include "memory.h"

namespace pincheck {

// Where all places of a probe are taken, the first is replaced: with very many nodes some copies lose the place they
// came from, never their counts.
std::size_t GraphBook::origin_slot(std::uintptr_t destination, std::uintptr_t source, std::uint64_t bytes) noexcept {
    std::uint64_t mixed = (destination ^ (source << 17) ^ (source >> 47)) * 0x9e3779b97f4a7c15ull;
    mixed ^= (bytes + (mixed >> 29)) * 0xd6e8feb86659fd93ull;
    return static_cast<std::size_t>(mixed >> 32) & (kOrigins - 1);
}

bool GraphBook::make_tables() noexcept {
    if (origins_ == nullptr) {
        origins_ = map_array<GraphOrigin>(kOrigins);
    }
    if (buckets_.load(std::memory_order_relaxed) == nullptr) {
        buckets_.store(map_array<std::atomic<ExecGraph*>>(kBuckets), std::memory_order_release);
    }
    return origins_ != nullptr && buckets_.load(std::memory_order_relaxed) != nullptr;
}

void GraphBook::remember(const GraphOrigin& origin) noexcept {
    if (origin.site == 0) {
        return;
    }
    const std::lock_guard lock(mutex_);
    if (!make_tables()) {
        return;
    }
    const std::size_t home = origin_slot(origin.destination, origin.source, origin.bytes);
    GraphOrigin* place = &origins_[home];
    for (std::size_t i = 0; i < kProbes; ++i) {
        GraphOrigin& entry = origins_[(home + i) & (kOrigins - 1)];
        if (entry.site == 0 ||
            (entry.destination == origin.destination && entry.source == origin.source && entry.bytes == origin.bytes)) {
            place = &entry;
            break;
        }
    }
    *place = origin;
}

GraphOrigin GraphBook::origin_of(std::uintptr_t destination, std::uintptr_t source,
                                 std::uint64_t bytes) const noexcept {
    const std::lock_guard lock(mutex_);
    if (origins_ == nullptr) {
        return {};
    }
    const std::size_t home = origin_slot(destination, source, bytes);
    for (std::size_t i = 0; i < kProbes; ++i) {
        const GraphOrigin& entry = origins_[(home + i) & (kOrigins - 1)];
        if (entry.site != 0 && entry.destination == destination && entry.source == source && entry.bytes == bytes) {
            return entry;
        }
    }
    return {};
}

std::atomic<ExecGraph*>& GraphBook::bucket(std::uintptr_t handle) const noexcept {
    const std::size_t index = static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15ull) >> 54);
    return buckets_.load(std::memory_order_acquire)[index];
}

ExecGraph* GraphBook::begin(std::uintptr_t handle) noexcept {
    const std::lock_guard lock(mutex_);
    if (!make_tables()) {
        return nullptr;
    }
    std::atomic<ExecGraph*>& head = bucket(handle);
    for (ExecGraph* graph = head.load(); graph != nullptr; graph = graph->next_.load()) {
        if (graph->handle_.load() == handle) {
            graph->count_ = 0;
            graph->may_wait_.store(false, std::memory_order_relaxed);
            return graph;
        }
    }
    ExecGraph* graph = free_;
    if (graph != nullptr) {
        free_ = graph->next_.load();
    } else {
        constexpr std::size_t kAtOnce = 4096 / sizeof(ExecGraph);
        graph = map_array<ExecGraph>(kAtOnce);
        if (graph == nullptr) {
            return nullptr;
        }
        for (std::size_t i = 1; i < kAtOnce; ++i) {
            graph[i].next_.store(free_);
            free_ = &graph[i];
        }
    }
    graph->may_wait_.store(false, std::memory_order_relaxed);
    graph->count_ = 0;
    graph->handle_.store(handle);
    graph->next_.store(head.load());
    head.store(graph, std::memory_order_release);
    return graph;
}

void GraphBook::forget(std::uintptr_t handle) noexcept {
    const std::lock_guard lock(mutex_);
    if (buckets_.load(std::memory_order_relaxed) == nullptr) {
        return;
    }
    std::atomic<ExecGraph*>* link = &bucket(handle);
    while (ExecGraph* graph = link->load()) {
        if (graph->handle_.load() == handle) {
            link->store(graph->next_.load());
            graph->handle_.store(0);
            unmap_memory(graph->work_, graph->capacity_ * sizeof(GraphWork));
            graph->work_ = nullptr;
            graph->count_ = 0;
            graph->capacity_ = 0;
            graph->next_.store(free_);
            free_ = graph;
            return;
        }
        link = &graph->next_;
    }
}

bool GraphBook::add(ExecGraph& graph, const GraphWork& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (graph.count_ == graph.capacity_) {
        const std::size_t capacity = graph.capacity_ == 0 ? 4096 / sizeof(GraphWork) : graph.capacity_ * 2;
        auto* larger = map_array<GraphWork>(capacity);
        if (larger == nullptr) {
            return false;
        }
        for (std::size_t i = 0; i < graph.count_; ++i) {
            larger[i] = graph.work_[i];
        }
        unmap_memory(graph.work_, graph.capacity_ * sizeof(GraphWork));
        graph.work_ = larger;
        graph.capacity_ = capacity;
    }
    graph.work_[graph.count_++] = work;
    return true;
}

void GraphBook::remove_node(ExecGraph& graph, std::uintptr_t node) noexcept {
    const std::lock_guard lock(mutex_);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < graph.count_; ++i) {
        if (graph.work_[i].top_node != node) {
            graph.work_[kept++] = graph.work_[i];
        }
    }
    graph.count_ = kept;
}

void GraphBook::keep_names(ExecGraph& graph, const GraphWork* names) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < graph.count_; ++i) {
        graph.work_[i].node = names[i].node;
        graph.work_[i].top_node = names[i].top_node;
        graph.work_[i].enabled = names[i].enabled;
    }
}

void GraphBook::enable_node(ExecGraph& graph, std::uintptr_t node, bool enabled) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < graph.count_; ++i) {
        if (graph.work_[i].top_node == node) {
            graph.work_[i].enabled = enabled;
        }
    }
}

// Graphs are recycled, never unmapped: a walk that meets one on its way from list to list ends early and is repeated
// under the lock.
ExecGraph* GraphBook::find(std::uintptr_t handle) const noexcept {
    if (buckets_.load(std::memory_order_acquire) == nullptr) {
        return nullptr;
    }
    constexpr int kLongestWalk = 64;
    ExecGraph* graph = bucket(handle).load(std::memory_order_acquire);
    for (int i = 0; graph != nullptr && i < kLongestWalk; ++i) {
        if (graph->handle_.load(std::memory_order_relaxed) == handle) {
            return graph;
        }
        graph = graph->next_.load(std::memory_order_acquire);
    }
    const std::lock_guard lock(mutex_);
    for (graph = bucket(handle).load(); graph != nullptr; graph = graph->next_.load()) {
        if (graph->handle_.load() == handle) {
            return graph;
        }
    }
    return nullptr;
}

}  // namespace pincheck
