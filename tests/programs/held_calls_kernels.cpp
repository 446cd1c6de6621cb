// The kernels of held_calls.cu for the simulated device.
#include <chrono>
#include <thread>

#include "simcuda_kernel.h"

namespace {

void hold(const SimKernelLaunch&, volatile int* open) {
    while (*open == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

}  // namespace

SIMCUDA_KERNEL(_Z4holdPVi, hold)
