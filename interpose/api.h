// The intercepted functions as enumerators and constant tables, made from report/cuda_api.def.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck {

enum class Api : std::uint16_t {
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) symbol,
#include "report/cuda_api.def"
#undef PINCHECK_API
};

enum class Side : std::uint8_t { runtime, driver };
enum class Variant : std::uint8_t { none, legacy, per_thread };
// Which side of the copy is a device symbol.
enum class SymbolSide : std::uint8_t { none, destination, source };

constexpr bool contains_text(const char* text, const char* part) noexcept {
    for (; *text != 0; ++text) {
        const char* a = text;
        const char* b = part;
        while (*b != 0 && *a == *b) {
            ++a;
            ++b;
        }
        if (*b == 0) {
            return true;
        }
    }
    return false;
}

struct ApiInfo {
    const char* symbol;
    const char* lookup;  // name that cuGetProcAddress knows
    int since;           // smallest cudaVersion it answers to
    Side side;
    Variant variant;
    bool async;  // named as asynchronous
    SymbolSide symbol_side;
};

inline constexpr ApiInfo kApis[] = {
// clang-format off
#define PINCHECK_API(symbol, side, shape, lookup, since, variant)                             \
    {#symbol, #lookup, since, Side::side, Variant::variant, contains_text(#symbol, "Async"),  \
     contains_text(#symbol, "cudaMemcpyToSymbol")     ? SymbolSide::destination               \
     : contains_text(#symbol, "cudaMemcpyFromSymbol") ? SymbolSide::source                    \
                                                      : SymbolSide::none},
// clang-format on
#include "report/cuda_api.def"
#undef PINCHECK_API
};

inline constexpr std::size_t kApiCount = sizeof(kApis) / sizeof(kApis[0]);
// The newest cudaVersion whose functions the list describes; a look-up for a newer one may return another ABI.
inline constexpr int kNewestVersion = 13000;

// The driver row that cuGetProcAddress(name, version, flags) stands for, where the address alone does not tell; -1:
// none, or a version that the list does not know. Pure.
int row_for_name(const char* name, int version, bool per_thread) noexcept;

constexpr std::size_t index_of(Api api) noexcept {
    return static_cast<std::size_t>(api);
}
constexpr const ApiInfo& info(Api api) noexcept {
    return kApis[index_of(api)];
}

}  // namespace pincheck
