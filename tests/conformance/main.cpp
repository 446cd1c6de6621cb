#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "gate.h"
#include "host_memory.h"
#include "ipc_child.h"

int main(int argc, char** argv) {
    if (const auto status = conformance::play_role())
        return *status;
    testing::InitGoogleTest(&argc, argv);
    cudaDeviceProp device{};
    int driver = 0, runtime = 0;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
        std::fprintf(stderr, "no CUDA device: put the simulated one into LD_LIBRARY_PATH (build/simcuda)\n");
        return 1;
    }
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    std::printf("%s, driver API %d, runtime %d, copy engines %d\n", device.name, driver, runtime,
                device.asyncEngineCount);
    // Modules load lazily, and that may wait for the device: not inside a measurement.
    conformance::Gate gate;
    gate.close_in(nullptr);
    gate.open();
    conformance::launch_empty(nullptr);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    return RUN_ALL_TESTS();
}
