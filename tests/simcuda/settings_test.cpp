// What the SIMCUDA_* variables do. They are read once a process, so every test is a process of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/cuda_symbols.h"
#include "simcuda.h"
#include "stream_gate.h"

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

TEST_F(Settings, LowAddressesServeTheFirstVersionsOfAllMemoryFunctions) {
    const auto body = [] {
        CUdeviceptr_v1 rows = 0, other = 0, base = 0;
        unsigned pitch = 0, size = 0, free_bytes = 0, total = 0;
        unsigned char down[3][4] = {};
        if (!begin() || cuMemAllocPitch(&rows, &pitch, 4, 3, 4) || cuMemAlloc(&other, 3 * pitch) ||
            cuMemGetInfo(&free_bytes, &total) || cuMemGetAddressRange(&base, &size, rows + 5))
            return 1;
        if (base != rows || size != 3 * pitch || free_bytes == 0 || total < free_bytes)
            return 2;
        if (cuMemsetD8(rows, 1, size) || cuMemsetD16(rows, 0x0202, 1) || cuMemsetD32(rows + pitch, 0x03030303, 1) ||
            cuMemsetD2D8(rows + 1, pitch, 4, 1, 3) || cuMemcpyDtoD(other, rows, size))
            return 3;
        CUDA_MEMCPY2D_v1 c{};
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        c.srcDevice = other;
        c.srcPitch = pitch;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = down;
        c.WidthInBytes = 4;
        c.Height = 3;
        const unsigned char expected[3][4] = {{2, 4, 1, 1}, {3, 4, 3, 3}, {1, 4, 1, 1}};
        if (cuMemcpy2D(&c) || std::memcmp(down, expected, sizeof down) != 0)
            return 4;
        return cuMemFree(rows) || cuMemFree(other) ? 5 : 0;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_LOW_ADDRESSES", "1"}}), 0);
    const auto too_high = [] {
        CUdeviceptr_v1 memory = 0;
        return begin() ? static_cast<int>(cuMemAlloc(&memory, 4096)) : 1;
    };
    EXPECT_EQ(exit_code(too_high, {}), CUDA_ERROR_OUT_OF_MEMORY);
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

// A stream that a host function holds until its gate is opened, and device memory. A call that waits when it should not
// never returns: the alarm then ends the child.
struct HeldStream {
    static constexpr std::size_t size = 4 << 20;  // too large to be staged

    bool begin() {
        alarm(20);
        return Begin() && !cuMemAlloc_v2(&device, size) && !cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) &&
               !gate.close(stream);
    }
    static bool Begin() {
        CUcontext context = nullptr;
        return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
               cuCtxSetCurrent(context) == CUDA_SUCCESS;
    }
    char first_byte() const {
        char byte = 0;
        return cuMemcpyDtoH_v2(&byte, device, 1) ? -1 : byte;
    }
    static int attribute(CUdevice_attribute which) {
        int value = -1;
        cuDeviceGetAttribute(&value, which, 0);
        return value;
    }

    CUdeviceptr device = 0;
    CUstream stream = nullptr;
    StreamGate gate;
};

// HMM: the device may read pageable memory, and that is all.
TEST_F(Settings, PageableAccessLeavesPageableCopiesAsTheyAre) {
    const auto body = [] {
        static HeldStream held;
        if (!held.begin() || HeldStream::attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 1 ||
            HeldStream::attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 0)
            return 1;
        // A small upload is staged: what is written afterwards does not count.
        std::vector<char> host(4096, 1);
        SimcudaCounters counters{};
        if (cuMemcpyHtoDAsync_v2(held.device, host.data(), host.size(), held.stream))
            return 2;
        std::memset(host.data(), 2, host.size());
        simcuda_counters(&counters);
        if (counters.staged != 1 || cuStreamQuery(held.stream) != CUDA_ERROR_NOT_READY)
            return 3;
        // A download waits: when it returns, the bytes are there.
        std::thread opener([] { held.gate.open(); });
        std::vector<char> back(HeldStream::size, 9);
        const CUresult result = cuMemcpyDtoHAsync_v2(back.data(), held.device, HeldStream::size, held.stream);
        const bool there = back[0] == 1 && back[HeldStream::size - 1] == 0;
        opener.join();
        return result || !there ? 4 : 0;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_PAGEABLE_ACCESS", "1"}}), 0);
}

TEST_F(Settings, PageableAccessLetsKernelsReadPageableMemory) {
    const auto body = [] {
        CUmodule module = nullptr;
        CUfunction sum = nullptr;
        std::vector<unsigned char> numbers(1000, 3);
        const unsigned char* from = numbers.data();
        int count = 1000;
        CUdeviceptr result = 0;
        void* arguments[] = {&from, &count, &result};
        long total = 0;
        if (!begin() || cuMemAlloc_v2(&result, sizeof total) || cuModuleLoadData(&module, "image") ||
            cuModuleGetFunction(&sum, module, "simcuda_test_sum"))
            return 1;
        if (cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr))
            return 2;
        return cuMemcpyDtoH_v2(&total, result, sizeof total) || total != 3000 ? 3 : 0;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_PAGEABLE_ACCESS", "1"}, {"SIMCUDA_KERNELS", SIMCUDA_TEST_KERNELS}}), 0);
}

// Grace: the device reaches the host's pages by itself, so copies of pageable memory behave as those of page-locked.
TEST_F(Settings, HostPageTablesMakePageableCopiesAsynchronous) {
    const auto body = [] {
        static HeldStream held;
        if (!held.begin() || HeldStream::attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 1 ||
            HeldStream::attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 1)
            return 1;
        std::vector<char> host(HeldStream::size, 1), back(HeldStream::size, 9);
        if (cuMemcpyHtoDAsync_v2(held.device, host.data(), host.size(), held.stream) ||
            cuMemcpyDtoHAsync_v2(back.data(), held.device, back.size(), held.stream))
            return 2;
        // Both calls returned behind a held stream, and the upload has not read its source yet.
        if (cuStreamQuery(held.stream) != CUDA_ERROR_NOT_READY || back[0] != 9)
            return 3;
        std::memset(host.data(), 2, host.size());
        held.gate.open();
        if (cuStreamSynchronize(held.stream) || back[0] != 2 || back[HeldStream::size - 1] != 2)
            return 4;
        SimcudaCounters counters{};
        simcuda_counters(&counters);
        return counters.staged == 0 ? 0 : 5;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_HOST_PAGE_TABLES", "1"}}), 0);
}

TEST_F(Settings, HostPageTablesMakePageableMemoryAddressable) {
    const auto body = [] {
        std::vector<char> host(4096, 1), other(4096, 2);
        const auto address = reinterpret_cast<CUdeviceptr>(host.data());
        if (!begin() || cuMemsetD8_v2(address, 7, host.size()) || cuCtxSynchronize() || host[4095] != 7)
            return 1;
        // As the device side of a copy too.
        if (cuMemcpyHtoD_v2(address, other.data(), other.size()) || host[0] != 2)
            return 2;
        return 0;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_HOST_PAGE_TABLES", "1"}}), 0);
    EXPECT_EQ(exit_code(body, {}), 1) << "not addressable otherwise";
}

}  // namespace
