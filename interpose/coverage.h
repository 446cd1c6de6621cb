// What the tool could see and what not, told in the report.
#pragma once

#include "lifecycle.h"
#include "state.h"

namespace pincheck {

// At the start: options that narrow the view, a missing unwinder.
void note_start(State& state) noexcept;

// How buffers in flight are followed, once that is known; and at the end how many were watched.
void note_races(State& state) noexcept;
void note_watched(State& state) noexcept;

// CUDA libraries, routes and other things seen since the last call. Called by the tool thread, at the end too.
void note_libraries(State& state, bool at_end) noexcept;

// A listed function came back from a look-up at an address that is none of the driver's exports. Any thread; no State
// needed (look-ups precede the first call).
void note_unknown_address(const char* name) noexcept;

}  // namespace pincheck
