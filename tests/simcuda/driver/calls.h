// Counts of what reached the driver, and the failures that SIMCUDA_FAIL orders.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../simcuda.h"
#include "cuda_symbols.h"

namespace simcuda {

enum class Api : unsigned {
#define SIM_API(name, symbol, since, variant) symbol,
#include "driver_api.def"
#undef SIM_API
    count,
};

// As exported.
const char* symbol_of(Api api);

enum class Direction { h2d, d2h, d2d, h2h };

// Adds one to the entry point's count; the failure that SIMCUDA_FAIL orders for this call, or CUDA_SUCCESS.
CUresult count_call(Api api);
void count_copy(Direction direction, std::size_t bytes);
void count_kernel();
void count_staged();

// Writes SIMCUDA_COUNTS_FILE.
void write_counts();

}  // namespace simcuda
