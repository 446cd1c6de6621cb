// Private entry points of the stand-in libcuda.so.1, for tests: what the device saw. Found by dlsym, never by
// cuGetProcAddress.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct SimcudaCounters {
    // Copies executed, captured or added to a graph, by direction, whichever entry point they came through.
    std::uint64_t h2d;
    std::uint64_t d2h;
    std::uint64_t d2d;
    std::uint64_t h2h;
    std::uint64_t bytes_h2d;
    std::uint64_t bytes_d2h;
    std::uint64_t kernels;
    std::uint64_t staged;  // pageable host-to-device copies that returned before they were executed
};

// Totals since the process started. Any thread, any time.
void simcuda_counters(SimcudaCounters* out);

// Calls that reached the exported entry point `symbol` ("cuMemcpyHtoDAsync_v2"), 0 for an unknown name.
std::uint64_t simcuda_calls(const char* symbol);
}
