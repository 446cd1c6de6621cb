// The thread that answers the faults of stores into protected pages (write_faults.h): finds out which thread stopped,
// where, and has it take its stack.
//
// It must never wait for a thread that may have stopped at such a store: it takes AccessTrap's lock, and the locks of
// the report's own tables for a name, which nobody holds while touching the program's memory.
#pragma once

#include <csignal>
#include <cstdint>

#include "access_trap.h"

namespace pincheck {

struct State;

// Starts it. Once; both arguments stay. False: no thread.
bool serve_faults(State& state, AccessTrap& trap) noexcept;

// In the handler of SIGSEGV: whether this signal asks the thread for its stack; and its answer, with the instruction at
// which the thread was.
bool is_stack_request(const siginfo_t& info) noexcept;
void answer_stack_request(std::uintptr_t instruction, const TrapAccess& who) noexcept;

}  // namespace pincheck
