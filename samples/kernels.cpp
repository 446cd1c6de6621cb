// The kernels of the samples for the simulated device, where a kernel is a host function.
#include <cstddef>

#include "simcuda_kernel.h"

namespace {

void twice(const SimKernelLaunch&, float* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        data[i] *= 2;
    }
}

}  // namespace

SIMCUDA_KERNEL(_Z5twicePfm, twice)
