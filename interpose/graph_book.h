// What each executable graph copies at a launch, so that launches can be counted as the copies they do.
//
// A node is known by its parameters, asked from the driver when the graph is instantiated or updated. Where it came
// from (a captured call, or the call that added or changed it) is found by the range it copies: origins are remembered
// by destination, source and bytes, the newest wins.
//
// Thread rules: all members may be called from any thread. CUDA itself forbids launching an executable graph while it
// is being changed or destroyed (CUDA Driver API, "Graph object thread safety"); for programs that do so, counts may be
// wrong and nothing else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>  // lock_guard

#include "api.h"
#include "report/mutex.h"
#include "report/records.h"

namespace pincheck {

struct GraphOrigin {
    std::uintptr_t destination = 0;
    std::uintptr_t source = 0;
    std::uint64_t bytes = 0;
    std::uint32_t site = 0;
    Api api{};
    std::uint32_t stack_thread = 0;  // report's number of the thread on whose stack the host's side was; 0: on none
};

// One copy or fill of an executable graph.
struct GraphWork {
    std::uintptr_t node = 0;      // handle in the graph that was instantiated
    std::uintptr_t top_node = 0;  // the node of the outermost graph that holds it; itself where there is no child graph
    std::uint64_t bytes = 0;
    std::uintptr_t destination_address = 0;
    std::uintptr_t source_address = 0;
    std::uint64_t destination_span = 0;  // 0: `bytes`
    std::uint64_t source_span = 0;
    std::uint32_t stack_thread = 0;  // GraphOrigin
    std::uint32_t origin = 0;        // site
    Api api{};                       // of the origin
    report::SiteKind kind{};
    report::Direction direction{};
    report::Memory destination{};
    report::Memory source{};
    bool enabled = true;
};

class ExecGraph {
  public:
    std::size_t size() const noexcept { return count_; }
    const GraphWork* begin() const noexcept { return work_; }
    const GraphWork* end() const noexcept { return work_ + count_; }

  private:
    friend class GraphBook;
    std::atomic<std::uintptr_t> handle_{0};
    std::atomic<ExecGraph*> next_{nullptr};
    GraphWork* work_ = nullptr;
    std::atomic<bool> may_wait_{false};
    std::size_t count_ = 0;
    std::size_t capacity_ = 0;
};

class GraphBook {
  public:
    GraphBook() = default;
    GraphBook(const GraphBook&) = delete;
    GraphBook& operator=(const GraphBook&) = delete;

    void remember(const GraphOrigin& origin) noexcept;
    // The newest origin of that copy; site 0 when there is none.
    GraphOrigin origin_of(std::uintptr_t destination, std::uintptr_t source, std::uint64_t bytes) const noexcept;

    // Starts the account of an executable graph anew, empty; null when memory is refused.
    ExecGraph* begin(std::uintptr_t handle) noexcept;
    void forget(std::uintptr_t handle) noexcept;
    // A launch of the graph may wait for the host: it holds a host function, a wait for a value or for others' events.
    // True for a graph that has no account.
    void set_may_wait(ExecGraph& graph) noexcept { graph.may_wait_.store(true, std::memory_order_relaxed); }
    bool may_wait(std::uintptr_t handle) const noexcept {
        const ExecGraph* graph = find(handle);
        return graph == nullptr || graph->may_wait_.load(std::memory_order_relaxed);
    }
    // False when memory is refused.
    bool add(ExecGraph& graph, const GraphWork& work) noexcept;
    // Takes out what belongs to a node of the outermost graph.
    void remove_node(ExecGraph& graph, std::uintptr_t node) noexcept;
    // The entries of `graph` take the node names of as many others.
    void keep_names(ExecGraph& graph, const GraphWork* names) noexcept;
    void enable_node(ExecGraph& graph, std::uintptr_t node, bool enabled) noexcept;

    // Null when it was never instantiated under our eyes.
    ExecGraph* find(std::uintptr_t handle) const noexcept;

  private:
    static constexpr std::size_t kBuckets = 1024;
    static constexpr std::size_t kOrigins = 16384;
    static constexpr std::size_t kProbes = 8;

    std::atomic<ExecGraph*>& bucket(std::uintptr_t handle) const noexcept;
    static std::size_t origin_slot(std::uintptr_t destination, std::uintptr_t source, std::uint64_t bytes) noexcept;
    bool make_tables() noexcept;

    mutable Mutex mutex_;
    // Origins: a hash table of fixed size in which newer entries replace older ones.
    GraphOrigin* origins_ = nullptr;
    std::atomic<std::atomic<ExecGraph*>*> buckets_{nullptr};
    ExecGraph* free_ = nullptr;
};

}  // namespace pincheck
