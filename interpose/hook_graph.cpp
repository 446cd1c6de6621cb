#include "hook_graph.h"

#include <algorithm>  // copy

#include "clock.h"
#include "cupti_calls.h"
#include "hook_copy.h"
#include "log.h"
#include "memory.h"
#include "real.h"
#include "stream_capture.h"

namespace pincheck {
namespace {

using report::MemoryClass;
using report::SiteKind;

// CUDA sets no limit to child graphs inside child graphs; programs do.
constexpr int kMaxNesting = 16;

// The nodes of a graph in the order the driver gives them, in memory of our own.
class NodeList {
  public:
    NodeList(const Driver& driver, void* graph) noexcept {
        std::size_t count = 0;
        if (driver.graph_get_nodes(graph, nullptr, &count) != 0 || count == 0) {
            return;
        }
        capacity_ = count;
        nodes_ = map_array<void*>(count);
        if (nodes_ == nullptr || driver.graph_get_nodes(graph, nodes_, &count) != 0) {
            complete_ = false;
            return;
        }
        count_ = count < capacity_ ? count : capacity_;
    }
    ~NodeList() { unmap_memory(nodes_, capacity_ * sizeof(void*)); }
    NodeList(const NodeList&) = delete;
    NodeList& operator=(const NodeList&) = delete;

    void** begin() const noexcept { return nodes_; }
    void** end() const noexcept { return nodes_ + count_; }
    bool is_complete() const noexcept { return complete_; }

  private:
    void** nodes_ = nullptr;
    std::size_t count_ = 0;
    std::size_t capacity_ = 0;
    bool complete_ = true;
};

bool can_ask(const State& state, const Driver* driver) noexcept {
    return driver != nullptr && !state.after_fork && !t_thread.driver_owned && driver->graph_get_nodes != nullptr &&
           driver->graph_node_get_type != nullptr && driver->graph_memcpy_node_get_params != nullptr &&
           driver->graph_memset_node_get_params != nullptr && driver->graph_child_get_graph != nullptr;
}

// The account of a graph that is being changed; null, and counted as not classified, where it cannot be kept.
ExecGraph* account_to_change(State& state, const Driver* driver, void* executable) noexcept {
    ExecGraph* account = state.graphs.find(reinterpret_cast<std::uintptr_t>(executable));
    if (account == nullptr || !can_ask(state, driver)) {
        state.image.lose(report::Loss::not_classified, 1, 0, now_ns());
        return nullptr;
    }
    return account;
}

// Bodies of conditional nodes may hold anything.
bool may_wait(int type) noexcept {
    return type == cuda_abi::kNodeHostFunction || type == cuda_abi::kNodeWaitEvent ||
           type == cuda_abi::kNodeExternalWait || type == cuda_abi::kNodeBatchValues ||
           type == cuda_abi::kNodeConditional;
}

// Fills the account of one executable graph.
class Account {
  public:
    Account(State& state, const Driver& driver, ExecGraph& graph, const GraphOrigin& fallback) noexcept
        : state_(state), driver_(driver), graph_(graph), fallback_(fallback) {}

    void add_graph(void* graph, std::uintptr_t top_node, int nesting) noexcept {
        if (nesting > kMaxNesting) {
            lost();
            return;
        }
        const NodeList nodes(driver_, graph);
        if (!nodes.is_complete()) {
            lost();
        }
        for (void* node : nodes) {
            const auto number = reinterpret_cast<std::uintptr_t>(node);
            add_node(node, top_node != 0 ? top_node : number, nesting);
        }
    }

    void add_work(const CopyArguments& work, std::uintptr_t node, std::uintptr_t top_node) noexcept {
        const AskedSides sides = ask_sides(state_, work, true);
        GraphOrigin origin = state_.graphs.origin_of(work.destination, work.source, work.bytes);
        if (origin.site == 0) {
            origin = fallback_;
        }
        GraphWork entry;
        entry.node = node;
        entry.top_node = top_node;
        entry.bytes = work.bytes;
        entry.destination_address = work.destination;
        entry.source_address = work.source;
        entry.destination_span = work.destination_span;
        entry.source_span = work.source_span;
        entry.stack_thread = origin.stack_thread;
        entry.origin = origin.site;
        entry.api = origin.api;
        entry.kind = work.kind;
        entry.direction = sides.direction;
        entry.destination = sides.destination;
        entry.source = sides.source;
        if (!state_.graphs.add(graph_, entry)) {
            lost();
        }
    }

  private:
    void add_node(void* node, std::uintptr_t top_node, int nesting) noexcept {
        const auto number = reinterpret_cast<std::uintptr_t>(node);
        int type = -1;
        if (driver_.graph_node_get_type(node, &type) != 0) {
            lost();
        } else if (type == cuda_abi::kNodeMemcpy) {
            cuda_abi::Copy3DV2 copy{};
            if (driver_.graph_memcpy_node_get_params(node, &copy) == 0) {
                add_work(describe(copy), number, top_node);
            } else {
                lost();
            }
        } else if (type == cuda_abi::kNodeMemset) {
            cuda_abi::MemsetNode fill{};
            if (driver_.graph_memset_node_get_params(node, &fill) == 0) {
                add_work(describe(fill), number, top_node);
            } else {
                lost();
            }
        } else if (type == cuda_abi::kNodeChildGraph) {
            void* child = nullptr;
            if (driver_.graph_child_get_graph(node, &child) == 0 && child != nullptr) {
                add_graph(child, top_node, nesting + 1);
            } else {
                lost();
            }
        } else if (type == cuda_abi::kNodeRecordEvent) {
            void* event = nullptr;
            if (driver_.graph_record_node_get_event != nullptr &&
                driver_.graph_record_node_get_event(node, &event) == 0) {
                state_.streams.event_is_foreign(reinterpret_cast<std::uintptr_t>(event));
            }
        } else if (may_wait(type)) {
            state_.graphs.set_may_wait(graph_);
        }
    }

    void lost() noexcept {
        state_.image.lose(report::Loss::not_classified, 1, 0, now_ns());
        state_.graphs.set_may_wait(graph_);
    }

    State& state_;
    const Driver& driver_;
    ExecGraph& graph_;
    GraphOrigin fallback_;
};

// Launches wait for copies to and from pageable memory as copy calls do (measured: H200, driver 580.159.04: a graph
// with a pageable download, or a pageable upload of 16 MiB, waited for the kernel before it; page-locked ones did not).
bool makes_wait(const GraphWork& work) noexcept {
    return work.enabled && work.kind == SiteKind::copy && work.direction != report::Direction::device_to_device &&
           is_offender(work.destination, work.source);
}

bool same_memory(const report::Memory& a, const report::Memory& b) noexcept {
    return a.kind == b.kind && a.flags == b.flags;
}

}  // namespace

void GraphHook::instantiated(void* executable, void* graph) noexcept {
    const KeepErrno keep;
    const Driver* known = driver();
    ExecGraph* account = state().graphs.begin(reinterpret_cast<std::uintptr_t>(executable));
    if (account == nullptr || !can_ask(state(), known)) {
        state().image.lose(report::Loss::not_classified, 1, 0, now_ns());
        if (account != nullptr) {
            state().graphs.set_may_wait(*account);
        }
        return;
    }
    Account(state(), *known, *account, {0, 0, 0, site(), api()}).add_graph(graph, 0, 0);
}

// The nodes keep the names they had when the graph was instantiated: by those the program changes them (CUDA Driver
// API, cuGraphExecUpdate: both graphs have the same nodes in the same order).
void GraphHook::updated(void* executable, void* graph) noexcept {
    const KeepErrno keep;
    ExecGraph* account = state().graphs.find(reinterpret_cast<std::uintptr_t>(executable));
    if (account == nullptr) {
        instantiated(executable, graph);
        return;
    }
    const std::size_t count = account->size();
    auto* before = map_array<GraphWork>(count + 1);
    if (before != nullptr) {
        std::copy(account->begin(), account->end(), before);
    }
    instantiated(executable, graph);
    if (before != nullptr && account->size() == count) {
        state().graphs.keep_names(*account, before);
    }
    unmap_memory(before, (count + 1) * sizeof(GraphWork));
}

void GraphHook::node_changed(void* executable, void* node, const CopyArguments& work) noexcept {
    const KeepErrno keep;
    const Driver* known = driver();
    const auto number = reinterpret_cast<std::uintptr_t>(node);
    ExecGraph* account = account_to_change(state(), known, executable);
    if (account == nullptr) {
        return;
    }
    // Another buffer of the same kind stays the work of the place that made the node; another kind of memory is the
    // work of this call.
    GraphOrigin origin{0, 0, 0, site(), api(), 0};
    const AskedSides sides = ask_sides(state(), work, true);
    for (const GraphWork& old : *account) {
        if (old.node == number && same_memory(old.destination, sides.destination) &&
            same_memory(old.source, sides.source)) {
            origin = {0, 0, 0, old.origin, old.api};
        }
    }
    state().graphs.remove_node(*account, number);
    Account(state(), *known, *account, origin).add_work(work, number, number);
}

void GraphHook::child_changed(void* executable, void* node, void* graph) noexcept {
    const KeepErrno keep;
    const Driver* known = driver();
    const auto number = reinterpret_cast<std::uintptr_t>(node);
    ExecGraph* account = account_to_change(state(), known, executable);
    if (account == nullptr) {
        return;
    }
    state().graphs.remove_node(*account, number);
    Account(state(), *known, *account, {0, 0, 0, site(), api()}).add_graph(graph, number, 1);
}

void GraphHook::node_enabled(void* executable, void* node, bool enabled) noexcept {
    if (ExecGraph* account = state().graphs.find(reinterpret_cast<std::uintptr_t>(executable))) {
        state().graphs.enable_node(*account, reinterpret_cast<std::uintptr_t>(node), enabled);
    }
}

void GraphHook::device_call_begins() noexcept {
    cupti::begin_call(t_thread, start_ns());
}

void GraphHook::device_call_ends(std::uint64_t end_ns) noexcept {
    if (cupti::id_was_told(t_thread)) {
        cupti::call_ended(t_thread, {site(), t_thread.shard->slot->thread, start_ns(), end_ns});
    }
}

std::uint64_t GraphHook::now() const noexcept {
    return now_ns();
}

bool GraphHook::is_executed(void* stream) const noexcept {
    return state().open_captures.load(std::memory_order_relaxed) == 0 ||
           !is_capturing(state(), stream_identity(api(), stream));
}

std::uint64_t GraphHook::launched(void* executable, std::uint64_t end_ns) noexcept {
    const ExecGraph* account = state().graphs.find(reinterpret_cast<std::uintptr_t>(executable));
    if (account == nullptr) {
        // Instantiated where nobody looked: what it copies is not known.
        state().image.lose(report::Loss::not_classified, 1, 0, end_ns);
        return 0;
    }
    std::uint64_t waited_for = 0;
    for (const GraphWork& work : *account) {
        waited_for += makes_wait(work) ? 1 : 0;
    }
    if (waited_for != 0) {
        stages();
    }
    const std::uint64_t share = waited_for != 0 ? (end_ns - start_ns()) / waited_for : 0;
    std::uint64_t bytes = 0;
    for (const GraphWork& work : *account) {
        if (!work.enabled) {
            continue;
        }
        SiteFacts facts{work.api, work.kind};
        facts.direction = work.direction;
        facts.flags = static_cast<std::uint16_t>(report::kSiteInGraph | report::kSiteAsync | report::kSiteExactStack);
        facts.destination = work.destination;
        facts.source = work.source;
        if (report::CounterSlot* counters =
                counters_of_origin(state(), t_thread, facts, report::size_class(work.bytes), work.origin)) {
            add_call(*counters, {0, work.bytes, start_ns(), start_ns() + (makes_wait(work) ? share : 0)});
        }
        if (work.destination.kind == MemoryClass::unknown || work.source.kind == MemoryClass::unknown) {
            state().image.lose(report::Loss::not_classified, 1, 0, start_ns());
        }
        bytes += work.kind == SiteKind::copy ? work.bytes : 0;
    }
    return bytes;
}

}  // namespace pincheck
