// The kernels of the samples for the simulated device, where a kernel is a host function.
#include <chrono>
#include <cstddef>
#include <thread>

#include "simcuda_kernel.h"

namespace {

void twice(const SimKernelLaunch&, float* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        data[i] *= 2;
    }
}

// Milliseconds on a device; here as long as the sample needs to show what it shows.
void work_for(std::chrono::microseconds time) {
    std::this_thread::sleep_for(time);
}

void slow_increment(const SimKernelLaunch&, int* counter) {
    work_for(std::chrono::microseconds(100));
    ++*counter;
}

void slow_add(const SimKernelLaunch&, int* total, int value) {
    work_for(std::chrono::milliseconds(3));
    *total += value;
}

void long_kernel(const SimKernelLaunch&, int* data) {
    work_for(std::chrono::milliseconds(30));
    *data = 1;
}

void fill(const SimKernelLaunch&, int* data, std::size_t count, int value) {
    for (std::size_t i = 0; i < count; ++i) {
        data[i] = value;
    }
}

void sum_up(const SimKernelLaunch&, const int* data, std::size_t count, unsigned long long* sum) {
    for (std::size_t i = 0; i < count; ++i) {
        *sum += static_cast<unsigned long long>(data[i]);
    }
}

}  // namespace

SIMCUDA_KERNEL(_Z5twicePfm, twice)
SIMCUDA_KERNEL(_Z14slow_incrementPi, slow_increment)
SIMCUDA_KERNEL(_Z8slow_addPii, slow_add)
SIMCUDA_KERNEL(_Z11long_kernelPi, long_kernel)
SIMCUDA_KERNEL(_Z4fillPimi, fill)
SIMCUDA_KERNEL(_Z6sum_upPKimPy, sum_up)
