// What an engine does with a copy once it gets to it, and what the calling thread does with its own pageable memory.
#pragma once

#include <vector>

#include "calls.h"
#include "region.h"
#include "stream.h"

namespace simcuda {

Engine engine_of(Direction direction);

// Copies `size` bytes, spread over their simulated duration, so that a host that writes too early meets a copy that is
// half done. On an engine's thread; never faults on host memory.
void transfer(const Region& to, std::size_t to_position, const Region& from, std::size_t from_position,
              std::size_t size, Direction direction);

// The calling thread's own accesses: a bad pointer faults here, as in the real driver.
void gather(char* buffer, const Region& from, std::size_t position, std::size_t size);
void scatter(const Region& to, std::size_t position, const char* buffer, std::size_t size);

// A private buffer that the engines treat as memory of their own.
Region own(const std::vector<char>& buffer);

}  // namespace simcuda
