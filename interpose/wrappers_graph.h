// Wrapper bodies of graph functions (see wrappers.h).
#pragma once

#include "hook_graph.h"
#include "wrappers_copy.h"

namespace pincheck {

inline CopyArguments node_of(CopyArguments work) {
    work.graph_node = true;
    work.async = true;
    return work;
}

// What a node of the generic kind does, where it copies or fills; false for other kinds.
inline bool describe_node(const cuda_abi::GraphNode* node, CopyArguments& work) {
    if (node == nullptr || (node->type != cuda_abi::kNodeMemcpy && node->type != cuda_abi::kNodeMemset)) {
        return false;
    }
    work = node_of(node->type == cuda_abi::kNodeMemcpy ? describe(node->memcpy.copy) : describe(node->memset));
    return true;
}

// ---- Nodes of graphs: where copies come from

inline int hook_graph_add_copy(Api api, Caller caller, void** node, void* graph, const void* dependencies,
                               std::size_t count, const cuda_abi::Copy3DV2* copy, void* context) {
    return copy_through<int PINCHECK_PARAMS_graph_add_copy>(
        api, caller, [&] { return node_of(copy != nullptr ? describe(*copy) : CopyArguments{}); }, node, graph,
        dependencies, count, copy, context);
}
inline int hook_graph_set_copy(Api api, Caller caller, void* node, const cuda_abi::Copy3DV2* copy) {
    return copy_through<int PINCHECK_PARAMS_graph_set_copy>(
        api, caller, [&] { return node_of(copy != nullptr ? describe(*copy) : CopyArguments{}); }, node, copy);
}
inline int hook_graph_add_fill(Api api, Caller caller, void** node, void* graph, const void* dependencies,
                               std::size_t count, const cuda_abi::MemsetNode* fill, void* context) {
    return copy_through<int PINCHECK_PARAMS_graph_add_fill>(
        api, caller, [&] { return node_of(fill != nullptr ? describe(*fill) : CopyArguments{}); }, node, graph,
        dependencies, count, fill, context);
}
inline int hook_graph_set_fill(Api api, Caller caller, void* node, const cuda_abi::MemsetNode* fill) {
    return copy_through<int PINCHECK_PARAMS_graph_set_fill>(
        api, caller, [&] { return node_of(fill != nullptr ? describe(*fill) : CopyArguments{}); }, node, fill);
}
inline int hook_graph_add_node(Api api, Caller caller, void** node, void* graph, const void* dependencies,
                               std::size_t count, const cuda_abi::GraphNode* parameters) {
    CopyArguments work;
    if (!describe_node(parameters, work)) {
        return pass_on(api, node, graph, dependencies, count, parameters);
    }
    return copy_through<int PINCHECK_PARAMS_graph_add_node>(
        api, caller, [&] { return work; }, node, graph, dependencies, count, parameters);
}
inline int hook_graph_add_node_v2(Api api, Caller caller, void** node, void* graph, const void* dependencies,
                                  const void* data, std::size_t count, const cuda_abi::GraphNode* parameters) {
    CopyArguments work;
    if (!describe_node(parameters, work)) {
        return pass_on(api, node, graph, dependencies, data, count, parameters);
    }
    return copy_through<int PINCHECK_PARAMS_graph_add_node_v2>(
        api, caller, [&] { return work; }, node, graph, dependencies, data, count, parameters);
}
inline int hook_graph_set_node(Api api, Caller caller, void* node, const cuda_abi::GraphNode* parameters) {
    CopyArguments work;
    if (!describe_node(parameters, work)) {
        return pass_on(api, node, parameters);
    }
    return copy_through<int PINCHECK_PARAMS_graph_set_node>(
        api, caller, [&] { return work; }, node, parameters);
}

// ---- Executable graphs

// The real call, and `done(hook)` when it succeeded.
template <class Function, class Done, class... Arguments>
inline int graph_through(Api api, Caller caller, Done&& done, Arguments... arguments) {
    GraphHook hook(api, caller);
    Function* real = hook.real<Function>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::graph_setup)) {
        return real(arguments...);
    }
    const int status = real(arguments...);
    if (status == 0) {
        done(hook);
    }
    hook.after(status, 0);
    return status;
}

inline int hook_graph_instantiate_v1(Api api, Caller caller, void** executable, void* graph, void** error_node,
                                     char* log, std::size_t log_bytes) {
    return graph_through<int PINCHECK_PARAMS_graph_instantiate_v1>(
        api, caller, [&](GraphHook& hook) { hook.instantiated(*executable, graph); }, executable, graph, error_node,
        log, log_bytes);
}
inline int hook_graph_instantiate_flags(Api api, Caller caller, void** executable, void* graph, std::uint64_t flags) {
    return graph_through<int PINCHECK_PARAMS_graph_instantiate_flags>(
        api, caller, [&](GraphHook& hook) { hook.instantiated(*executable, graph); }, executable, graph, flags);
}
inline int hook_graph_instantiate_params(Api api, Caller caller, void** executable, void* graph, void* parameters) {
    return graph_through<int PINCHECK_PARAMS_graph_instantiate_params>(
        api, caller, [&](GraphHook& hook) { hook.instantiated(*executable, graph); }, executable, graph, parameters);
}
inline int hook_graph_update_v1(Api api, Caller caller, void* executable, void* graph, void** error_node, int* result) {
    return graph_through<int PINCHECK_PARAMS_graph_update_v1>(
        api, caller, [&](GraphHook& hook) { hook.updated(executable, graph); }, executable, graph, error_node, result);
}
inline int hook_graph_update(Api api, Caller caller, void* executable, void* graph, void* result) {
    return graph_through<int PINCHECK_PARAMS_graph_update>(
        api, caller, [&](GraphHook& hook) { hook.updated(executable, graph); }, executable, graph, result);
}
inline int hook_graph_exec_set_copy(Api api, Caller caller, void* executable, void* node,
                                    const cuda_abi::Copy3DV2* copy, void* context) {
    return graph_through<int PINCHECK_PARAMS_graph_exec_set_copy>(
        api, caller, [&](GraphHook& hook) { hook.node_changed(executable, node, describe(*copy)); }, executable, node,
        copy, context);
}
inline int hook_graph_exec_set_fill(Api api, Caller caller, void* executable, void* node,
                                    const cuda_abi::MemsetNode* fill, void* context) {
    return graph_through<int PINCHECK_PARAMS_graph_exec_set_fill>(
        api, caller, [&](GraphHook& hook) { hook.node_changed(executable, node, describe(*fill)); }, executable, node,
        fill, context);
}
inline int hook_graph_exec_set_node(Api api, Caller caller, void* executable, void* node,
                                    const cuda_abi::GraphNode* parameters) {
    return graph_through<int PINCHECK_PARAMS_graph_exec_set_node>(
        api, caller,
        [&](GraphHook& hook) {
            CopyArguments work;
            if (describe_node(parameters, work)) {
                hook.node_changed(executable, node, work);
            } else if (parameters->type == cuda_abi::kNodeChildGraph) {
                hook.child_changed(executable, node, parameters->child_graph);
            }
        },
        executable, node, parameters);
}
inline int hook_graph_exec_set_child(Api api, Caller caller, void* executable, void* node, void* child) {
    return graph_through<int PINCHECK_PARAMS_graph_exec_set_child>(
        api, caller, [&](GraphHook& hook) { hook.child_changed(executable, node, child); }, executable, node, child);
}
inline int hook_graph_enable_node(Api api, Caller caller, void* executable, void* node, unsigned enabled) {
    return graph_through<int PINCHECK_PARAMS_graph_enable_node>(
        api, caller, [&](GraphHook& hook) { hook.node_enabled(executable, node, enabled != 0); }, executable, node,
        enabled);
}
// The account ends before the real call: another thread may be given the same handle right after it.
inline int hook_graph_destroy(Api api, Caller, void* executable) {
    if (State* state = state_or_start()) {
        state->graphs.forget(reinterpret_cast<std::uintptr_t>(executable));
    }
    return pass_on(api, executable);
}

inline int hook_graph_launch(Api api, Caller caller, void* executable, void* stream) {
    GraphHook hook(api, caller);
    auto* real = hook.real<int(void*, void*)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::graph_launch, stream_kind(api, stream))) {
        return real(executable, stream);
    }
    const bool executed = hook.is_executed(stream);
    hook.device_call_begins();
    const int status = real(executable, stream);
    const std::uint64_t end_ns = hook.now();
    hook.device_call_ends(end_ns);
    hook.after(status, status == 0 && executed ? hook.launched(executable, end_ns) : 0, end_ns);
    return status;
}

}  // namespace pincheck
