// A libcuda.so.1 whose functions do nothing, so that a benchmark sees the hooks and not a device: simcuda's queues and
// threads cost microseconds with a jitter far above the 150 ns that are looked for. Page-locked memory is one block
// that pointer queries know; every other pointer is pageable, device addresses are small numbers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
alignas(4096) unsigned char block[kBlock];
constexpr std::uint64_t kDeviceBegin = 0x1000;
constexpr std::uint64_t kDeviceEnd = 0x1000000;

bool in_block(std::uint64_t pointer) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    return pointer >= begin && pointer < begin + kBlock;
}

}  // namespace

EXPORT int cuInit(unsigned) {
    return 0;
}
EXPORT int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
EXPORT int cuDeviceGet(int* device, int) {
    *device = 0;
    return 0;
}
EXPORT int cuDeviceGetCount(int* count) {
    *count = 1;
    return 0;
}
EXPORT int cuDeviceGetName(char* name, int length, int) {
    std::strncpy(name, "stub", static_cast<std::size_t>(length));
    return 0;
}
EXPORT int cuDeviceGetAttribute(int* value, int, int) {
    *value = 0;
    return 0;
}
EXPORT int cuCtxGetDevice(int* device) {
    *device = 0;
    return 0;
}
EXPORT int cuCtxGetCurrent(void** context) {
    *context = block;
    return 0;
}
EXPORT int cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
    *out = bytes <= kBlock ? block : nullptr;
    return bytes <= kBlock ? 0 : 2;
}
EXPORT int cuMemFreeHost(void*) {
    return 0;
}
EXPORT int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, std::uint64_t pointer) {
    const bool pinned = in_block(pointer);
    const bool device = pointer >= kDeviceBegin && pointer < kDeviceEnd;
    for (unsigned i = 0; i < count; ++i) {
        switch (attributes[i]) {
            case 2:
                *static_cast<unsigned*>(values[i]) = pinned ? 1 : device ? 2 : 0;
                break;
            case 8:
                *static_cast<unsigned*>(values[i]) = 0;
                break;
            case 11:
                *static_cast<std::uint64_t*>(values[i]) = pinned ? reinterpret_cast<std::uintptr_t>(block) : pointer;
                break;
            case 12:
                *static_cast<std::uint64_t*>(values[i]) = pinned ? kBlock : 0;
                break;
            default:
                break;
        }
    }
    return 0;
}
// What a test wants to happen inside a call: a longjmp, an exception, the thread's end.
extern "C" {
__attribute__((visibility("default"))) void (*stub_in_copy)() = nullptr;
}
EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t, const void*, std::size_t, void*) {
    if (stub_in_copy != nullptr) {
        stub_in_copy();
    }
    return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void*, std::uint64_t, std::size_t, void*) {
    return 0;
}
// A function that no CUDA has yet: what the tool makes of one that is not in its list (unlisted_copies.cpp).
EXPORT int cuMemcpyNextAsync(std::uint64_t, const void*, std::size_t, void*) {
    return 0;
}
EXPORT int cuStreamSynchronize(void*) {
    return 0;
}
EXPORT int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                          void**) {
    return 0;
}

EXPORT int cuGetProcAddress_v2(const char* name, void** out, int, std::uint64_t, int* status) {
    const struct {
        const char* name;
        void* address;
    } table[] = {
        {"cuMemcpyHtoDAsync", reinterpret_cast<void*>(&cuMemcpyHtoDAsync_v2)},
        {"cuMemcpyDtoHAsync", reinterpret_cast<void*>(&cuMemcpyDtoHAsync_v2)},
        {"cuMemcpyNextAsync", reinterpret_cast<void*>(&cuMemcpyNextAsync)},
        {"cuStreamSynchronize", reinterpret_cast<void*>(&cuStreamSynchronize)},
        {"cuLaunchKernel", reinterpret_cast<void*>(&cuLaunchKernel)},
        {"cuMemHostAlloc", reinterpret_cast<void*>(&cuMemHostAlloc)},
        {"cuMemFreeHost", reinterpret_cast<void*>(&cuMemFreeHost)},
        {"cuPointerGetAttributes", reinterpret_cast<void*>(&cuPointerGetAttributes)},
    };
    for (const auto& entry : table) {
        if (std::strcmp(name, entry.name) == 0) {
            *out = entry.address;
            if (status != nullptr) {
                *status = 0;
            }
            return 0;
        }
    }
    *out = nullptr;
    if (status != nullptr) {
        *status = 1;
    }
    return 500;
}
EXPORT int cuStreamGetFlags(void*, unsigned* flags) {
    *flags = 1;
    return 0;
}
EXPORT int cuStreamGetCtx(void*, void** context) {
    *context = block;
    return 0;
}
