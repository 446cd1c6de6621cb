// Another tool in LD_PRELOAD: wraps two functions by dlsym(RTLD_NEXT), as such tools do, and prints at exit how often
// it was called. With the tool before it or after it, it must count the same and the program must work.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

int copies = 0;
int pins = 0;

template <class Function>
Function* next(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::printf("shim: no next %s\n", name);
        std::abort();
    }
    return reinterpret_cast<Function*>(found);
}

__attribute__((destructor)) void say() {
    std::printf("shim saw %d copies, %d pins\n", copies, pins);
}

}  // namespace

extern "C" int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
    static const auto real = next<int(void*, const void*, std::size_t, int, void*)>("cudaMemcpyAsync");
    ++copies;
    return real(to, from, bytes, kind, stream);
}

extern "C" int cudaMallocHost(void** out, std::size_t bytes) {
    static const auto real = next<int(void**, std::size_t)>("cudaMallocHost");
    ++pins;
    return real(out, bytes);
}
