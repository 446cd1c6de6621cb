// The driver's staging memory: how many pageable host-to-device copies of which size may be on their way at once.
#pragma once

#include <cstddef>

namespace simcuda {

// Waits for room. False when copies of this size are never staged.
bool acquire_staging(std::size_t bytes);
void release_staging(std::size_t bytes);

}  // namespace simcuda
