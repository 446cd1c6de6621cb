// The driver's staging memory: how many pageable host-to-device copies of which size may be on their way at once.
#pragma once

#include <cstddef>

namespace simcuda {

// The largest copy that goes through the ring; larger ones have slots (measured: H200, driver 580.159.04).
constexpr std::size_t kSmallStaged = 64 << 10;

// Waits for room. False when copies of this size are never staged.
bool acquire_staging(std::size_t bytes);
void release_staging(std::size_t bytes);

}  // namespace simcuda
