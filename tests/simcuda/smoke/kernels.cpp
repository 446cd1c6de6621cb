// The smoke program's kernels as host functions.
#include "../simcuda_kernel.h"

namespace {

struct Pair {
    int first;
    double second;
};

void scale(const SimKernelLaunch&, int* data, int count, int factor) {
    for (int i = 0; i < count; ++i)
        data[i] *= factor;
}

void add_pair(const SimKernelLaunch&, int* data, Pair pair) {
    data[0] += pair.first + static_cast<int>(pair.second);
}

}  // namespace

SIMCUDA_KERNEL(_Z5scaleIiEvPT_iS0_, scale)
SIMCUDA_KERNEL(_Z8add_pairPi4Pair, add_pair)
