// One wrapper body a shape (see shapes.h). Each calls the real function exactly once with the program's own arguments
// and returns what it returned. Outputs are read only on success; null and odd arguments go through.
#pragma once

#include <type_traits>

#include "exports.h"
#include "hook.h"
#include "hook_launch.h"
#include "hook_simple.h"
#include "hook_stream.h"
#include "lookup_route.h"
#include "stream_capture.h"
#include "wrappers_copy.h"
#include "wrappers_named.h"

namespace pincheck {

using report::RangeKind;

// ---- Page-locked and managed memory
// ----------------------------------------------------------------------------------

template <class Function, class Pointer, class Size, class... Flags>
inline int allocate_through(Api api, Caller caller, RangeKind kind, Pointer* pointer, Size bytes, Flags... flags) {
    SimpleHook hook(api, caller);
    Function* real = hook.real<Function>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::allocate)) {
        return real(pointer, bytes, flags...);
    }
    if (kind != RangeKind::managed) {
        hook.page_locks();
    }
    const int status = real(pointer, bytes, flags...);
    if (status == 0 && pointer != nullptr) {
        hook.add_range((std::uintptr_t)*pointer, bytes, kind, (0u | ... | flags));
    }
    hook.after(status, bytes);
    return status;
}

inline int hook_host_alloc(Api api, Caller caller, void** pointer, std::size_t bytes, unsigned flags) {
    return allocate_through<int(void**, std::size_t, unsigned)>(api, caller, RangeKind::pinned, pointer, bytes, flags);
}
inline int hook_malloc_host(Api api, Caller caller, void** pointer, std::size_t bytes) {
    return allocate_through<int(void**, std::size_t)>(api, caller, RangeKind::pinned, pointer, bytes);
}
inline int hook_malloc_host_v1(Api api, Caller caller, void** pointer, std::uint32_t bytes) {
    return allocate_through<int(void**, std::uint32_t)>(api, caller, RangeKind::pinned, pointer, bytes);
}
inline int hook_managed_alloc(Api api, Caller caller, std::uint64_t* pointer, std::size_t bytes, unsigned flags) {
    return allocate_through<int(std::uint64_t*, std::size_t, unsigned)>(api, caller, RangeKind::managed, pointer, bytes,
                                                                        flags);
}

inline int hook_host_register(Api api, Caller caller, void* pointer, std::size_t bytes, unsigned flags) {
    SimpleHook hook(api, caller);
    auto* real = hook.real<int(void*, std::size_t, unsigned)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::allocate)) {
        return real(pointer, bytes, flags);
    }
    hook.page_locks();
    const int status = real(pointer, bytes, flags);
    if (status == 0) {
        hook.add_range(address_of(pointer), bytes, RangeKind::registered, flags);
    }
    hook.after(status, bytes);
    return status;
}

template <class Pointer>
inline int release_through(Api api, Caller caller, Pointer pointer) {
    SimpleHook hook(api, caller);
    auto* real = hook.real<int(Pointer)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::release)) {
        return real(pointer);
    }
    if (std::is_pointer_v<Pointer>) {  // of host memory; device addresses are numbers
        hook.page_locks();
    }
    hook.take_range((std::uintptr_t)pointer);
    const int status = real(pointer);
    hook.range_released(status);
    if (!std::is_pointer_v<Pointer>) {
        hook.device_memory_freed(status);
    }
    hook.after(status, 0);
    return status;
}
inline int hook_free_host(Api api, Caller caller, void* pointer) {
    return release_through(api, caller, pointer);
}
inline int hook_host_unregister(Api api, Caller caller, void* pointer) {
    return release_through(api, caller, pointer);
}
inline int hook_device_free(Api api, Caller caller, std::uint64_t pointer) {
    return release_through(api, caller, pointer);
}
inline int hook_device_free_v1(Api api, Caller caller, std::uint32_t pointer) {
    return release_through(api, caller, pointer);
}

// ---- Waits
// -----------------------------------------------------------------------------------------------------------

inline __attribute__((always_inline)) int hook_stream_sync(Api api, Caller caller, void* stream) {
    SimpleHook hook(api, caller);
    auto* real = hook.real<int(void*)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::synchronize, stream_kind(api, stream))) {
        return real(stream);
    }
    hook.waits_for_stream(stream);
    const int status = real(stream);
    hook.after(status, 0);
    return status;
}

inline int hook_event_sync(Api api, Caller caller, void* event) {
    SimpleHook hook(api, caller);
    auto* real = hook.real<int(void*)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::synchronize)) {
        return real(event);
    }
    const int status = real(event);
    hook.after(status, 0);
    return status;
}

template <class... Context>
inline int wait_for_all(Api api, Caller caller, Context... context) {
    SimpleHook hook(api, caller);
    auto* real = hook.real<int(Context...)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::synchronize)) {
        return real(context...);
    }
    hook.waits_for_everything();
    const int status = real(context...);
    hook.after(status, 0);
    return status;
}
inline int hook_device_sync(Api api, Caller caller) {
    return wait_for_all(api, caller);
}
inline int hook_context_sync(Api api, Caller caller, void* context) {
    return wait_for_all(api, caller, context);
}

// ---- Seen, recorded where they hold the host
// --------------------------------------------------------------------------------------

template <LaunchHook::Call kCall, class... Arguments>
inline __attribute__((always_inline)) int pass_timed(Api api, Caller caller, const void* kernel, void* stream,
                                                     Arguments... arguments) {
    auto* real = reinterpret_cast<int (*)(Arguments...)>(driver_function(api));
    if (real == nullptr) {
        return kNoCuda;
    }
    State* state = state_or_start();
    if (state == nullptr) {
        t_thread.last_copy = nullptr;
        return real(arguments...);
    }
    LaunchHook hook(*state, api, caller, kCall, stream);
    if constexpr (kCall == LaunchHook::Call::launch) {
        StreamCall call(state, caller);
        call.begin(api, stream);
        hook.before(address_of(kernel));
        const int status = real(arguments...);
        hook.after(status);
        call.issued(status);
        return status;
    } else {
        hook.before(address_of(kernel));
        const int status = real(arguments...);
        hook.after(status);
        return status;
    }
}

inline __attribute__((always_inline)) int hook_launch(Api api, Caller caller, void* function, unsigned grid_x,
                                                      unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                      unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                                      void* stream, void** parameters, void** extra) {
    return pass_timed<LaunchHook::Call::launch>(api, caller, function, stream, function, grid_x, grid_y, grid_z,
                                                block_x, block_y, block_z, shared_bytes, stream, parameters, extra);
}
inline __attribute__((always_inline)) int hook_launch_cooperative(Api api, Caller caller, void* function,
                                                                  unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                                                  unsigned block_x, unsigned block_y, unsigned block_z,
                                                                  unsigned shared_bytes, void* stream,
                                                                  void** parameters) {
    return pass_timed<LaunchHook::Call::launch>(api, caller, function, stream, function, grid_x, grid_y, grid_z,
                                                block_x, block_y, block_z, shared_bytes, stream, parameters);
}
inline __attribute__((always_inline)) int hook_launch_ex(Api api, Caller caller, const cuda_abi::LaunchConfig* config,
                                                         void* function, void** parameters, void** extra) {
    return pass_timed<LaunchHook::Call::launch>(api, caller, function, config != nullptr ? config->stream : nullptr,
                                                config, function, parameters, extra);
}
inline int hook_event_record(Api api, Caller caller, void* event, void* stream) {
    return pass_timed<LaunchHook::Call::event>(api, caller, nullptr, stream, event, stream);
}
inline int hook_event_record_flags(Api api, Caller caller, void* event, void* stream, unsigned flags) {
    return pass_timed<LaunchHook::Call::event>(api, caller, nullptr, stream, event, stream, flags);
}
inline int hook_wait_event(Api api, Caller caller, void* stream, void* event, unsigned flags) {
    return pass_timed<LaunchHook::Call::event>(api, caller, nullptr, stream, stream, event, flags);
}

#define PINCHECK_LOAD(shape)                                                            \
    template <class... A>                                                               \
    inline int hook_##shape(Api api, Caller caller, A... a) {                           \
        return pass_timed<LaunchHook::Call::load>(api, caller, nullptr, nullptr, a...); \
    }
PINCHECK_LOAD(module_load)
PINCHECK_LOAD(module_load_ex)
PINCHECK_LOAD(library_load)

// While a capture is open no question goes to the driver, and copies into it are not executed.
template <class... Rest>
inline int begin_capture(Api api, void* stream, Rest... rest) {
    State* state = state_or_start();
    const int status = pass_on(api, stream, rest...);
    if (state != nullptr && status == 0) {
        capture_began(*state);
    }
    return status;
}
#define PINCHECK_CAPTURE(shape)                                                       \
    template <class... A>                                                             \
    inline __attribute__((always_inline)) int hook_##shape(Api api, Caller, A... a) { \
        return begin_capture(api, a...);                                              \
    }
PINCHECK_CAPTURE(capture_begin_v1)
PINCHECK_CAPTURE(capture_begin)
PINCHECK_CAPTURE(capture_to_graph)

inline int hook_capture_end(Api api, Caller, void* stream, void** graph) {
    // CUDA Driver API, cuStreamEndCapture: an invalidated or unjoined capture ends too; with any other error it is open
    // still, or there was none.
    constexpr int kInvalidated = 901;
    constexpr int kUnjoined = 904;
    State* state = state_or_start();
    const int status = pass_on(api, stream, graph);
    if (state != nullptr && (status == 0 || status == kInvalidated || status == kUnjoined)) {
        capture_ended(*state);
    }
    return status;
}

// ---- Look-ups
// --------------------------------------------------------------------------------------------------------

inline int hook_lookup_v1(Api api, Caller caller, const char* name, void** function, int version, std::uint64_t flags) {
    auto* real = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t)>(driver_function(api));
    if (real == nullptr) {
        return kNoCuda;
    }
    const int status = real(name, function, version, flags);
    return replace_looked_up(status, {caller, name, function, version, flags});
}
inline int hook_lookup_v2(Api api, Caller caller, const char* name, void** function, int version, std::uint64_t flags,
                          int* result) {
    auto* real = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t, int*)>(driver_function(api));
    if (real == nullptr) {
        return kNoCuda;
    }
    const int status = real(name, function, version, flags, result);
    return replace_looked_up(status, {caller, name, function, version, flags});
}

}  // namespace pincheck
