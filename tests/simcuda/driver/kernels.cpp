#include "kernels.h"

#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "settings.h"

namespace simcuda {
namespace {

struct Kernels {
    std::mutex mutex;
    std::map<std::string, Kernel> by_name;
    std::vector<void*> libraries;

    Kernels() {
        std::istringstream list(settings().kernels);
        for (std::string path; std::getline(list, path, ':');) {
            if (path.empty())
                continue;
            if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
                libraries.push_back(library);
            else
                std::fprintf(stderr, "simcuda: SIMCUDA_KERNELS: %s\n", dlerror());
        }
    }
};

Kernels& kernels() {
    static Kernels& instance = *new Kernels;
    return instance;
}

}  // namespace

const Kernel* find_kernel(const char* name) {
    Kernels& all = kernels();
    std::lock_guard lock(all.mutex);
    const auto [it, added] = all.by_name.try_emplace(name);
    Kernel& kernel = it->second;
    if (!added)
        return &kernel;
    kernel.name = name;
    for (void* library : all.libraries) {
        kernel.run = reinterpret_cast<SimKernelFunction>(dlsym(library, name));
        if (!kernel.run)
            continue;
        const auto* sizes = static_cast<const std::size_t* const*>(dlsym(library, (kernel.name + "_args").c_str()));
        if (sizes)
            kernel.argument_sizes = *sizes;
        break;
    }
    return &kernel;
}

bool is_kernel(const void* handle) {
    Kernels& all = kernels();
    std::lock_guard lock(all.mutex);
    for (const auto& [name, kernel] : all.by_name)
        if (&kernel == handle)
            return true;
    return false;
}

}  // namespace simcuda
