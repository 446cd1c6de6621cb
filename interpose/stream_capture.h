// Stream captures: while one is open, calls into the capturing streams become graph nodes and copy nothing.
#pragma once

#include <cstdint>

#include "state.h"

namespace pincheck {

void capture_began(State& state) noexcept;
void capture_ended(State& state) noexcept;

// True while work of that stream (see stream_identity()) goes into a graph; streams that joined a capture by waiting
// for its event included. Asks the driver: CUDA Driver API, cuStreamIsCapturing (never invalidates a capture). Call
// only while captures are open; false on the driver's own threads, where nothing may be asked.
bool is_capturing(const State& state, std::uintptr_t stream) noexcept;

}  // namespace pincheck
