#include "call.h"

#include <atomic>
#include <mutex>
#include <vector>

#include "registry.h"

namespace simcudart {
namespace {

thread_local cudaError_t t_last_error = cudaSuccess;
thread_local int t_device = 0;

std::atomic<bool> g_unloading{false};

struct Unloading {
    ~Unloading() { g_unloading = true; }
} g_at_exit;

// Errors that leave the context unusable are not cleared by cudaGetLastError (CUDA Runtime API, "Error handling").
bool sticky(cudaError_t error) {
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure || error == cudaErrorLaunchTimeout ||
           error == cudaErrorAssert;
}

// The primary context of the device, retained once for the life of the process.
CUresult primary(int device, CUcontext* out) {
    static std::mutex& mutex = *new std::mutex;
    static std::vector<CUcontext>& contexts = *new std::vector<CUcontext>;
    std::lock_guard lock(mutex);
    const auto index = static_cast<std::size_t>(device);
    if (contexts.size() <= index)
        contexts.resize(index + 1);
    if (!contexts[index])
        if (const CUresult result = driver().cuDevicePrimaryCtxRetain(&contexts[index], device); result != CUDA_SUCCESS)
            return result;
    *out = contexts[index];
    return CUDA_SUCCESS;
}

}  // namespace

cudaError_t prepare(Needs needs) {
    if (g_unloading)
        return cudaErrorCudartUnloading;
    if (needs == Needs::nothing)
        return cudaSuccess;
    if (const cudaError_t error = driver_state().error; error != cudaSuccess)
        return finish(error);
    if (needs == Needs::driver)
        return cudaSuccess;
    CUcontext context = nullptr;
    if (const CUresult result = driver().cuCtxGetCurrent(&context); result != CUDA_SUCCESS)
        return finish(result);
    if (!context) {
        if (const CUresult result = primary(t_device, &context); result != CUDA_SUCCESS)
            return finish(result);
        if (const CUresult result = driver().cuCtxSetCurrent(context); result != CUDA_SUCCESS)
            return finish(result);
    }
    return allocate_managed_variables();
}

cudaError_t finish(cudaError_t result) {
    // "Not ready" is an answer (measured: cudart 13.0.96: cudaGetLastError after it gives success).
    if (result != cudaSuccess && result != cudaErrorNotReady)
        t_last_error = result;
    return result;
}

cudaError_t take_last_error() {
    const cudaError_t error = t_last_error;
    if (!sticky(error))
        t_last_error = cudaSuccess;
    return error;
}

cudaError_t peek_last_error() {
    return t_last_error;
}

int current_device() {
    return t_device;
}

cudaError_t device_context(int device, CUcontext* out) {
    int count = 0;
    if (const CUresult result = driver().cuDeviceGetCount(&count); result != CUDA_SUCCESS)
        return static_cast<cudaError_t>(result);
    if (device < 0 || device >= count)
        return cudaErrorInvalidDevice;
    return static_cast<cudaError_t>(primary(device, out));
}

cudaError_t use_device(int device) {
    CUcontext context = nullptr;
    if (const cudaError_t error = device_context(device, &context); error != cudaSuccess)
        return finish(error);
    t_device = device;
    return finish(driver().cuCtxSetCurrent(context));
}

}  // namespace simcudart
