// How much stack the calling thread has left, for what must not run on a small one.
#pragma once

#include <cstddef>

namespace pincheck {

// False also where that cannot be told: on a coroutine's stack, say, or a signal handler's. Not for a hooked call's own
// path: it takes system calls and may allocate.
bool has_stack_room(std::size_t bytes) noexcept;

}  // namespace pincheck
