// Stacks, and the places of accesses that are no calls, in the report.
#pragma once

#include <cstdint>

#include "stack.h"
#include "state.h"

namespace pincheck {

// The id of a stack in the report, made if it is new; 0 when it was dropped. Called with sites_mutex held.
std::uint32_t stack_id(State& state, const Backtrace& trace) noexcept;

// The site, of kind host-access, of an instruction that reads or writes memory of a copy in flight, by its stack: what
// the C library does for one call of the program's (memcpy) is one place, whichever of its instructions it is. 0 when
// it was dropped. Any thread that does not hold sites_mutex; takes it, which whoever holds it never faults under.
std::uint32_t access_site(State& state, const Backtrace& trace) noexcept;

}  // namespace pincheck
