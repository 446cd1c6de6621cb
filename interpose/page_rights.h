// The rights of this process's own pages. No heap; errno may change.
#pragma once

#include <cstdint>

namespace pincheck {

// All of [begin, end) is mapped, readable and writable, and not executable, by /proc/self/maps.
bool is_plain_data(std::uintptr_t begin, std::uintptr_t end) noexcept;

// mprotect, past whoever stands in front of the C library's. False: not changed, or not all of it.
bool take_rights(std::uintptr_t begin, std::uintptr_t end) noexcept;
bool give_rights(std::uintptr_t begin, std::uintptr_t end) noexcept;  // read and write

}  // namespace pincheck
