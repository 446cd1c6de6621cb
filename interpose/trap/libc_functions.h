// The C library's own functions behind the wrappers: the next definition after this library's, so that another
// preloaded library, or a sanitizer's interceptor, is called as it would be without us.
//
// All of them are found while the loader relocates this library, when everything behind it in the loader's list is
// relocated. What calls a wrapper before that, the resolver of a library behind us, has its function looked up then.
// dlsym is of no use: libpincheck.so and sanitizers have one of their own.
#pragma once

#include <cstddef>

namespace pincheck::trap {

enum class Libc : unsigned {
#define PINCHECK_LIBC(symbol, shape) symbol,
#define PINCHECK_LIBC_SIGNAL(symbol) symbol,
#include "libc_api.def"
    count
};

inline constexpr std::size_t kLibcCount = static_cast<std::size_t>(Libc::count);

const char* name_of(Libc function) noexcept;

// Written once, in the only thread or under the loader's lock.
extern void* g_functions[kLibcCount];

// Works while nothing of this library is relocated yet.
void* find_before_relocation(Libc function) noexcept;

// Where no object defines it: one that fails with ENOSYS.
inline void* address_of(Libc function) noexcept {
    void* const found = g_functions[static_cast<unsigned>(function)];
    return found != nullptr ? found : find_before_relocation(function);
}

// sigaction of libc itself, whoever else stands in front of it; null when it was not found.
void* libc_sigaction_address() noexcept;

// What a variadic function is called as: the caller says in %al how many vector registers hold arguments.
template <class Function>
struct Callee {
    using Type = Function;
};
template <>
struct Callee<int(int, unsigned long, void*)> {
    using Type = int(int, unsigned long, ...);
};
template <>
struct Callee<long(long, long, long, long, long, long, long)> {
    using Type = long(long, ...);
};
template <>
struct Callee<void*(void*, std::size_t, std::size_t, int, void*)> {
    using Type = void*(void*, std::size_t, std::size_t, int, ...);
};

// Calls it. Neither this nor its callers are noexcept: a cancelled thread unwinds through them.
template <class Function, class... Arguments>
inline auto call(Libc function, Arguments... arguments) {
    using Type = typename Callee<Function>::Type;
    return reinterpret_cast<Type*>(address_of(function))(arguments...);
}

}  // namespace pincheck::trap
