#include "cupti_exports.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "cupti_abi.h"
#include "cupti_session.h"
#include "elf_objects.h"

namespace pincheck::cupti {
namespace {

enum Row : unsigned {
#define PINCHECK_CUPTI(symbol, parameters, arguments) row_##symbol,
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI
};

// Programs bring a libcupti of their own beside the one that the tool found. More than these at a time: passed on as
// they are.
constexpr unsigned kCopies = 4;
std::atomic<void*> g_real[kExportCount][kCopies];

bool is_loaded(const void* address) noexcept {
    bool loaded = false;
    for_each_object([&](const ElfObject& object) {
        loaded = object.contains(reinterpret_cast<std::uintptr_t>(address));
        return loaded;
    });
    return loaded;
}

// Calls between CUPTI's own objects are nobody's request.
bool is_from_cupti(std::uintptr_t caller) noexcept {
    bool inside = false;
    for_each_object([&](const ElfObject& object) {
        inside = object.contains(caller) && object.is_cupti();
        return object.contains(caller);
    });
    return inside;
}

template <class Function, class... Arguments>
int pass_on(unsigned row, void* real, std::uintptr_t caller, Arguments... arguments) {
    const bool requested = !is_from_cupti(caller);
    if (requested) {
        hand_over(kExports[row], caller);
    }
    const int result = reinterpret_cast<Function*>(real)(arguments...);
    if (requested) {
        handed_over(result == kSuccess);
    }
    return result;
}

// For the exported functions: only where they could not be made IFUNCs.
void* first_loaded(unsigned row) noexcept {
    void* real = nullptr;
    for_each_object([&](const ElfObject& object) {
        real = object.is_cupti() ? object.find(kExports[row]) : nullptr;
        return real != nullptr;
    });
    return real;
}

#define PINCHECK_EXPAND(...) __VA_ARGS__
#define PINCHECK_CUPTI(symbol, parameters, arguments)                                                            \
    template <unsigned Copy>                                                                                     \
    int take_##symbol parameters {                                                                               \
        return pass_on<int parameters>(row_##symbol, g_real[row_##symbol][Copy].load(std::memory_order_acquire), \
                                       reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),            \
                                       PINCHECK_EXPAND arguments);                                               \
    }
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI

void* const kTakers[kExportCount][kCopies] = {
#define PINCHECK_CUPTI(symbol, parameters, arguments)                                        \
    {reinterpret_cast<void*>(&take_##symbol<0>), reinterpret_cast<void*>(&take_##symbol<1>), \
     reinterpret_cast<void*>(&take_##symbol<2>), reinterpret_cast<void*>(&take_##symbol<3>)},
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI
};

}  // namespace
}  // namespace pincheck::cupti

extern "C" {
#define PINCHECK_CUPTI(symbol, parameters, arguments)                                                       \
    __attribute__((visibility("default"))) int symbol parameters {                                          \
        using namespace pincheck::cupti;                                                                    \
        void* real = first_loaded(row_##symbol);                                                            \
        return real == nullptr                                                                              \
                   ? kNotInitialized                                                                        \
                   : pass_on<int parameters>(row_##symbol, real,                                            \
                                             reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), \
                                             PINCHECK_EXPAND arguments);                                    \
    }
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI
}

namespace pincheck::cupti {

namespace {
void* const kPlain[kExportCount] = {
#define PINCHECK_CUPTI(symbol, parameters, arguments) reinterpret_cast<void*>(&::symbol),
#include "report/cupti_api.def"
#undef PINCHECK_CUPTI
};
}  // namespace

int find_export(const char* name) noexcept {
    if (!starts_with(name, "cupti")) {
        return -1;
    }
    for (std::size_t i = 0; i < kExportCount; ++i) {
        if (same_text(kExports[i], name)) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

void* wrapper_of(int row, void* real) noexcept {
    for (unsigned copy = 0; copy < kCopies; ++copy) {
        void* known = nullptr;
        if (g_real[row][copy].compare_exchange_strong(known, real) || known == real) {
            return kTakers[row][copy];
        }
    }
    // The place of a copy that was unloaded: nobody may call its functions any more. While the process starts nothing
    // is known of where objects lie.
    for (unsigned copy = 0; copy < kCopies && is_loaded(real); ++copy) {
        void* known = g_real[row][copy].load();
        if (!is_loaded(known) && g_real[row][copy].compare_exchange_strong(known, real)) {
            return kTakers[row][copy];
        }
    }
    return real;
}

void* plain_export(int row) noexcept {
    return kPlain[row];
}

bool is_wrapper(const void* address) noexcept {
    for (std::size_t row = 0; row < kExportCount; ++row) {
        if (kPlain[row] == address) {
            return true;
        }
        for (void* taker : kTakers[row]) {
            if (taker == address) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace pincheck::cupti
