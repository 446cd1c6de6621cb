// Half-open ranges of addresses.
#pragma once

#include <cstdint>

namespace pincheck {

constexpr std::uintptr_t lesser(std::uintptr_t a, std::uintptr_t b) noexcept {
    return a < b ? a : b;
}
constexpr std::uintptr_t greater(std::uintptr_t a, std::uintptr_t b) noexcept {
    return a > b ? a : b;
}

constexpr bool overlap(std::uintptr_t begin, std::uintptr_t end, std::uintptr_t other,
                       std::uintptr_t other_end) noexcept {
    return begin < other_end && other < end;
}

}  // namespace pincheck
