// Return addresses of the calling thread: by rules of the tool's own where these suffice (stack_walk.h), else by
// libunwind. That is opened privately (RTLD_LOCAL: its library exports _Unwind_* symbols that must not enter the
// program's scope), first beside this library, then on the loader's path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck {

// Where an intercepted function was called from.
struct Caller {
    std::uintptr_t return_address = 0;
    std::uintptr_t frame = 0;  // address on the stack of the hook's own frame
};

inline constexpr std::size_t kMaxDepth = 64;

enum class Unwinder { not_opened, opening, ready, missing };

// Opens libunwind; signals are masked meanwhile. Once a process; call outside of any lock.
void open_unwinder() noexcept;
Unwinder unwinder() noexcept;
// Why it is missing; "" otherwise.
const char* unwinder_problem() noexcept;

struct Backtrace {
    std::uintptr_t addresses[kMaxDepth];
    std::size_t count = 0;
    bool unwound = false;  // false: only the return address is known
    bool cut = false;      // deeper than the limit, or than can be seen without libunwind
};

struct StackWords;

// Frames from `caller` outwards, at most `depth`. The first is always caller.return_address.
void unwind(const Caller& caller, std::size_t depth, Backtrace& trace) noexcept;
// The same; `words` are what it went by (stack_walk.h).
void unwind(const Caller& caller, std::size_t depth, Backtrace& trace, StackWords& words) noexcept;

}  // namespace pincheck
