#include "bypass.h"

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "api.h"
#include "elf_objects.h"
#include "exports.h"
#include "imports.h"
#include "lifecycle.h"
#include "options.h"

namespace pincheck {
namespace {

constexpr unsigned kMaxAskers = 64;
constexpr unsigned kMaxUnlisted = 128;
constexpr unsigned kMaxBypassed = 16;

std::atomic<std::uintptr_t> g_askers[kMaxAskers];
std::atomic<bool> g_askers_full{false};

// Written once: 0 free, 1 being written, 2 there.
struct Name {
    std::atomic<unsigned> state;
    char text[60];
};
Name g_unlisted[kMaxUnlisted];

char g_bypassed[kMaxBypassed][PATH_MAX + 64];
unsigned g_bypassed_count = 0;

bool has_asked(const ElfObject& object) noexcept {
    for (const auto& entry : g_askers) {
        const std::uintptr_t address = entry.load(std::memory_order_relaxed);
        if (address == 0) {
            return false;
        }
        if (object.contains(address)) {
            return true;
        }
    }
    return g_askers_full.load(std::memory_order_relaxed);  // assume it
}

bool object_at_has_asked(std::uintptr_t address) noexcept {
    bool asked = false;
    for_each_object([&](const ElfObject& object) {
        asked = object.contains(address) && has_asked(object);
        return object.contains(address);
    });
    return asked;
}

// Does the object hold code that looks for the driver's functions by name?
bool names_driver_functions(const ElfObject& object) noexcept {
    for (std::size_t i = 0; i < object.header_count; ++i) {
        const ElfW(Phdr)& header = object.headers[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || (header.p_flags & PF_W) != 0) {
            continue;
        }
        const auto* begin = reinterpret_cast<const char*>(object.base + header.p_vaddr);
        for (const char* name : {"cuGetProcAddress", "cuMemcpyHtoD"}) {
            if (memmem(begin, header.p_filesz, name, std::strlen(name)) != nullptr) {
                return true;
            }
        }
    }
    return false;
}

void add_bypassed(const ElfObject& object, const char* what) noexcept {
    if (g_bypassed_count == kMaxBypassed) {
        return;
    }
    char(&text)[sizeof(g_bypassed[0])] = g_bypassed[g_bypassed_count];
    std::snprintf(text, sizeof(text), "%s (%s)", object.path[0] != '\0' ? object.path : "the program", what);
    for (unsigned i = 0; i < g_bypassed_count; ++i) {
        if (same_text(g_bypassed[i], text)) {
            return;
        }
    }
    ++g_bypassed_count;
}

struct Cuda {
    static constexpr unsigned kMax = 16;
    struct Range {
        std::uintptr_t begin;
        std::uintptr_t end;
        bool driver;
        bool asks_past_us;  // a runtime whose dlsym is not ours
    };
    Range ranges[kMax];
    unsigned count = 0;
    bool has_driver = false;
    bool runtime_called_directly = false;  // some object's calls of a runtime do not come to our exports

    Range* holding(std::uintptr_t address) noexcept {
        for (unsigned i = 0; i < count; ++i) {
            if (address >= ranges[i].begin && address < ranges[i].end) {
                return &ranges[i];
            }
        }
        return nullptr;
    }
};

bool is_wanted(const char* symbol) noexcept {
    return (symbol[0] == 'c' && symbol[1] == 'u') || same_text(symbol, "dlsym");
}

void look_at(const ElfObject& object, Cuda& cuda) noexcept {
    const char* direct = nullptr;
    std::uintptr_t other_dlsym = 0;
    for_each_import(object, is_wanted, [&](const char* symbol, const std::uintptr_t* slot) {
        const std::uintptr_t value = __atomic_load_n(slot, __ATOMIC_RELAXED);
        if (object.contains(value)) {
            return;  // not called yet
        }
        if (symbol[0] == 'd') {
            if (value != reinterpret_cast<std::uintptr_t>(&dlsym)) {
                other_dlsym = value;
            }
            return;
        }
        const Cuda::Range* const target = cuda.holding(value);
        if (target == nullptr) {
            return;
        }
        const bool listed = find_export(symbol) >= 0;
        if (listed && target->driver && options().exports) {
            direct = symbol;
        } else if (listed && !object.is_runtime()) {
            cuda.runtime_called_directly = true;
        } else if (!listed && moves_memory(symbol)) {
            note_unlisted(symbol);
        }
    });
    if (direct != nullptr) {
        add_bypassed(object, direct);
    }
    if (other_dlsym == 0 || !options().dlsym || has_asked(object) || object_at_has_asked(other_dlsym)) {
        return;
    }
    if (object.is_runtime()) {
        if (Cuda::Range* own = cuda.holding(object.begin)) {
            own->asks_past_us = true;
        }
    } else if (names_driver_functions(object)) {
        add_bypassed(object, "dlsym");
    }
}

}  // namespace

void note_asker(std::uintptr_t return_address) noexcept {
    for (auto& entry : g_askers) {
        std::uintptr_t seen = entry.load(std::memory_order_relaxed);
        if (seen == return_address || (seen == 0 && entry.compare_exchange_strong(seen, return_address)) ||
            seen == return_address) {
            return;
        }
    }
    g_askers_full.store(true, std::memory_order_relaxed);
}

bool moves_memory(const char* name) noexcept {
    if (name[0] != 'c' || name[1] != 'u') {
        return false;
    }
    const char* rest = name + 2;
    if (rest[0] == 'd' && rest[1] == 'a') {
        rest += 2;
    }
    return starts_with(rest, "Memcpy") || starts_with(rest, "Memset") || starts_with(rest, "MemPrefetch");
}

void note_unlisted(const char* name) noexcept {
    for (Name& entry : g_unlisted) {
        unsigned state = entry.state.load(std::memory_order_acquire);
        if (state == 2 && same_text(entry.text, name)) {
            return;
        }
        if (state != 0 || !entry.state.compare_exchange_strong(state, 1)) {
            continue;  // the same name may come to be there twice
        }
        std::size_t i = 0;
        for (; i + 1 < sizeof(entry.text) && name[i] != '\0'; ++i) {
            entry.text[i] = name[i];
        }
        entry.text[i] = '\0';
        entry.state.store(2, std::memory_order_release);
        return;
    }
}

void find_bypasses() noexcept {
    Cuda cuda;
    for_each_object([&](const ElfObject& object) {
        const bool driver = object.is_driver();
        if ((driver || object.is_runtime()) && cuda.count < Cuda::kMax) {
            cuda.ranges[cuda.count++] = {object.begin, object.end, driver, false};
            cuda.has_driver = cuda.has_driver || driver;
        }
        return false;
    });
    if (!cuda.has_driver) {
        return;  // nobody makes CUDA calls
    }
    for_each_object([&](const ElfObject& object) {
        // What CUPTI calls is not the program's.
        if (!object.is_driver() && !object.is_cupti() && object.dynamic != own_object().dynamic) {
            look_at(object, cuda);
        }
        return false;
    });
    // What goes into a runtime by our exports is seen there.
    if (!cuda.runtime_called_directly && route_seen(Route::exported_runtime)) {
        return;
    }
    for_each_object([&](const ElfObject& object) {
        const Cuda::Range* range = object.is_runtime() ? cuda.holding(object.begin) : nullptr;
        if (range != nullptr && range->asks_past_us) {
            add_bypassed(object, "dlsym");
        }
        return false;
    });
}

const char* bypassed(unsigned index) noexcept {
    return index < g_bypassed_count ? g_bypassed[index] : nullptr;
}

const char* unlisted(unsigned index) noexcept {
    return index < kMaxUnlisted && g_unlisted[index].state.load(std::memory_order_acquire) == 2 ? g_unlisted[index].text
                                                                                                : nullptr;
}

}  // namespace pincheck
