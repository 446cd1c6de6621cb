// Driver functions without linking to the driver: dlsym on the library that the runtime opened.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <dlfcn.h>

namespace conformance {

inline void* exported(const char* symbol) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, symbol) : nullptr;
}

template <typename Function>
Function* driver(Function*, const char* symbol) {
    return reinterpret_cast<Function*>(exported(symbol));
}

}  // namespace conformance

// Only the type of the symbol is used, so that no reference to it remains.
#define DRIVER(symbol) (conformance::driver(static_cast<decltype(&symbol)>(nullptr), #symbol))
