// One wrapper body a shape (see shapes.h). Each calls the real function exactly once with the program's own arguments
// and returns what it returned. Outputs are read only on success; null and odd arguments go through.
#pragma once

#include "exports.h"
#include "hook.h"
#include "hook_copy.h"
#include "hook_simple.h"
#include "lookup_route.h"
#include "shapes.h"

namespace pincheck {

using report::Direction;
using report::RangeKind;
using report::SiteKind;

inline std::uintptr_t address_of(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

template <class Function, class... Arguments>
inline int copy_through(Api api, Caller caller, const CopyArguments& facts, Arguments... arguments) {
    CopyHook hook(api, caller);
    Function* real = hook.real<Function>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(facts)) {
        return real(arguments...);
    }
    const int status = real(arguments...);
    hook.after(status);
    return status;
}

// ---- Copies
// ----------------------------------------------------------------------------------------------------------

inline int hook_runtime_copy(Api api, Caller caller, void* dst, const void* src, std::size_t bytes, int kind) {
    return copy_through<int(void*, const void*, std::size_t, int)>(
        api, caller, {address_of(dst), address_of(src), bytes, direction_of_kind(kind), false, nullptr}, dst, src,
        bytes, kind);
}

inline int hook_runtime_copy_async(Api api, Caller caller, void* dst, const void* src, std::size_t bytes, int kind,
                                   void* stream) {
    return copy_through<int(void*, const void*, std::size_t, int, void*)>(
        api, caller, {address_of(dst), address_of(src), bytes, direction_of_kind(kind), true, stream}, dst, src, bytes,
        kind, stream);
}

template <class Address, class Size>
inline int hook_h2d(Api api, Caller caller, Address dst, const void* src, Size bytes) {
    return copy_through<int(Address, const void*, Size)>(
        api, caller, {dst, address_of(src), bytes, Direction::host_to_device, false, nullptr}, dst, src, bytes);
}
template <class Address, class Size>
inline int hook_h2d_async(Api api, Caller caller, Address dst, const void* src, Size bytes, void* stream) {
    return copy_through<int(Address, const void*, Size, void*)>(
        api, caller, {dst, address_of(src), bytes, Direction::host_to_device, true, stream}, dst, src, bytes, stream);
}
template <class Address, class Size>
inline int hook_d2h(Api api, Caller caller, void* dst, Address src, Size bytes) {
    return copy_through<int(void*, Address, Size)>(
        api, caller, {address_of(dst), src, bytes, Direction::device_to_host, false, nullptr}, dst, src, bytes);
}
template <class Address, class Size>
inline int hook_d2h_async(Api api, Caller caller, void* dst, Address src, Size bytes, void* stream) {
    return copy_through<int(void*, Address, Size, void*)>(
        api, caller, {address_of(dst), src, bytes, Direction::device_to_host, true, stream}, dst, src, bytes, stream);
}

#define PINCHECK_SAME(shape, body)                            \
    template <class... A>                                     \
    inline int hook_##shape(Api api, Caller caller, A... a) { \
        return body(api, caller, a...);                       \
    }
PINCHECK_SAME(driver_h2d, hook_h2d)
PINCHECK_SAME(driver_h2d_v1, hook_h2d)
PINCHECK_SAME(driver_h2d_async, hook_h2d_async)
PINCHECK_SAME(driver_h2d_async_v1, hook_h2d_async)
PINCHECK_SAME(driver_d2h, hook_d2h)
PINCHECK_SAME(driver_d2h_v1, hook_d2h)
PINCHECK_SAME(driver_d2h_async, hook_d2h_async)
PINCHECK_SAME(driver_d2h_async_v1, hook_d2h_async)

inline int hook_driver_copy(Api api, Caller caller, std::uint64_t dst, std::uint64_t src, std::size_t bytes) {
    return copy_through<int(std::uint64_t, std::uint64_t, std::size_t)>(
        api, caller, {dst, src, bytes, Direction::unknown, false, nullptr}, dst, src, bytes);
}
inline int hook_driver_copy_async(Api api, Caller caller, std::uint64_t dst, std::uint64_t src, std::size_t bytes,
                                  void* stream) {
    return copy_through<int(std::uint64_t, std::uint64_t, std::size_t, void*)>(
        api, caller, {dst, src, bytes, Direction::unknown, true, stream}, dst, src, bytes, stream);
}

// ---- Page-locked and managed memory
// ----------------------------------------------------------------------------------

template <class Function, class Pointer, class Size, class... Flags>
inline int allocate_through(Api api, Caller caller, RangeKind kind, bool remember, Pointer* pointer, Size bytes,
                            Flags... flags) {
    SimpleHook hook(api, caller);
    Function* real = hook.real<Function>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::allocate)) {
        return real(pointer, bytes, flags...);
    }
    const int status = real(pointer, bytes, flags...);
    if (status == 0 && remember && pointer != nullptr) {
        hook.add_range((std::uintptr_t)*pointer, bytes, kind, (0u | ... | flags));
    }
    hook.after(status, bytes);
    return status;
}

inline int hook_host_alloc(Api api, Caller caller, void** pointer, std::size_t bytes, unsigned flags) {
    return allocate_through<int(void**, std::size_t, unsigned)>(api, caller, RangeKind::pinned, true, pointer, bytes,
                                                                flags);
}
inline int hook_malloc_host(Api api, Caller caller, void** pointer, std::size_t bytes) {
    return allocate_through<int(void**, std::size_t)>(api, caller, RangeKind::pinned, true, pointer, bytes);
}
inline int hook_malloc_host_v1(Api api, Caller caller, void** pointer, std::uint32_t bytes) {
    return allocate_through<int(void**, std::uint32_t)>(api, caller, RangeKind::pinned, true, pointer, bytes);
}
// Counted; no range is remembered, since its release (cuMemFree) is not in the list yet.
inline int hook_managed_alloc(Api api, Caller caller, std::uint64_t* pointer, std::size_t bytes, unsigned flags) {
    return allocate_through<int(std::uint64_t*, std::size_t, unsigned)>(api, caller, RangeKind::pinned, false, pointer,
                                                                        bytes, flags);
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
    const int status = real(pointer, bytes, flags);
    if (status == 0) {
        hook.add_range(address_of(pointer), bytes, RangeKind::registered, flags);
    }
    hook.after(status, bytes);
    return status;
}

inline int release_through(Api api, Caller caller, void* pointer) {
    SimpleHook hook(api, caller);
    auto* real = hook.real<int(void*)>();
    if (real == nullptr) {
        return kNoCuda;
    }
    if (!hook.before(SiteKind::release)) {
        return real(pointer);
    }
    hook.take_range(address_of(pointer));
    const int status = real(pointer);
    hook.range_released(status);
    hook.after(status, 0);
    return status;
}
inline int hook_free_host(Api api, Caller caller, void* pointer) {
    return release_through(api, caller, pointer);
}
inline int hook_host_unregister(Api api, Caller caller, void* pointer) {
    return release_through(api, caller, pointer);
}

// ---- Waits
// -----------------------------------------------------------------------------------------------------------

inline int hook_stream_sync(Api api, Caller caller, void* stream) {
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

// ---- Seen, not recorded
// ----------------------------------------------------------------------------------------------

// A call between a copy and its wait. Starts the tool like every CUDA call.
template <class... Arguments>
inline int pass_on(Api api, Arguments... arguments) {
    auto* real = reinterpret_cast<int (*)(Arguments...)>(driver_function(api));
    if (real == nullptr) {
        return kNoCuda;
    }
    state_or_start();
    t_thread.last_copy = nullptr;
    return real(arguments...);
}
#define PINCHECK_PASS(shape)                           \
    template <class... A>                              \
    inline int hook_##shape(Api api, Caller, A... a) { \
        return pass_on(api, a...);                     \
    }
PINCHECK_PASS(launch)
PINCHECK_PASS(launch_ex)
PINCHECK_PASS(graph_launch)
PINCHECK_PASS(event_record)
PINCHECK_PASS(event_record_flags)
PINCHECK_PASS(wait_event)

// While a capture is open no question goes to the driver, and copies into it are not executed.
template <class... Rest>
inline int begin_capture(Api api, void* stream, Rest... rest) {
    State* state = state_or_start();
    const int status = pass_on(api, stream, rest...);
    if (state != nullptr && status == 0) {
        state->capture_began(stream_identity(api, stream));
    }
    return status;
}
#define PINCHECK_CAPTURE(shape)                        \
    template <class... A>                              \
    inline int hook_##shape(Api api, Caller, A... a) { \
        return begin_capture(api, a...);               \
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
        state->capture_ended(stream_identity(api, stream));
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
