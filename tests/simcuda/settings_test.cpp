// What the SIMCUDA_* variables do. They are read once a process, so every test is a process of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "driver/cuda_symbols.h"
#include "simcuda.h"

namespace {

// The test program itself makes no CUDA call: its children then are processes in which CUDA was never initialised.
class Settings : public testing::Test {
  protected:
    static int exit_code(int (*body)(), std::vector<std::pair<const char*, const char*>> settings) {
        const pid_t child = fork();
        if (child == 0) {
            for (const auto& [name, value] : settings)
                setenv(name, value, 1);
            std::exit(body());
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    static bool begin() {
        CUcontext context = nullptr;
        return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
               cuCtxSetCurrent(context) == CUDA_SUCCESS;
    }
};

TEST_F(Settings, NoDeviceIsAnError) {
    EXPECT_EQ(exit_code([] { return static_cast<int>(cuInit(0)); }, {{"SIMCUDA_DEVICES", "0"}}), CUDA_ERROR_NO_DEVICE);
}

TEST_F(Settings, LowAddressesServeTheOldEntryPoints) {
    const auto body = [] {
        CUdeviceptr device = 0;
        char up[16] = "simulated", down[16] = "";
        if (!begin() || cuMemAlloc_v2(&device, 4096) != CUDA_SUCCESS || device >> 32)
            return 1;
        const auto low = static_cast<CUdeviceptr_v1>(device);
        return cuMemcpyHtoD(low, up, 16) || cuMemcpyDtoH(down, low, 16) || std::strcmp(up, down) ? 2 : 0;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_LOW_ADDRESSES", "1"}}), 0);
}

TEST_F(Settings, OrderedFailuresBeginAtTheirCall) {
    const auto body = [] {
        void* memory[3];
        if (!begin())
            return 1;
        for (int i = 0; i < 2; ++i)
            if (cuMemHostAlloc(&memory[i], 64, 0) != CUDA_SUCCESS)
                return 2;
        return cuMemHostAlloc(&memory[2], 64, 0) == CUDA_ERROR_OUT_OF_MEMORY ? 0 : 3;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_FAIL", "cuMemHostAlloc:2:3"}}), 0);
}

TEST_F(Settings, CountsAreWrittenAtExit) {
    char path[] = "/tmp/simcuda-counts-XXXXXX";
    close(mkstemp(path));
    const auto body = [] {
        CUdeviceptr device = 0;
        char host[16] = "";
        return begin() && !cuMemAlloc_v2(&device, 16) && !cuMemcpyHtoD_v2(device, host, 16) ? 0 : 1;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_COUNTS_FILE", path}}), 0);
    std::ifstream file(path);
    std::string line;
    EXPECT_TRUE(std::getline(file, line));
    EXPECT_NE(line.find("\"h2d\":1"), std::string::npos) << line;
    EXPECT_NE(line.find("\"bytes_h2d\":16"), std::string::npos) << line;
    EXPECT_NE(line.find("\"cuMemcpyHtoD_v2\":1"), std::string::npos) << line;
    unlink(path);
}

TEST_F(Settings, StagingCanBeSwitchedOff) {
    const auto body = [] {
        CUdeviceptr device = 0;
        char host[16] = "";
        CUstream stream = nullptr;
        if (!begin() || cuMemAlloc_v2(&device, 16) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
            return 1;
        SimcudaCounters counters{};
        if (cuMemcpyHtoDAsync_v2(device, host, 16, stream))
            return 2;
        simcuda_counters(&counters);
        return counters.staged == 0 && cuStreamQuery(stream) == CUDA_SUCCESS ? 0 : 3;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_STAGING_LIMIT", "0"}}), 0);
}

}  // namespace
