// The C++ half of the dlsym override (dlsym_trampoline.S): which look-ups get another answer.
//
//   explicit handle   a listed driver function is replaced when the real result lies in the driver; runtime functions
//                     are not (their calls are seen at the driver)
//   RTLD_NEXT         passes: its meaning is the caller's place in the search order
//   RTLD_DEFAULT      passes where the program would find the symbol without us too (the loader then finds our export,
//                     which is first in scope); otherwise it is answered with "not found", as without us

#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include "api.h"
#include "elf_objects.h"
#include "exports.h"
#include "lifecycle.h"
#include "lookup_route.h"
#include "options.h"
#include "real.h"

namespace pincheck {
namespace {

using Dlsym = void* (*)(void*, const char*);

}  // namespace
}  // namespace pincheck

extern "C" {

__attribute__((visibility("hidden"))) pincheck::Dlsym pincheck_real_dlsym = nullptr;

// dlvsym is not intercepted by sanitizers; finding dlsym by other means was measured to crash under address sanitizer.
// glibc 2.34 moved dlsym into libc; both versions exist since then.
__attribute__((visibility("hidden"))) pincheck::Dlsym pincheck_find_dlsym() {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
        void* found = dlvsym(RTLD_NEXT, "dlsym", version);
        if (found != nullptr) {
            pincheck_real_dlsym = reinterpret_cast<pincheck::Dlsym>(found);
            break;
        }
    }
    return pincheck_real_dlsym;
}

}  // extern "C"

namespace pincheck {
namespace {

struct Answer {
    void* value;
    std::uint64_t given;  // 1: return `value`; 0: jump to the real function
};
constexpr Answer kPass{nullptr, 0};

int listed(const char* name) noexcept {
    for (std::size_t i = 0; i < kApiCount; ++i) {
        if (same_text(kApis[i].symbol, name)) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

// Would the caller find `name` in the default scope if we were not there? First the global scope after us; then the
// caller's own libraries, which may be loaded RTLD_LOCAL.
bool found_without_us(const char* name, std::uintptr_t caller) noexcept {
    if (pincheck_real_dlsym(RTLD_NEXT, name) != nullptr) {
        return true;
    }
    Dl_info info;
    link_map* map = nullptr;
    if (dladdr1(reinterpret_cast<void*>(caller), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
        map == nullptr || map->l_name == nullptr || map->l_name[0] == '\0') {
        return false;
    }
    void* handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) {
        return false;
    }
    const bool found = pincheck_real_dlsym(handle, name) != nullptr;
    dlclose(handle);
    return found;
}

Answer route(void* handle, const char* name, std::uintptr_t caller) noexcept {
    const int row = listed(name);
    if (row < 0 || handle == RTLD_NEXT) {
        return kPass;
    }
    if (pincheck_real_dlsym == nullptr && pincheck_find_dlsym() == nullptr) {
        return kPass;
    }
    process_started();
    if (handle == RTLD_DEFAULT) {
        if (found_without_us(name, caller)) {
            return kPass;
        }
        // As without us, dlerror's text included but for the name of the asking object.
        return {pincheck_real_dlsym(RTLD_NEXT, name), 1};
    }
    if (!dlsym_wanted()) {
        return kPass;
    }
    void* real = pincheck_real_dlsym(handle, name);
    if (real == nullptr) {
        return {nullptr, 1};
    }
    const int found = row_for_address(real);
    if (found < 0) {
        return {real, 1};
    }
    note_route(Route::dlsym);
    return {wrapper_of(static_cast<Api>(found)), 1};
}

}  // namespace
}  // namespace pincheck

extern "C" __attribute__((visibility("hidden"))) pincheck::Answer pincheck_dlsym_route(void* handle, const char* name,
                                                                                       std::uintptr_t caller) {
    return pincheck::route(handle, name, caller);
}
