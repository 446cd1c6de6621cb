// The calling thread's return addresses by rules that are looked up once for each of them (x86-64): what a call at a
// known site can afford. Gives what libunwind gives, or nothing: a stack with a frame that needs more than a rule
// (a signal's, code without unwind tables) is libunwind's as a whole, so that one call path has one key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack.h"

namespace pincheck {

// The part of a thread's stack that was found to be mapped: [low, high). A thread's own stack stays mapped while it
// runs, so no address in it needs a look before it is read, whatever a wrong table or a rule of a library that is gone
// says. Other stacks (coroutines, alternate signal stacks) have no such bounds and are not walked.
struct StackBounds {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
};

// Frames from `caller` outwards, at most `depth` (at least 1). False: not possible; `count` addresses are right all the
// same. `bounds` are the calling thread's and kept between its calls. No lock, no system call for a known path; errno
// is kept.
bool walk_stack(const Caller& caller, std::size_t depth, StackBounds& bounds, std::uintptr_t* addresses,
                std::size_t& count) noexcept;

// Objects were unmapped: their addresses may mean other code.
void forget_frames() noexcept;

}  // namespace pincheck
