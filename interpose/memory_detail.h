// What a user wants to know about pageable and badly registered memory beyond its class: a mapped file, the stack,
// where a registration ends. Asked once a site, for its first call.
#pragma once

#include <cstdint>

#include "report/records.h"
#include "state.h"

namespace pincheck {

// Adds memory records to `site`, for host memory that is pageable or partly registered; nothing for other classes, and
// nothing where it cannot be found out. Keeps errno. Reads /proc/self/maps, unless a seccomp filter is in force.
void describe_memory(State& state, std::uint32_t site, report::MemoryClass kind, std::uintptr_t address,
                     std::uint64_t bytes) noexcept;

// One mapping of /proc/<pid>/maps.
struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char path[512] = "";  // cut where longer; "" for anonymous memory
};
// Parses one line without its line feed. False when it is not one. Pure.
bool parse_mapping(const char* line, std::uint64_t length, Mapping& mapping) noexcept;

}  // namespace pincheck
