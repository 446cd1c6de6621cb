// The kernels of held_calls.cu, races_more.cu and races_times.cu for the simulated device.
#include <chrono>
#include <thread>

#include "simcuda_kernel.h"

namespace {

void hold(const SimKernelLaunch&, volatile int* open) {
    while (*open == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

void set_flag(const SimKernelLaunch&, volatile int* flag) {
    *flag = 1;
}

}  // namespace

SIMCUDA_KERNEL(_Z4holdPVi, hold)
SIMCUDA_KERNEL(_Z8set_flagPVi, set_flag)
