// What every runtime call does first and last: open the driver, make a context current, keep the last error.
#pragma once

#include "driver.h"

namespace simcudart {

enum class Needs { nothing, driver, context };

// cudaSuccess when the call may go to the driver.
cudaError_t prepare(Needs needs);

// Records a failure as this thread's last error and returns it. Results have the same values on both sides.
cudaError_t finish(cudaError_t result);
inline cudaError_t finish(CUresult result) {
    return finish(static_cast<cudaError_t>(result));
}

cudaError_t take_last_error();
cudaError_t peek_last_error();

int current_device();

// The device's primary context, retained once for the life of the process. cudaErrorInvalidDevice for no device.
cudaError_t device_context(int device, CUcontext* out);
cudaError_t use_device(int device);

inline const Driver& driver() {
    return driver_state().functions;
}

inline CUdeviceptr device_address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

// A call's body, with a profiler told of it where there is one. In one place: a program's copy of the static runtime
// must not be at another address than before once a profiler is there.
template <typename Body>
cudaError_t observed(Needs needs, const char* symbol, const Body& body) {
    const SimcudaRuntimeCalls* calls = needs == Needs::nothing ? nullptr : driver_state().calls;
    SimcudaCall call;
    if (calls && !calls->begin(&call, symbol))
        calls = nullptr;
    struct Scope {
        const SimcudaRuntimeCalls* calls;
        SimcudaCall* call;
        cudaError_t result = cudaErrorUnknown;  // of a thread that is cancelled inside
        ~Scope() {
            if (calls)
                calls->end(call, result);
        }
    } scope{calls, &call};
    return scope.result = body();
}

}  // namespace simcudart

#define RT_BEGIN(needs)                                                                                        \
    if (const cudaError_t prepared = ::simcudart::prepare(::simcudart::Needs::needs); prepared != cudaSuccess) \
    return prepared

// A runtime function that hands its arguments to one driver function.
#define RT_ONE(function, needs, parameters, ...)                                                  \
    RT_EXPORT cudaError_t function parameters {                                                   \
        return ::simcudart::observed(::simcudart::Needs::needs, #function, [&]() -> cudaError_t { \
            RT_BEGIN(needs);                                                                      \
            __VA_ARGS__                                                                           \
        });                                                                                       \
    }

// The same with its per-thread-default-stream twin; RT_DRIVER names the driver function of the right kind.
#define RT_TWINS(function, suffix, parameters, ...)      \
    RT_VARIANT(function, false, parameters, __VA_ARGS__) \
    RT_VARIANT(function##suffix, true, parameters, __VA_ARGS__)
#define RT_VARIANT(function, variant, parameters, ...)                                              \
    RT_EXPORT cudaError_t function parameters {                                                     \
        return ::simcudart::observed(::simcudart::Needs::context, #function, [&]() -> cudaError_t { \
            [[maybe_unused]] constexpr bool per_thread = variant;                                   \
            RT_BEGIN(context);                                                                      \
            __VA_ARGS__                                                                             \
        });                                                                                         \
    }
#define RT_DRIVER(symbol, suffix) (per_thread ? ::simcudart::driver().symbol##suffix : ::simcudart::driver().symbol)
