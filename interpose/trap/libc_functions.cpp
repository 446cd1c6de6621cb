#include "libc_functions.h"

#include <fcntl.h>
#include <link.h>

#include <cerrno>
#include <cstdint>

#include "interpose/elf_objects.h"
#include "raw_calls.h"

extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));

namespace pincheck::trap {
namespace {

// Text, not pointers to it: those are relocated.
constexpr char kNames[][24] = {
#define PINCHECK_LIBC(symbol, shape) #symbol,
#define PINCHECK_LIBC_SIGNAL(symbol) #symbol,
#include "libc_api.def"
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kLibcCount);

void* g_libc_sigaction = nullptr;

long fail_with_enosys() {
    errno = ENOSYS;
    return -1;
}

bool is_self(const ElfObject& object) noexcept {
    return object.dynamic == own_object().dynamic;
}

// Opened by dlopen instead of preloaded, this library is last in the list: then everybody counts.
void find_functions(bool only_after_us) noexcept {
    bool counts = !only_after_us;
    for_each_object([&](const ElfObject& object) {
        if (is_self(object)) {
            counts = true;
            return false;
        }
        for (std::size_t i = 0; counts && i < kLibcCount; ++i) {
            if (g_functions[i] == nullptr) {
                g_functions[i] = object.find(kNames[i]);
            }
        }
        if (same_text(object.name(), "libc.so.6")) {
            g_libc_sigaction = object.find("sigaction");
        }
        return false;
    });
}

void on_relocated() noexcept {
    if (g_libc_sigaction != nullptr) {
        return;
    }
    find_functions(true);
    find_functions(false);
    for (void*& function : g_functions) {
        if (function == nullptr) {
            function = reinterpret_cast<void*>(&fail_with_enosys);
        }
    }
}

// The loader's list, found without a word of ours that the loader writes: by what the kernel told the program about
// itself, and by what the loader left there for debuggers.
const link_map* first_object() noexcept {
    ElfW(auxv_t) told[64];
    constexpr long kBytes = sizeof told;
    const long file = raw_call(SYS_openat, AT_FDCWD, raw_address("/proc/self/auxv"), O_RDONLY | O_CLOEXEC);
    const long got = file >= 0 ? raw_call(SYS_read, file, raw_address(told), kBytes) : 0;
    if (file >= 0) {
        raw_call(SYS_close, file);
    }
    const ElfW(Phdr)* headers = nullptr;
    std::size_t count = 0;
    for (long i = 0; i < got / static_cast<long>(sizeof told[0]); ++i) {
        if (told[i].a_type == AT_PHDR) {
            headers = reinterpret_cast<const ElfW(Phdr)*>(told[i].a_un.a_val);
        } else if (told[i].a_type == AT_PHNUM) {
            count = told[i].a_un.a_val;
        }
    }
    std::uintptr_t base = 0;
    const ElfW(Dyn)* entry = nullptr;
    for (std::size_t i = 0; headers != nullptr && i < count; ++i) {
        if (headers[i].p_type == PT_PHDR) {
            base = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
        } else if (headers[i].p_type == PT_DYNAMIC) {
            entry = reinterpret_cast<const ElfW(Dyn)*>(base + headers[i].p_vaddr);
        }
    }
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr != 0) {
            return reinterpret_cast<const r_debug*>(entry->d_un.d_ptr)->r_map;
        }
    }
    return nullptr;
}

}  // namespace

constinit void* g_functions[kLibcCount] = {};

const char* name_of(Libc function) noexcept {
    return kNames[static_cast<unsigned>(function)];
}

void* find_before_relocation(Libc function) noexcept {
    bool after_us = false;
    for (const link_map* map = first_object(); map != nullptr; map = map->l_next) {
        const ElfObject object = read_object(map->l_addr, map->l_name, map->l_ld);
        if (map->l_addr == reinterpret_cast<std::uintptr_t>(__ehdr_start)) {  // own_object() reads a relocated word
            after_us = true;
        } else if (void* const found = after_us ? object.find(name_of(function)) : nullptr) {
            return found;
        }
    }
    return reinterpret_cast<void*>(&fail_with_enosys);
}

void* libc_sigaction_address() noexcept {
    return g_libc_sigaction;
}

}  // namespace pincheck::trap

// An IFUNC of our own: the loader calls its resolver when it relocates us, because the anchor refers to it.
extern "C" {
using pincheck_trap_anchor = void (*)();
static void pincheck_trap_relocated_body() {}
__attribute__((used, visibility("hidden"))) pincheck_trap_anchor pincheck_trap_on_relocated() {
    pincheck::trap::on_relocated();
    return &pincheck_trap_relocated_body;
}
__attribute__((visibility("hidden"), ifunc("pincheck_trap_on_relocated"))) void pincheck_trap_relocated();
__attribute__((used, visibility("hidden"))) pincheck_trap_anchor pincheck_trap_relocation_anchor =
    &pincheck_trap_relocated;
}
