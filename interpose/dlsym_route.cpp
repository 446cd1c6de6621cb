// The C++ half of the dlsym override (dlsym_trampoline.S): which look-ups get another answer.
//
//   explicit handle   a listed driver function is replaced when the real result lies in the driver, a listed function
//   of
//                     CUPTI when it lies in a libcupti; runtime functions are not (their calls are seen at the driver)
//   RTLD_DEFAULT, RTLD_NEXT, a handle of the program itself
//                     lead to our export where we are in the way; so they pass only where the program would find the
//                     symbol without us too, and are otherwise answered with "not found", as without us

#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#include "api.h"
#include "bypass.h"
#include "cupti_exports.h"
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

// libc's, for questions of our own, and the one after us, to which the program's go on: another preloaded library may
// define dlsym too.
__attribute__((visibility("hidden"))) pincheck::Dlsym pincheck_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) pincheck::Dlsym pincheck_next_dlsym = nullptr;

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
    if (pincheck_real_dlsym != nullptr) {
        void* next = pincheck_real_dlsym(RTLD_NEXT, "dlsym");
        pincheck_next_dlsym = next != nullptr ? reinterpret_cast<pincheck::Dlsym>(next) : pincheck_real_dlsym;
    }
    return pincheck_next_dlsym;
}

}  // extern "C"

namespace pincheck {
namespace {

struct Answer {
    void* value;
    std::uint64_t given;  // 1: return `value`; 0: jump to the real function
};
constexpr Answer kPass{nullptr, 0};

link_map* map_of(std::uintptr_t address) noexcept {
    Dl_info info;
    link_map* map = nullptr;
    const int found = dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
    return found != 0 ? map : nullptr;
}

// Is there a definition after us in the global scope?
bool in_global_scope(const char* name) noexcept {
    return pincheck_real_dlsym(RTLD_NEXT, name) != nullptr;
}

// Do the caller's own libraries, which may be loaded RTLD_LOCAL, define it?
bool in_scope_of(const link_map* map, const char* name) noexcept {
    if (map == nullptr || map->l_name == nullptr || map->l_name[0] == '\0') {
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

// The program itself, or a library preloaded before us: what comes next after it includes us.
bool comes_before_us(const link_map* map) noexcept {
    const void* own = own_object().dynamic;
    while (map != nullptr && map->l_ld != own) {
        map = map->l_next;
    }
    return map != nullptr;
}

// Our own dlsym is the one that such a handle finds.
bool leads_to_us(void* handle) noexcept {
    return pincheck_real_dlsym(handle, "dlsym") == reinterpret_cast<void*>(&dlsym);
}

// As without us, dlerror's text included but for the name of the object that asks.
Answer not_found(const char* name) noexcept {
    return {pincheck_real_dlsym(RTLD_NEXT, name), 1};
}

// Passed on; that the driver has such a function is remembered. Asked once only where that leaves dlerror alone.
Answer unlisted_function(void* handle, const char* name) noexcept {
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT ||
        (pincheck_real_dlsym == nullptr && pincheck_find_dlsym() == nullptr)) {
        return kPass;
    }
    void* real = pincheck_real_dlsym(handle, name);
    if (real == nullptr) {
        return kPass;
    }
    const Driver* known = driver();
    if (known != nullptr && known->contains(real)) {
        note_unlisted(name);
    }
    return {real, 1};
}

bool lies_in_cupti(const void* function) noexcept {
    bool inside = false;
    for_each_object([&](const ElfObject& object) {
        const bool holds = object.contains(reinterpret_cast<std::uintptr_t>(function));
        inside = holds && object.is_cupti();
        return holds;
    });
    return inside;
}

Answer route(void* handle, const char* name, std::uintptr_t caller) noexcept {
    const int cupti_row = cupti::find_export(name);
    if (cupti_row < 0 && find_export(name) < 0) {
        return moves_memory(name) ? unlisted_function(handle, name) : kPass;
    }
    if (pincheck_real_dlsym == nullptr && pincheck_find_dlsym() == nullptr) {
        return kPass;
    }
    process_started();
    if (handle == RTLD_DEFAULT) {
        const bool found = defined_before_us(name) || in_global_scope(name) || in_scope_of(map_of(caller), name);
        return found ? kPass : not_found(name);
    }
    if (handle == RTLD_NEXT) {
        return in_global_scope(name) || !comes_before_us(map_of(caller)) ? kPass : not_found(name);
    }
    void* real = pincheck_real_dlsym(handle, name);
    // A handle of the program itself may lead to our export: the wrapper, or null without an error where there is no
    // CUDA. Without us it would lead to the next definition, if any.
    const bool ours = is_wrapper(real) || cupti::is_wrapper(real) || (real == nullptr && leads_to_us(handle));
    if (ours) {
        return in_global_scope(name) ? Answer{real, 1} : not_found(name);
    }
    if (real == nullptr) {
        return {pincheck_real_dlsym(handle, name), 1};  // once more: asking cleared dlerror
    }
    if (cupti_row >= 0) {
        return {lies_in_cupti(real) ? cupti::wrapper_of(cupti_row, real) : real, 1};
    }
    if (!dlsym_wanted()) {
        return {real, 1};
    }
    const int found = row_for_address(real);
    if (found < 0) {
        return {real, 1};
    }
    note_route(Route::dlsym);
    note_asker(caller);
    return {wrapper_of(static_cast<Api>(found)), 1};
}

}  // namespace

void* libc_dlsym(void* handle, const char* name) noexcept {
    return pincheck_real_dlsym != nullptr || pincheck_find_dlsym() != nullptr ? pincheck_real_dlsym(handle, name)
                                                                              : nullptr;
}
}  // namespace pincheck

extern "C" __attribute__((visibility("hidden"))) pincheck::Answer pincheck_dlsym_route(void* handle, const char* name,
                                                                                       std::uintptr_t caller) {
    return pincheck::route(handle, name, caller);
}
