// A copying function that the tool's list does not have (scenario I2; the do-nothing runtime and driver of tests/bench
// export one), found in the way that its argument says: linked (called once, through a lazily bound reference), dlsym,
// lookup, or not at all. Makes one listed copy from page-locked memory, too.
// Must be said: cudaMemcpyNextAsync (linked), cuMemcpyNextAsync (all that start the runtime look it up).
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" {
int cudaMallocHost(void** out, std::size_t bytes);
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int cudaMemcpyNextAsync(void* to, const void* from, std::size_t bytes, void* stream);
}

namespace {

constexpr std::size_t kBytes = 4096;

int by_driver(const char* way, void* device, const void* pinned) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    using LookUp = int (*)(const char*, void**, int, std::uint64_t, int*);
    using Copy = int (*)(std::uint64_t, const void*, std::size_t, void*);
    void* found = nullptr;
    if (driver == nullptr) {
        return 2;
    }
    if (std::strcmp(way, "dlsym") == 0) {
        found = dlsym(driver, "cuMemcpyNextAsync");
    } else if (const auto look_up = reinterpret_cast<LookUp>(dlsym(driver, "cuGetProcAddress_v2"))) {
        look_up("cuMemcpyNextAsync", &found, 13000, 0, nullptr);
    }
    return found == nullptr
               ? 3
               : reinterpret_cast<Copy>(found)(reinterpret_cast<std::uintptr_t>(device), pinned, 8, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    const char* const way = argc > 1 ? argv[1] : "";
    void* const device = reinterpret_cast<void*>(0x2000);
    void* pinned = nullptr;
    int failed = cudaMallocHost(&pinned, kBytes);
    if (std::strcmp(way, "linked") == 0) {
        failed |= cudaMemcpyNextAsync(device, pinned, kBytes, nullptr);
    } else if (std::strcmp(way, "none") != 0) {
        failed |= by_driver(way, device, pinned);
    }
    failed |= cudaMemcpyAsync(device, pinned, kBytes, 1, nullptr);
    std::printf("failed %d\n", failed);
    return failed;
}
