// Records what a CUDA runtime asks the driver for: preload this into a program that holds nvcc's static runtime, on a
// machine with a GPU. One line a look-up on LOOKUPS_OUT: "name version flags". The result is committed as
// tests/simcuda/cudart_static_lookups.txt, replayed by simcuda's runtime and by a unit test.
//
// A recorder, not the tool: it overrides dlsym in the plainest way that works for a small test program.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using GetProcAddress = int (*)(const char*, void**, int, std::uint64_t, void*);
using Dlsym = void* (*)(void*, const char*);

GetProcAddress g_real_get_proc_address = nullptr;

std::FILE* out() {
    static std::FILE* file = [] {
        const char* path = std::getenv("LOOKUPS_OUT");
        return path != nullptr ? std::fopen(path, "w") : stderr;
    }();
    return file;
}

int record_get_proc_address(const char* name, void** pfn, int version, std::uint64_t flags, void* status) {
    const int result = g_real_get_proc_address(name, pfn, version, flags, status);
    std::fprintf(out(), "%s %d %llu\n", name, version, static_cast<unsigned long long>(flags));
    std::fflush(out());
    // The runtime asks for its own look-up function too; what it gets must stay this one, or the rest goes unseen.
    if (result == 0 && pfn != nullptr && std::strcmp(name, "cuGetProcAddress") == 0 && version >= 12000) {
        *pfn = reinterpret_cast<void*>(&record_get_proc_address);
    }
    return result;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
    static const auto real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
    void* result = real(handle, name);
    if (std::strncmp(name, "cu", 2) == 0) {
        std::fprintf(out(), "# dlsym %s\n", name);
    }
    if (result != nullptr && std::strcmp(name, "cuGetProcAddress_v2") == 0) {
        g_real_get_proc_address = reinterpret_cast<GetProcAddress>(result);
        return reinterpret_cast<void*>(&record_get_proc_address);
    }
    return result;
}
