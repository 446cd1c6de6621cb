// Kernel launch, host functions and function attributes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "call.h"
#include "registry.h"

using namespace simcudart;

namespace {

struct Configuration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
};

// Pushed by <<<>>>, popped by the kernel's host stub. Trivial type with a raw array: usable while thread_locals go
// away.
constexpr int kMaxNesting = 16;
thread_local Configuration t_configurations[kMaxNesting];
thread_local int t_nesting = 0;

cudaError_t launch(bool per_thread, const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream) {
    CUfunction function = nullptr;
    if (const cudaError_t error = function_of(kernel, &function); error != cudaSuccess)
        return finish(error);
    return finish(RT_DRIVER(cuLaunchKernel, _ptsz)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                   static_cast<unsigned>(shared_bytes), stream, arguments, nullptr));
}

}  // namespace

RT_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
    if (t_nesting == kMaxNesting)
        return 1;
    t_configurations[t_nesting++] = {grid, block, shared_bytes, stream};
    return 0;
}

RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    if (t_nesting == 0)
        return finish(cudaErrorMissingConfiguration);
    const Configuration& top = t_configurations[--t_nesting];
    *grid = top.grid;
    *block = top.block;
    *shared_bytes = top.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = top.stream;
    return cudaSuccess;
}

RT_TWINS(__cudaLaunchKernel, _ptsz,
         (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
         { return launch(per_thread, kernel, grid, block, arguments, shared_bytes, stream); })

RT_TWINS(cudaLaunchKernel, _ptsz,
         (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream),
         { return launch(per_thread, kernel, grid, block, arguments, shared_bytes, stream); })

RT_TWINS(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments), {
    if (!config)
        return finish(cudaErrorInvalidValue);
    CUfunction function = nullptr;
    if (const cudaError_t error = function_of(kernel, &function); error != cudaSuccess)
        return finish(error);
    CUlaunchConfig c{};
    c.gridDimX = config->gridDim.x;
    c.gridDimY = config->gridDim.y;
    c.gridDimZ = config->gridDim.z;
    c.blockDimX = config->blockDim.x;
    c.blockDimY = config->blockDim.y;
    c.blockDimZ = config->blockDim.z;
    c.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
    c.hStream = config->stream;
    return finish(RT_DRIVER(cuLaunchKernelEx, _ptsz)(&c, function, arguments, nullptr));
})

RT_TWINS(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void* data),
         { return finish(RT_DRIVER(cuLaunchHostFunc, _ptsz)(stream, function, data)); })

// cudaStreamCallback_t and CUstreamCallback differ only in the type of the status, whose values are the same.
RT_TWINS(cudaStreamAddCallback, _ptsz, (cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags),
         {
             return finish(RT_DRIVER(cuStreamAddCallback, _ptsz)(stream, reinterpret_cast<CUstreamCallback>(callback),
                                                                 data, flags));
         })

RT_ONE(cudaFuncGetAttributes, context, (cudaFuncAttributes * out, const void* kernel), {
    if (!out)
        return finish(cudaErrorInvalidValue);
    CUfunction function = nullptr;
    if (const cudaError_t error = function_of(kernel, &function); error != cudaSuccess)
        return finish(error);
    std::memset(out, 0, sizeof *out);
    const auto get = [&](CUfunction_attribute which) {
        int value = 0;
        driver().cuFuncGetAttribute(&value, which, function);
        return value;
    };
    out->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    out->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
    out->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    out->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    return cudaSuccess;
})

RT_ONE(cudaFuncSetAttribute, context, (const void* kernel, cudaFuncAttribute which, int value), {
    CUfunction function = nullptr;
    if (const cudaError_t error = function_of(kernel, &function); error != cudaSuccess)
        return finish(error);
    return finish(driver().cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(which), value));
})

RT_ONE(cudaOccupancyMaxActiveBlocksPerMultiprocessor, context, (int* blocks, const void*, int block_size, size_t), {
    if (!blocks || block_size <= 0)
        return finish(cudaErrorInvalidValue);
    *blocks = std::min(32, 2048 / block_size);
    return cudaSuccess;
})
