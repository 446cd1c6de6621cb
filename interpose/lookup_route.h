// The route that sees static runtimes, CuPy, Numba and JAX: what cuGetProcAddress and dlsym hand out.
#pragma once

#include <cstdint>

#include "api.h"
#include "stack.h"

namespace pincheck {

struct Lookup {
    Caller caller;
    const char* name;
    void** function;  // where the driver put its answer
    int version;
    std::uint64_t flags;
};

// Puts our wrapper in the place of a listed function. Returns `status`. errno is kept.
int replace_looked_up(int status, const Lookup& lookup) noexcept;

// libc's dlsym, for questions of the tool's own: no other library that defines one hears of them.
void* libc_dlsym(void* handle, const char* name) noexcept;

// The row for an address that the driver returned: by the address itself, among the exported functions; failing that,
// by name, version and per-thread flag for versions that the list knows. -1: none, pass through.
int row_for_address(const void* address) noexcept;
int row_for_name(const char* name, int version, bool per_thread) noexcept;

}  // namespace pincheck
