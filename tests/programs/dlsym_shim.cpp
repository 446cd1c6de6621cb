// Another preloaded library that defines dlsym, as profilers and game overlays do. It counts the names that are neither
// CUDA's nor what the stand-ins of the simulated device ask one another, and asks libc's own, found by its version, so
// that a tool behind it in LD_PRELOAD is passed over; or, with DLSYM_SHIM_NEXT, the next dlsym there is. Names of its
// own are not answered.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace {

using Dlsym = void* (*)(void*, const char*);
std::atomic<int> asked = 0;

Dlsym real() {
#ifdef DLSYM_SHIM_NEXT
    // libc's would return this very function for RTLD_NEXT of a name that only it knows: so take the next by hand.
    static const auto found =
        reinterpret_cast<Dlsym>(reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(RTLD_NEXT, "dlsym"));
#else
    static const auto found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
#endif
    return found;
}

__attribute__((destructor)) void say() {
    std::printf("shim was asked %d\n", asked.load());
}

}  // namespace

extern "C" void* dlsym(void* handle, const char* name) noexcept {
    asked += std::strncmp(name, "cu", 2) == 0 || std::strncmp(name, "simcuda", 7) == 0 ? 0 : 1;
    return real()(handle, name);
}
