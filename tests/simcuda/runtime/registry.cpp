// The entry points of nvcc's host code (crt/host_runtime.h), and what they register.
#include "registry.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "call.h"

namespace simcudart {
namespace {

struct Image {
    const void* data = nullptr;
    CUlibrary library = nullptr;
};

struct RegisteredKernel {
    Image* image = nullptr;
    std::string name;
    CUkernel kernel = nullptr;
};

struct Variable {
    std::size_t size = 0;
    CUdeviceptr address = 0;
};

struct ManagedVariable {
    void** host = nullptr;
    std::size_t size = 0;
};

struct Registry {
    std::mutex mutex;
    std::map<const void*, RegisteredKernel> kernels;
    std::map<const void*, Variable> variables;
    std::vector<ManagedVariable> managed;
    std::atomic<std::size_t> managed_waiting{0};
};

Registry& registry() {  // made before main by the programs' constructors, never destroyed
    static Registry& instance = *new Registry;
    return instance;
}

CUkernel load(RegisteredKernel& entry) {
    if (entry.kernel)
        return entry.kernel;
    Image& image = *entry.image;
    if (!image.library && driver().cuLibraryLoadData(&image.library, image.data, nullptr, nullptr, 0, nullptr, nullptr,
                                                     0) != CUDA_SUCCESS)
        return nullptr;
    driver().cuLibraryGetKernel(&entry.kernel, image.library, entry.name.c_str());
    return entry.kernel;
}

}  // namespace

CUkernel kernel_of(const void* host_function) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    const auto it = all.kernels.find(host_function);
    if (it != all.kernels.end())
        return load(it->second);
    // A cudaKernel_t may stand in for the host function (cudaLaunchKernel since 12.1).
    for (auto& [host, entry] : all.kernels)
        if (entry.kernel && entry.kernel == host_function)
            return entry.kernel;
    return nullptr;
}

cudaError_t function_of(const void* host_function, CUfunction* out) {
    const CUkernel kernel = kernel_of(host_function);
    if (!kernel)
        return cudaErrorInvalidDeviceFunction;
    return static_cast<cudaError_t>(driver().cuKernelGetFunction(out, kernel));
}

void* host_function_of(CUfunction function) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    for (const auto& [host, entry] : all.kernels) {
        CUfunction own = nullptr;
        if (entry.kernel && driver().cuKernelGetFunction(&own, entry.kernel) == CUDA_SUCCESS && own == function)
            return const_cast<void*>(host);
    }
    return function;
}

cudaError_t inside_symbol(const void* symbol, std::size_t offset, std::size_t size, void** out) {
    CUdeviceptr address = 0;
    std::size_t whole = 0;
    if (const cudaError_t error = symbol_address(symbol, &address, &whole); error != cudaSuccess)
        return error;
    if (offset > whole || size > whole - offset)
        return cudaErrorInvalidValue;
    *out = reinterpret_cast<void*>(address + offset);
    return cudaSuccess;
}

cudaError_t symbol_address(const void* host_variable, CUdeviceptr* address, std::size_t* size) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    const auto it = all.variables.find(host_variable);
    if (it == all.variables.end())
        return cudaErrorInvalidSymbol;
    Variable& variable = it->second;
    if (!variable.address) {
        const CUresult result = driver().cuMemAlloc_v2(&variable.address, variable.size);
        if (result != CUDA_SUCCESS)
            return static_cast<cudaError_t>(result);
    }
    if (address)
        *address = variable.address;
    if (size)
        *size = variable.size;
    return cudaSuccess;
}

cudaError_t allocate_managed_variables() {
    Registry& all = registry();
    if (all.managed_waiting.load(std::memory_order_acquire) == 0)
        return cudaSuccess;
    std::lock_guard lock(all.mutex);
    for (const ManagedVariable& variable : all.managed) {
        CUdeviceptr address = 0;
        const CUresult result = driver().cuMemAllocManaged(&address, variable.size, CU_MEM_ATTACH_GLOBAL);
        if (result != CUDA_SUCCESS)
            return finish(result);
        *variable.host = reinterpret_cast<void*>(address);
    }
    all.managed.clear();
    all.managed_waiting.store(0, std::memory_order_release);
    return cudaSuccess;
}

}  // namespace simcudart

using namespace simcudart;

RT_EXPORT void** __cudaRegisterFatBinary(void* image) {
    return reinterpret_cast<void**>(new Image{image, nullptr});
}
RT_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}

RT_EXPORT void __cudaUnregisterFatBinary(void** handle) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    std::erase_if(all.kernels,
                  [&](const auto& entry) { return entry.second.image == reinterpret_cast<Image*>(handle); });
    delete reinterpret_cast<Image*>(handle);
}

RT_EXPORT void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* device_name, int,
                                      uint3*, uint3*, dim3*, dim3*, int*) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    all.kernels[host_function] = {reinterpret_cast<Image*>(handle), device_name, nullptr};
}

RT_EXPORT void __cudaRegisterVar(void**, char* host_variable, char*, const char*, int, size_t size, int, int) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    all.variables[host_variable] = {size, 0};
}

RT_EXPORT void __cudaRegisterManagedVar(void**, void** host, char*, const char*, int, size_t size, int, int) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    all.managed.push_back({host, size});
    all.managed_waiting.fetch_add(1, std::memory_order_release);
}

RT_EXPORT void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
RT_EXPORT void __cudaRegisterUnifiedTable(void**, void*) {}

// Called before the first use of a __managed__ variable.
RT_EXPORT char __cudaInitModule(void**) {
    return prepare(Needs::context) == cudaSuccess;
}

RT_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* host_function) {
    RT_BEGIN(driver);
    *out = reinterpret_cast<cudaKernel_t>(kernel_of(host_function));
    return *out ? cudaSuccess : finish(cudaErrorInvalidDeviceFunction);
}
