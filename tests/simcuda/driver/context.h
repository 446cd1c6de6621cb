// Contexts, the current one of each thread, and the checks that every entry point begins with.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "calls.h"
#include "cuda_symbols.h"
#include "observed.h"
#include "stream.h"

namespace simcuda {

std::uint32_t next_context_id();

struct Context {
    const std::uint32_t id = next_context_id();
    int device = 0;
    bool primary = false;
    unsigned flags = 0;
    std::atomic<int> retained = 0;                // primary contexts only
    std::atomic<bool> alive = true;               // a destroyed context's handle stays recognisable
    std::atomic<CUresult> sticky = CUDA_SUCCESS;  // set by a faulting kernel; every later call returns it
    // Guarded by machine().mutex. The streams of the app and the per-thread ones; the legacy stream apart.
    StreamPtr legacy;
    std::vector<StreamPtr> streams;
    std::vector<Context*> peers;  // whose memory this context may access (cuCtxEnablePeerAccess)
};

// What a null stream handle means to the entry point that got it.
enum class DefaultStream { legacy, per_thread };

// Counts the call and says whether it may proceed: not initialised, forked, unloaded, inside a host function, or told
// to fail by SIMCUDA_FAIL.
CUresult enter(Api api);
// The same, and the calling thread's context, which must exist and be in order.
CUresult enter(Api api, Context** current);

// Null when the handle is none of ours.
Context* find_context(CUcontext handle);
Context* current_context();
StreamPtr find_stream(Context* context, CUstream handle, DefaultStream meaning);

// A child made by fork has no usable CUDA (measured on real drivers: "initialization error"), nor has a process whose
// driver library was finalised.
enum class Life { fresh, ready, forked, unloaded };
Life life();
void mark_initialised();

// A primary context is made at the first retain and kept for good: handles of contexts never dangle.
Context* primary_context(int device);
Context* create_context(int device, unsigned flags);
std::vector<Context*> living_contexts();
CUresult destroy_context(Context* context);
CUresult set_current(Context* context);  // null: none
CUresult push_current(Context* context);
Context* pop_current();

inline CUcontext handle(Context* context) {
    return reinterpret_cast<CUcontext>(context);
}

}  // namespace simcuda

// Both return from the entry point when the call may not proceed.
#define SIM_ENTER(symbol)                                                                           \
    if (const CUresult entered = ::simcuda::enter(::simcuda::Api::symbol); entered != CUDA_SUCCESS) \
    return entered
#define SIM_CONTEXT(symbol)                                                                                   \
    ::simcuda::Context* context = nullptr;                                                                    \
    if (const CUresult entered = ::simcuda::enter(::simcuda::Api::symbol, &context); entered != CUDA_SUCCESS) \
    return entered

// An entry point that needs no context.
#define SIM_PLAIN(symbol, parameters, ...)                                     \
    SIM_EXPORT CUresult symbol parameters {                                    \
        return ::simcuda::observed(::simcuda::Api::symbol, [&]() -> CUresult { \
            SIM_ENTER(symbol);                                                 \
            __VA_ARGS__                                                        \
        });                                                                    \
    }

// An entry point without a twin, or one of twins; `meaning` tells them apart.
#define SIM_BODY(symbol, parameters, default_stream, ...)                                       \
    SIM_EXPORT CUresult symbol parameters {                                                     \
        return ::simcuda::observed(::simcuda::Api::symbol, [&]() -> CUresult {                  \
            [[maybe_unused]] constexpr auto meaning = ::simcuda::DefaultStream::default_stream; \
            SIM_CONTEXT(symbol);                                                                \
            __VA_ARGS__                                                                         \
        });                                                                                     \
    }
#define SIM_ONE(symbol, parameters, ...) SIM_BODY(symbol, parameters, legacy, __VA_ARGS__)

// An entry point and its per-thread-default-stream twin from one body.
#define SIM_TWINS(symbol, suffix, parameters, ...)    \
    SIM_BODY(symbol, parameters, legacy, __VA_ARGS__) \
    SIM_BODY(symbol##suffix, parameters, per_thread, __VA_ARGS__)
