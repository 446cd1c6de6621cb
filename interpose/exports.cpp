#include "exports.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "cupti_exports.h"
#include "elf_objects.h"
#include "imports.h"
#include "lifecycle.h"
#include "options.h"
#include "real.h"
#include "shapes.h"

// The wrappers themselves (runtime_hooks.cpp, driver_hooks.cpp).
extern "C" {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) \
    __attribute__((visibility("hidden"))) int pincheck_hook_##symbol PINCHECK_PARAMS_##shape;
#include "report/cuda_api.def"
#undef PINCHECK_API
}

namespace pincheck {

int find_export(const char* name) noexcept {
    if (name[0] != 'c' || name[1] != 'u') {
        return -1;
    }
    for (std::size_t i = 0; i < kApiCount; ++i) {
        if (same_text(kApis[i].symbol, name)) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

namespace {

constexpr std::uintptr_t kPage = 4096;

void* const kWrappers[] = {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) reinterpret_cast<void*>(&pincheck_hook_##symbol),
#include "report/cuda_api.def"
#undef PINCHECK_API
};

// An object that was opened after another was closed may lie where that one lay: what is known of its return addresses
// is of the other's, and leads to a runtime that may be gone (measured: a plugin closed and opened with its runtime
// crashed within the 250 ms after which the tool thread would have noticed). Its references come by here before its
// first call.
void forget_callers_after_a_close() noexcept {
    static std::atomic<std::uint64_t> seen{0};
    if (has_process_started()) {
        const std::uint64_t unmapped = objects_unmapped();
        if (seen.load(std::memory_order_relaxed) != unmapped) {
            seen.store(unmapped, std::memory_order_relaxed);
            forget_callers();
        }
    }
}

// What the loader calls for an export once it is an IFUNC. Must work in any thread, with the loader's locks held.
template <Api A>
void* resolver() {
    forget_callers_after_a_close();
    return resolve_export(A);
}

using Resolver = void* (*)();
constexpr Resolver kResolvers[] = {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) &resolver<Api::symbol>,
#include "report/cuda_api.def"
#undef PINCHECK_API
};

template <int Row>
void* cupti_resolver() {
    return resolve_cupti_export(Row);
}

constexpr Resolver kCuptiResolvers[] = {&cupti_resolver<0>, &cupti_resolver<1>, &cupti_resolver<2>};
static_assert(sizeof(kCuptiResolvers) / sizeof(kCuptiResolvers[0]) == cupti::kExportCount);

// What the loader is to call for an export of that name; null: none of ours.
Resolver resolver_of(const char* symbol) noexcept {
    if (const int api = find_export(symbol); api >= 0) {
        return kResolvers[api];
    }
    const int row = cupti::find_export(symbol);
    return row >= 0 ? kCuptiResolvers[row] : nullptr;
}

// The plain function that an object relocated before us was given for an export of that name.
void* plain_export_of(const char* symbol) noexcept {
    if (const int api = find_export(symbol); api >= 0) {
        return kWrappers[api];
    }
    return cupti::plain_export(cupti::find_export(symbol));
}

const char* g_foreign_provider = nullptr;

// System calls without libc: this runs inside the loader, and must leave errno alone.
long raw_mprotect(std::uintptr_t address, std::size_t size, long protection) noexcept {
    long result = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(static_cast<long>(SYS_mprotect)), "D"(address), "S"(size), "d"(protection)
                     : "rcx", "r11", "memory");
    return result;
}

// Number of entries in the dynamic symbol table, which no tag states: the hash tables imply it.
std::uint32_t symbol_count(const ElfObject& object) noexcept {
    if (object.sysv_hash != nullptr) {
        return object.sysv_hash[1];
    }
    if (object.gnu_hash == nullptr) {
        return 0;
    }
    const std::uint32_t buckets = object.gnu_hash[0];
    const std::uint32_t first = object.gnu_hash[1];
    const auto* bucket = reinterpret_cast<const std::uint32_t*>(
        reinterpret_cast<const std::uint64_t*>(object.gnu_hash + 4) + object.gnu_hash[2]);
    const std::uint32_t* chain = bucket + buckets;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < buckets; ++i) {
        last = bucket[i] > last ? bucket[i] : last;
    }
    if (last < first) {
        return first;
    }
    while ((chain[last - first] & 1) == 0) {
        ++last;
    }
    return last + 1;
}

// Turns our own exports into IFUNCs, in the symbol table that the loader reads.
void make_exports_ifuncs(const ElfObject& self) noexcept {
    const std::uint32_t count = symbol_count(self);
    const auto table = reinterpret_cast<std::uintptr_t>(self.symbols);
    const std::uintptr_t begin = table & ~(kPage - 1);
    const std::uintptr_t end = (table + count * sizeof(ElfW(Sym)) + kPage - 1) & ~(kPage - 1);
    if (count == 0 || raw_mprotect(begin, end - begin, PROT_READ | PROT_WRITE) != 0) {
        return;  // the exports stay plain functions: everything works but probing for CUDA
    }
    auto* symbols = const_cast<ElfW(Sym)*>(self.symbols);
    for (std::uint32_t i = 0; i < count; ++i) {
        ElfW(Sym)& symbol = symbols[i];
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) {
            continue;
        }
        if (const Resolver resolver = resolver_of(self.strings + symbol.st_name)) {
            symbol.st_value = reinterpret_cast<std::uintptr_t>(resolver) - self.base;
            symbol.st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_GNU_IFUNC);
        }
    }
    raw_mprotect(begin, end - begin, PROT_READ);
}

// Objects relocated before us hold the plain wrapper's address. Where the true answer is another one (no CUDA, or a
// library of the user's own), put it there.
void correct_early_bindings(const ElfObject& object) noexcept {
    const auto listed = [](const char* symbol) { return resolver_of(symbol) != nullptr; };
    for_each_import(object, listed, [](const char* symbol, std::uintptr_t* slot) {
        const auto wrapper = reinterpret_cast<std::uintptr_t>(plain_export_of(symbol));
        if (*slot != wrapper) {
            return;  // lazily bound, or bound to something else
        }
        const auto right = reinterpret_cast<std::uintptr_t>(resolver_of(symbol)());
        if (right == wrapper) {
            return;
        }
        // The slot may lie in a page that the loader has made read-only (RELRO); it stays writable then, which is how a
        // lazily bound library would have it.
        const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) & ~(kPage - 1);
        if (raw_mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0) {
            *slot = right;
        }
    });
}

bool is_self(const ElfObject& object) noexcept {
    return object.dynamic == own_object().dynamic;
}

// Runs while the loader relocates this library, before any object after us in that order (the program itself is last)
// is relocated, and before any constructor.
void on_relocated() {
    make_exports_ifuncs(own_object());
    for_each_object([](const ElfObject& object) {
        if (!is_self(object) && object.path[0] != '\0') {
            correct_early_bindings(object);
        }
        return false;
    });
}

}  // namespace

void* wrapper_of(Api api) noexcept {
    return kWrappers[index_of(api)];
}

bool is_wrapper(const void* address) noexcept {
    for (void* wrapper : kWrappers) {
        if (wrapper == address) {
            return true;
        }
    }
    return false;
}

namespace {

// The loader comes to us after the objects before us in its list: either they do not define the symbol, or somebody
// asked for the next definition. So only those after us count: calls `found(object, function)` for the first that
// defines it.
template <class F>
void find_after_us(const char* symbol, F&& found) noexcept {
    bool after_us = false;
    for_each_object([&](const ElfObject& object) {
        if (is_self(object)) {
            after_us = true;
            return false;
        }
        void* real = after_us ? object.find(symbol) : nullptr;
        if (real != nullptr) {
            found(object, real);
        }
        return real != nullptr;
    });
}

}  // namespace

void* resolve_export(Api api) noexcept {
    void* answer = nullptr;
    find_after_us(info(api).symbol, [&](const ElfObject& object, void* real) {
        const bool cuda = info(api).side == Side::runtime ? object.is_runtime() : object.is_driver();
        if (!cuda) {
            g_foreign_provider = info(api).symbol;
        }
        const bool take = cuda && exports_wanted();
        if (take) {
            note_route(info(api).side == Side::runtime ? Route::exported_runtime : Route::exported_driver);
        }
        answer = take ? wrapper_of(api) : real;
    });
    return answer;
}

void* resolve_cupti_export(int row) noexcept {
    void* answer = nullptr;
    find_after_us(cupti::kExports[row], [&](const ElfObject& object, void* real) {
        answer = object.is_cupti() ? cupti::wrapper_of(row, real) : real;
    });
    return answer;
}

bool defined_before_us(const char* symbol) noexcept {
    bool found = false;
    for_each_object([&](const ElfObject& object) {
        found = !is_self(object) && object.find(symbol) != nullptr;
        return found || is_self(object);
    });
    return found;
}

const char* foreign_provider_seen() noexcept {
    return g_foreign_provider;
}

}  // namespace pincheck

// An IFUNC of our own: the loader calls its resolver when it relocates us, because the anchor refers to it.
extern "C" {
using pincheck_anchor = void (*)();
static void pincheck_relocated_body() {}
__attribute__((used, visibility("hidden"))) pincheck_anchor pincheck_on_relocated() {
    pincheck::on_relocated();
    return &pincheck_relocated_body;
}
__attribute__((visibility("hidden"), ifunc("pincheck_on_relocated"))) void pincheck_relocated();
__attribute__((used, visibility("hidden"))) pincheck_anchor pincheck_relocation_anchor = &pincheck_relocated;
}
