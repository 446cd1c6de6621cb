// The driver as the runtime sees it: a table of looked-up pointers and nothing else.
#pragma once

#include "../observer.h"
#include "cudart_symbols.h"

namespace simcudart {

struct Driver {
#define DRIVER_FUNCTION(symbol, name, version, flags) decltype(&::symbol) symbol = nullptr;
#include "driver_functions.def"
#undef DRIVER_FUNCTION
    decltype(&::cuGetProcAddress_v2) look_up = nullptr;
};

// Opens the driver and calls cuInit at the first use. `error` is what every runtime call must return when this failed.
struct DriverState {
    Driver functions;
    cudaError_t error = cudaSuccess;
    int devices = 0;
    const SimcudaRuntimeCalls* calls = nullptr;  // null over a driver that is not the stand-in
};
const DriverState& driver_state();

}  // namespace simcudart
