// How a program with optional CUDA looks for it (scenario I9): weak references and dlsym. Prints what it found; nothing
// is called unless it is there. The answers must be those that the program gets without the tool.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

extern "C" {
int cudaMalloc(void**, unsigned long) __attribute__((weak));
int cudaMemcpyAsync(void*, const void*, unsigned long, int, void*) __attribute__((weak));
int cudaHostAlloc(void**, unsigned long, unsigned) __attribute__((weak));
int cudaDeviceSynchronize() __attribute__((weak));
int cuInit(unsigned) __attribute__((weak));
int cuMemcpyHtoDAsync_v2(unsigned long long, const void*, unsigned long, void*) __attribute__((weak));
int cuGetProcAddress_v2(const char*, void**, int, unsigned long long, void*) __attribute__((weak));
}

inline void probe_report(const char* who, const char* how, const char* name, bool found) {
    std::printf("%s %s %s: %s\n", who, how, name, found ? "found" : "none");
}

// Out of line and through a volatile pointer, so that the compiler decides nothing.
inline void probe_dlsym(const char* who, void* handle, const char* how, const char* name) {
    dlerror();
    void* volatile const found = dlsym(handle, name);
    // Without the object that it names first: which one looked is not the program's business.
    const char* error = dlerror();
    const char* const text = error != nullptr ? std::strstr(error, ": ") : nullptr;
    std::printf("%s %s %s: %s, error%s\n", who, how, name, found != nullptr ? "found" : "none",
                text != nullptr ? text : " (none)");
}

inline void probe_weak(const char* who) {
    probe_report(who, "weak", "cudaMalloc", &cudaMalloc != nullptr);
    probe_report(who, "weak", "cudaMemcpyAsync", &cudaMemcpyAsync != nullptr);
    probe_report(who, "weak", "cudaHostAlloc", &cudaHostAlloc != nullptr);
    probe_report(who, "weak", "cudaDeviceSynchronize", &cudaDeviceSynchronize != nullptr);
    probe_report(who, "weak", "cuInit", &cuInit != nullptr);
    probe_report(who, "weak", "cuMemcpyHtoDAsync_v2", &cuMemcpyHtoDAsync_v2 != nullptr);
    probe_report(who, "weak", "cuGetProcAddress_v2", &cuGetProcAddress_v2 != nullptr);
}

inline void probe_by_name(const char* who) {
    for (const char* name : {"cudaMalloc", "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "cuInit", "cuMemcpyHtoDAsync_v2",
                             "cuGetProcAddress_v2", "no_such_function"}) {
        probe_dlsym(who, RTLD_DEFAULT, "RTLD_DEFAULT", name);
        probe_dlsym(who, RTLD_NEXT, "RTLD_NEXT", name);
    }
}
