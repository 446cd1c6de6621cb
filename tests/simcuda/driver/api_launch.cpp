// Code loading and kernel launch. Any image is accepted: kernels are looked up by name only.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "capture.h"
#include "context.h"
#include "kernels.h"
#include "settings.h"

using namespace simcuda;

namespace {

// Every module and library: there is nothing to keep of an image.
char g_any_image;

CUresult kernel_of(void** out, const char* name) {
    if (!out || !name)
        return CUDA_ERROR_INVALID_VALUE;
    *out = const_cast<Kernel*>(find_kernel(name));
    return CUDA_SUCCESS;
}

// Of a kernel's code, by the thread that launches it first.
void load(const Context* context, const Kernel& kernel) {
    if (kernel.loaded.exchange(true) || settings().load_us <= 0)
        return;
    TimedWait loading(SimcudaWaitKind::module_loading, context, nullptr);
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(settings().load_us / settings().speed));
    loading.stop(CUDA_SUCCESS);
}

CUresult load_image(void** out, const void* image) {
    if (!out || !image)
        return CUDA_ERROR_INVALID_VALUE;
    *out = &g_any_image;
    return CUDA_SUCCESS;
}
CUresult load_file(void** out, const char* path) {
    if (out && path && access(path, R_OK) != 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    return load_image(out, path);
}

CUresult launch(Context* context, const StreamPtr& stream, CUfunction function, SimDim3 grid, SimDim3 block,
                unsigned shared_bytes, void** parameters, void** extra) {
    if (!stream)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!is_kernel(function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (extra)
        return CUDA_ERROR_NOT_SUPPORTED;  // packed parameter buffers would need the machine code's layout
    const unsigned long threads = 1ul * block.x * block.y * block.z;
    if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const Kernel& kernel = *reinterpret_cast<const Kernel*>(function);
    load(context, kernel);
    const KernelNode node{&kernel, grid, block, shared_bytes, std::make_shared<Arguments>(kernel, parameters), context};
    count_kernel();
    if (const auto captured = capture_node(stream, node))
        return *captured;
    return issue(stream, Engine::compute, with_trace(trace_kernel(stream, node), [node] { run_kernel(node); }));
}

}  // namespace

SIM_ONE(cuModuleLoad, (CUmodule * out, const char* path), { return load_file(reinterpret_cast<void**>(out), path); })

SIM_ONE(cuModuleLoadData, (CUmodule * out, const void* image),
        { return load_image(reinterpret_cast<void**>(out), image); })

SIM_ONE(cuModuleLoadDataEx, (CUmodule * out, const void* image, unsigned, CUjit_option*, void**),
        { return load_image(reinterpret_cast<void**>(out), image); })

SIM_ONE(cuModuleLoadFatBinary, (CUmodule * out, const void* image),
        { return load_image(reinterpret_cast<void**>(out), image); })

SIM_ONE(cuModuleUnload, (CUmodule module), { return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; })

SIM_ONE(cuModuleGetFunction, (CUfunction * out, CUmodule module, const char* name), {
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    return kernel_of(reinterpret_cast<void**>(out), name);
})

SIM_PLAIN(cuLibraryLoadData,
          (CUlibrary * out, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned),
          { return load_image(reinterpret_cast<void**>(out), code); })

SIM_PLAIN(cuLibraryLoadFromFile,
          (CUlibrary * out, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned),
          { return load_file(reinterpret_cast<void**>(out), path); })

SIM_PLAIN(cuLibraryUnload, (CUlibrary library), { return library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; })

SIM_PLAIN(cuLibraryGetKernel, (CUkernel * out, CUlibrary library, const char* name), {
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    return kernel_of(reinterpret_cast<void**>(out), name);
})

SIM_ONE(cuKernelGetFunction, (CUfunction * out, CUkernel kernel), {
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_kernel(kernel))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
})

SIM_ONE(cuFuncGetAttribute, (int* value, CUfunction_attribute which, CUfunction function), {
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_kernel(function))
        return CUDA_ERROR_INVALID_HANDLE;
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = 1024;
            break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 32;
            break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = 90;
            break;
        default:
            *value = 0;
    }
    return CUDA_SUCCESS;
})

SIM_ONE(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute, int),
        { return is_kernel(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; })

SIM_TWINS(cuLaunchKernel, _ptsz,
          (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
           unsigned shared_bytes, CUstream stream, void** parameters, void** extra),
          {
              return launch(context, find_stream(context, stream, meaning), function, SimDim3{gx, gy, gz},
                            SimDim3{bx, by, bz}, shared_bytes, parameters, extra);
          })

SIM_TWINS(cuLaunchCooperativeKernel, _ptsz,
          (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
           unsigned shared_bytes, CUstream stream, void** parameters),
          {
              return launch(context, find_stream(context, stream, meaning), function, SimDim3{gx, gy, gz},
                            SimDim3{bx, by, bz}, shared_bytes, parameters, nullptr);
          })

SIM_TWINS(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),
          {
              if (!config)
                  return CUDA_ERROR_INVALID_VALUE;
              return launch(context, find_stream(context, config->hStream, meaning), function,
                            SimDim3{config->gridDimX, config->gridDimY, config->gridDimZ},
                            SimDim3{config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                            parameters, extra);
          })
