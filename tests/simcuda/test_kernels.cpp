// Kernels of the stand-ins' own tests.
#include "simcuda_kernel.h"

namespace {

void sum(const SimKernelLaunch&, const unsigned char* from, int count, long* out) {
    *out = 0;
    for (int i = 0; i < count; ++i)
        *out += from[i];
}

}  // namespace

SIMCUDA_KERNEL(simcuda_test_sum, sum)
