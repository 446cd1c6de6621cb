// Defines a listed function itself, in the executable. Its own calls and RTLD_DEFAULT must find its own.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>

extern "C" __attribute__((visibility("default"))) int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*) {
    return 42;
}

int main() {
    using Copy = int (*)(void*, const void*, std::size_t, int, void*);
    const auto found = reinterpret_cast<Copy>(dlsym(RTLD_DEFAULT, "cudaMemcpyAsync"));
    std::printf("own %d, by name %d\n", cudaMemcpyAsync(nullptr, nullptr, 0, 0, nullptr),
                found != nullptr ? found(nullptr, nullptr, 0, 0, nullptr) : -1);
    return 0;
}
