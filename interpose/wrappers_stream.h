// How the driver's calls are followed for Streams: around the body that records them (see hook_stream.h), by shape. And
// the bodies of functions that are hooked for that alone.
#pragma once

#include <tuple>

#include "follow.h"
#include "hook_host_function.h"
#include "hook_simple.h"
#include "hook_stream.h"
#include "log.h"
#include "wrappers_copy.h"

namespace pincheck {

// ---- Bodies: hooked to be followed, or to be seen

// Like pass_on(), for calls that do not come between a copy and its wait: they ask, or put nothing into a stream.
template <class... Arguments>
inline int pass_quietly(Api api, Arguments... arguments) {
    auto* real = reinterpret_cast<int (*)(Arguments...)>(driver_function(api));
    if (real == nullptr) {
        return kNoCuda;
    }
    state_or_start();
    return real(arguments...);
}

#define PINCHECK_QUIET(shape)                          \
    template <class... A>                              \
    inline int hook_##shape(Api api, Caller, A... a) { \
        return pass_quietly(api, a...);                \
    }
#define PINCHECK_SEEN(shape)                           \
    template <class... A>                              \
    inline int hook_##shape(Api api, Caller, A... a) { \
        return pass_on(api, a...);                     \
    }
PINCHECK_QUIET(stream_query)
PINCHECK_QUIET(event_query)
PINCHECK_QUIET(event_elapsed)
PINCHECK_SEEN(wait_value32)
PINCHECK_SEEN(wait_value64)
PINCHECK_SEEN(write_value32)
PINCHECK_SEEN(write_value64)
PINCHECK_SEEN(batch_values)
PINCHECK_SEEN(external_signal)
PINCHECK_SEEN(external_wait)

// A stream's creation has a site, so that a report can say which stream it means.
template <class... Rest>
inline int create_stream(Api api, Caller caller, void** stream, unsigned flags, int (*real)(void**, Rest...),
                         Rest... rest) {
    SimpleHook hook(api, caller);
    if (real == nullptr) {
        return kNoCuda;
    }
    const bool recorded = hook.before(SiteKind::stream_setup);
    const int status = real(stream, rest...);
    State* state = state_or_start();
    if (status == 0 && stream != nullptr && state != nullptr && !state->after_fork) {
        stream_created(*state, caller, *stream, flags, recorded ? hook.site() : 0);
    }
    if (recorded) {
        hook.after(status, 0);
    }
    return status;
}
template <class... A>
inline auto* real_creation(Api api) {
    return reinterpret_cast<int (*)(void**, A...)>(driver_function(api));
}
inline int hook_stream_create(Api api, Caller caller, void** stream, unsigned flags) {
    return create_stream(api, caller, stream, flags, real_creation<unsigned>(api), flags);
}
inline int hook_stream_create_priority(Api api, Caller caller, void** stream, unsigned flags, int priority) {
    return create_stream(api, caller, stream, flags, real_creation<unsigned, int>(api), flags, priority);
}
inline int hook_stream_create_green(Api api, Caller caller, void** stream, void* context, unsigned flags,
                                    int priority) {
    return create_stream(api, caller, stream, flags, real_creation<void*, unsigned, int>(api), context, flags,
                         priority);
}

// Memory of a pool may be what other work used last: the allocation is behind that, in ways that nobody sees.
template <class... Rest>
inline int alloc_from_pool(Api api, std::uint64_t* pointer, std::size_t bytes, Rest... rest) {
    const int status = pass_quietly(api, pointer, bytes, rest...);
    State* state = state_or_start();
    if (status == 0 && pointer != nullptr && state != nullptr) {
        const KeepErrno keep;
        state->races.device_range_made(*pointer, bytes);
    }
    return status;
}
inline int hook_pool_alloc(Api api, Caller, std::uint64_t* pointer, std::size_t bytes, void* stream) {
    return alloc_from_pool(api, pointer, bytes, stream);
}
inline int hook_pool_alloc_from(Api api, Caller, std::uint64_t* pointer, std::size_t bytes, void* pool, void* stream) {
    return alloc_from_pool(api, pointer, bytes, pool, stream);
}

// Handles end before the real call: another thread may be given the same one right after it.
inline int hook_stream_destroy(Api api, Caller, void* stream) {
    if (State* state = state_or_start()) {
        state->streams.stream_destroyed(reinterpret_cast<std::uintptr_t>(stream));
    }
    return pass_quietly(api, stream);
}
inline int hook_event_destroy(Api api, Caller, void* event) {
    if (State* state = state_or_start()) {
        state->streams.event_destroyed(reinterpret_cast<std::uintptr_t>(event));
    }
    return pass_quietly(api, event);
}
inline int hook_event_create(Api api, Caller, void** event, unsigned flags) {
    const int status = pass_quietly(api, event, flags);
    State* state = state_or_start();
    if (status == 0 && state != nullptr && event != nullptr) {
        state->streams.event_created(reinterpret_cast<std::uintptr_t>(*event));
    }
    return status;
}
inline int hook_context_destroy(Api api, Caller, void* context) {
    if (State* state = state_or_start()) {
        state->watched.ended(reinterpret_cast<std::uintptr_t>(context), -1);
        state->races.ended(reinterpret_cast<std::uintptr_t>(context), -1);
        state->streams.context_destroyed(reinterpret_cast<std::uintptr_t>(context));
    }
    return pass_quietly(api, context);
}
inline int hook_device_reset(Api api, Caller, int device) {
    if (State* state = state_or_start()) {
        state->watched.ended(0, device);
        state->races.ended(0, device);
        state->streams.device_reset(device);
    }
    return pass_quietly(api, device);
}

// The primary context ends with its last user.
inline int hook_device_release(Api api, Caller, int device) {
    State* state = state_or_start();
    if (state != nullptr) {
        state->watched.contexts_may_end();
    }
    const int status = pass_quietly(api, device);
    if (status == 0 && state != nullptr && !is_primary_context_active(*state, device)) {
        state->watched.ended(0, device);
        state->races.ended(0, device);
        state->streams.device_reset(device);
    }
    return status;
}

// ---- Events that others record too: another process, a graph

inline void event_is_foreign(const void* event) noexcept {
    State* state = state_or_start();
    if (state != nullptr && event != nullptr) {
        const KeepErrno keep;
        state->streams.event_is_foreign(reinterpret_cast<std::uintptr_t>(event));
    }
}
inline int hook_event_export(Api api, Caller, void* handle, void* event) {
    const int status = pass_quietly(api, handle, event);
    if (status == 0) {
        event_is_foreign(event);
    }
    return status;
}
inline int hook_event_import(Api api, Caller, void** event, cuda_abi::IpcHandle handle) {
    const int status = pass_quietly(api, event, handle);
    if (status == 0 && event != nullptr) {
        event_is_foreign(*event);
    }
    return status;
}
inline int hook_graph_add_record(Api api, Caller, void** node, void* graph, const void* dependencies, std::size_t count,
                                 void* event) {
    const int status = pass_quietly(api, node, graph, dependencies, count, event);
    if (status == 0) {
        event_is_foreign(event);
    }
    return status;
}
inline int hook_graph_set_record(Api api, Caller, void* node, void* event) {
    const int status = pass_quietly(api, node, event);
    if (status == 0) {
        event_is_foreign(event);
    }
    return status;
}
inline int hook_graph_exec_set_record(Api api, Caller, void* executable, void* node, void* event) {
    const int status = pass_quietly(api, executable, node, event);
    if (status == 0) {
        event_is_foreign(event);
    }
    return status;
}

// ---- Host functions

inline int hook_launch_host(Api api, Caller caller, void* stream, HostFunction function, void* data) {
    StreamCall call(caller);
    call.begin(api, stream);
    HostCall* host = new_host_call(call, function, nullptr, data);
    const int status = host != nullptr ? pass_on(api, stream, &run_host_function, static_cast<void*>(host))
                                       : pass_on(api, stream, function, data);
    host_call_issued(call, host, status);
    return status;
}
inline int hook_add_callback(Api api, Caller caller, void* stream, StreamCallback callback, void* data,
                             unsigned flags) {
    StreamCall call(caller);
    call.begin(api, stream);
    HostCall* host = new_host_call(call, nullptr, callback, data);
    const int status = host != nullptr ? pass_on(api, stream, &run_stream_callback, static_cast<void*>(host), flags)
                                       : pass_on(api, stream, callback, data, flags);
    host_call_issued(call, host, status);
    return status;
}

// ---- Following

// Before the body of a call that may be no SimpleHook's, unless it is a part of one.
inline void forget_site() noexcept {
    if (t_thread.guard == 0) {
        t_thread.simple_site = 0;
    }
}

template <Follow kFollow, class Body>
inline __attribute__((always_inline)) int follow_work(Api api, Caller caller, void* stream, Body&& body) {
    StreamCall call(caller);
    call.begin(api, stream);
    const int status = body(caller);
    if constexpr (kFollow == Follow::blocking) {
        call.copied_blocking(status);
    } else if constexpr (kFollow == Follow::copy) {
        call.copied(status);
    } else if constexpr (kFollow == Follow::gate) {
        call.issued_gate(status);
        call.signals();
    } else {
        call.issued(status);
        if constexpr (kFollow == Follow::first) {
            call.signals();
        }
    }
    return status;
}

template <class Body>
inline int follow_graph(Api api, Caller caller, void* executable, void* stream, Body&& body) {
    StreamCall call(caller);
    call.begin(api, stream);
    const int status = body(caller);
    if (call.state() != nullptr && call.state()->graphs.may_wait(reinterpret_cast<std::uintptr_t>(executable))) {
        call.issued_gate(status);
    } else {
        call.follow_graph_ranges(executable, call.issued(status));
    }
    return status;
}

template <class Body>
inline int follow_record(Api api, Caller caller, void* event, void* stream, bool external, Body&& body) {
    const auto handle = reinterpret_cast<std::uintptr_t>(event);
    StreamCall call(caller);
    call.begin(api, stream);
    if (call.state() == nullptr) {
        return body(caller);
    }
    if (call.is_captured()) {
        const int status = body(caller);
        if (status == 0) {
            call.streams().recorded_in_capture(handle);
        }
        if (status == 0 && external) {
            event_is_foreign(event);  // a graph's node records it
        }
        return status;
    }
    const EventUse use = call.streams().begin_record(handle);
    const int status = body(caller);
    const KeepErrno keep;
    call.streams().end_record(use, call.operation(), status == 0);
    return status;
}

template <class Body>
inline int follow_wait(Api api, Caller caller, void* stream, void* event, Body&& body) {
    StreamCall call(caller);
    call.begin(api, stream);
    if (call.operation().entry == nullptr) {
        return body(caller);
    }
    const EventUse use = call.streams().look(reinterpret_cast<std::uintptr_t>(event));
    const int status = body(caller);
    if (status == 0) {
        const KeepErrno keep;
        call.streams().waited(call.operation(), use);
    }
    return status;
}

template <class Body>
inline __attribute__((always_inline)) int follow_stream_wait(Api api, Caller caller, void* stream, Body&& body) {
    StreamCall call(caller);
    call.begin_wait(api, stream);
    forget_site();
    const int status = body(caller);
    call.learned(status);
    return status;
}

template <class Body, class... Events>
inline int follow_event_wait(Caller caller, Body&& body, Events... events) {
    const StreamCall call(caller);
    if (call.state() == nullptr || call.state()->after_fork) {
        return body(caller);
    }
    t_thread.context_pending.known = false;
    const EventUse uses[] = {call.streams().look(reinterpret_cast<std::uintptr_t>(events))...};
    t_thread.pending = call.streams().look_at_pending(uses[0]);
    forget_site();
    const int status = body(caller);
    if (status == 0) {
        for (const EventUse& use : uses) {
            call.streams().learned(use);
        }
        host_learned(*call.state());
        for (const EventUse& use : uses) {
            call.streams().note_event(use);
        }
    }
    return status;
}

template <class Body>
inline int follow_context_wait(Caller caller, const void* context, Body&& body) {
    const StreamCall call(caller);
    if (call.state() == nullptr || call.state()->after_fork) {
        return body(caller);
    }
    const ContextWait wait = begin_context_wait(*call.state(), caller, context);
    forget_site();
    const int status = body(caller);
    if (status == 0) {
        call.streams().learned(wait);
        host_learned(*call.state());
    } else {
        call.streams().forget(wait);
    }
    return status;
}

// The body of a hook, followed by what its shape does to streams.
template <Follow kFollow, class Body, class... Arguments>
inline __attribute__((always_inline)) int followed(Api api, Caller caller, Body&& body, Arguments... arguments) {
    if constexpr (kFollow == Follow::nothing) {
        return body(caller);
    } else if constexpr (kFollow == Follow::blocking) {
        return follow_work<kFollow>(api, caller, nullptr, body);
    } else if constexpr (kFollow == Follow::device_wait) {
        return follow_context_wait(caller, nullptr, body);
    } else {
        constexpr std::size_t kLast = sizeof...(Arguments) - 1;
        const std::tuple<Arguments...> all{arguments...};
        if constexpr (kFollow == Follow::copy || kFollow == Follow::last) {
            return follow_work<kFollow>(api, caller, std::get<kLast>(all), body);
        } else if constexpr (kFollow == Follow::external) {
            return follow_work<Follow::gate>(api, caller, std::get<kLast>(all), body);
        } else if constexpr (kFollow == Follow::gate || kFollow == Follow::first) {
            return follow_work<kFollow>(api, caller, std::get<0>(all), body);
        } else if constexpr (kFollow == Follow::graph_launch) {
            return follow_graph(api, caller, std::get<0>(all), std::get<1>(all), body);
        } else if constexpr (kFollow == Follow::record) {
            return follow_record(api, caller, std::get<0>(all), std::get<1>(all), false, body);
        } else if constexpr (kFollow == Follow::record_flags) {
            constexpr unsigned kExternal = 1;  // cuda.h, CU_EVENT_RECORD_EXTERNAL
            return follow_record(api, caller, std::get<0>(all), std::get<1>(all), (std::get<2>(all) & kExternal) != 0,
                                 body);
        } else if constexpr (kFollow == Follow::wait_event) {
            return follow_wait(api, caller, std::get<0>(all), std::get<1>(all), body);
        } else if constexpr (kFollow == Follow::stream_wait) {
            return follow_stream_wait(api, caller, std::get<0>(all), body);
        } else if constexpr (kFollow == Follow::event_wait) {
            return follow_event_wait(caller, body, std::get<0>(all));
        } else if constexpr (kFollow == Follow::two_events) {
            return follow_event_wait(caller, body, std::get<1>(all), std::get<2>(all));
        } else {
            static_assert(kFollow == Follow::context_wait);
            return follow_context_wait(caller, std::get<0>(all), body);
        }
    }
}

}  // namespace pincheck
