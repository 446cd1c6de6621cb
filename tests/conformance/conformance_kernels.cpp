// The kernels of gate.cu for the simulated device.
#include <chrono>
#include <thread>

#include "simcuda_kernel.h"

namespace {

void gate(const SimKernelLaunch&, volatile int* flag) {
    while (*flag == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
}

void empty(const SimKernelLaunch&) {}

}  // namespace

SIMCUDA_KERNEL(conformance_gate, gate)
SIMCUDA_KERNEL(conformance_empty, empty)
