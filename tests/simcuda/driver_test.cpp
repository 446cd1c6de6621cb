// The stand-in driver itself: counters, ordered failures, 32-bit entry points, DMA that page protection does not stop.
// What real devices do is checked by tests/conformance.
#include "simcuda.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "driver/cuda_symbols.h"
#include "stream_gate.h"

namespace {

constexpr std::size_t kSize = 64 << 10;

// Linked to the stand-in, unlike everything else that uses it.
class Driver : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
        CUcontext context = nullptr;
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    }
    void SetUp() override {
        ASSERT_EQ(cuMemAlloc_v2(&device_, kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    }
    void TearDown() override {
        EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(device_), CUDA_SUCCESS);
    }

    void hold() { ASSERT_EQ(gate_.close(stream_), CUDA_SUCCESS); }

    CUdeviceptr device_ = 0;
    CUstream stream_ = nullptr;
    StreamGate gate_;
};

TEST_F(Driver, CountsCallsByEntryPointAndCopiesByDirection) {
    std::vector<char> host(256);
    SimcudaCounters before{}, after{};
    simcuda_counters(&before);
    const auto calls = simcuda_calls("cuMemcpyHtoDAsync_v2");
    const auto twins = simcuda_calls("cuMemcpyHtoDAsync_v2_ptsz");
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(device_, host.data(), 256, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2_ptsz(device_, host.data(), 256, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpy(reinterpret_cast<CUdeviceptr>(host.data()), device_, 100), CUDA_SUCCESS);
    simcuda_counters(&after);
    EXPECT_EQ(simcuda_calls("cuMemcpyHtoDAsync_v2") - calls, 1u);
    EXPECT_EQ(simcuda_calls("cuMemcpyHtoDAsync_v2_ptsz") - twins, 1u);
    EXPECT_EQ(after.h2d - before.h2d, 2u);
    EXPECT_EQ(after.bytes_h2d - before.bytes_h2d, 512u);
    EXPECT_EQ(after.d2h - before.d2h, 1u);
    EXPECT_EQ(after.bytes_d2h - before.bytes_d2h, 100u);
    EXPECT_EQ(after.staged - before.staged, 2u);
}

TEST_F(Driver, StreamsExecuteInOrder) {
    static std::vector<int> order;
    order.clear();
    hold();
    static int numbers[100];
    for (int i = 0; i < 100; ++i) {
        numbers[i] = i;
        ASSERT_EQ(cuLaunchHostFunc(
                      stream_, [](void* n) { order.push_back(*static_cast<int*>(n)); }, &numbers[i]),
                  CUDA_SUCCESS);
    }
    gate_.open();
    ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    ASSERT_EQ(order.size(), 100u);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// The tool protects pages while a copy is on its way; a device does not notice.
TEST_F(Driver, PageProtectionDoesNotStopTheDevice) {
    void* pinned = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&pinned, 4 << 20, 0), CUDA_SUCCESS);
    void* registered = std::aligned_alloc(4096, kSize);
    ASSERT_EQ(cuMemHostRegister_v2(registered, kSize, 0), CUDA_SUCCESS);
    for (void* memory : {pinned, registered}) {
        std::memset(memory, 5, kSize);
        hold();
        ASSERT_EQ(cuMemcpyHtoDAsync_v2(device_, memory, kSize, stream_), CUDA_SUCCESS);
        ASSERT_EQ(mprotect(memory, kSize, PROT_NONE), 0);
        gate_.open();
        ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
        ASSERT_EQ(cuMemsetD8_v2(device_ + 10, 6, 1), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        ASSERT_EQ(cuMemcpyDtoHAsync_v2(memory, device_, kSize, stream_), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
        ASSERT_EQ(mprotect(memory, kSize, PROT_READ | PROT_WRITE), 0);
        EXPECT_EQ(static_cast<char*>(memory)[9], 5);
        EXPECT_EQ(static_cast<char*>(memory)[10], 6);
        EXPECT_EQ(static_cast<char*>(memory)[kSize - 1], 5);
    }
    EXPECT_EQ(cuMemHostUnregister(registered), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
    std::free(registered);
}

TEST_F(Driver, UnmappingARegisteredSourceInFlightIsSurvived) {
    void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(cuMemHostRegister_v2(memory, kSize, 0), CUDA_SUCCESS);
    hold();
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(device_, memory, kSize, stream_), CUDA_SUCCESS);
    munmap(memory, kSize);
    gate_.open();
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemHostUnregister(memory), CUDA_SUCCESS);
}

TEST_F(Driver, OldEntryPointsRefuseAddressesTheyCannotHold) {
    std::vector<char> host(16);
    const auto cut = static_cast<CUdeviceptr_v1>(device_);
    EXPECT_EQ(cuMemcpyHtoD(cut, host.data(), 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, KernelsWithoutAHostFunctionDoNothing) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "no_such_kernel"), CUDA_SUCCESS);
    void* no_arguments[] = {nullptr};
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, no_arguments, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, stream_, no_arguments, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

TEST_F(Driver, AForkedChildHasNoCuda) {
    const pid_t child = fork();
    if (child == 0) {
        CUdeviceptr memory = 0;
        const bool refused =
            cuMemAlloc_v2(&memory, 16) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << "the parent goes on";
}

TEST_F(Driver, EverySymbolOfTheListIsExportedOnce) {
    const char* const symbols[] = {
#define SIM_API(name, symbol, since, variant) #symbol,
#include "driver/driver_api.def"
#undef SIM_API
    };
    for (const char* symbol : symbols)
        EXPECT_NE(dlsym(RTLD_DEFAULT, symbol), nullptr) << symbol;
}

// The row's own version and default stream give the row's function.
TEST_F(Driver, EverySymbolOfTheListIsFoundAtItsVersion) {
    constexpr cuuint64_t none = CU_GET_PROC_ADDRESS_DEFAULT, legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                         per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct {
        const char* name;
        const char* symbol;
        int since;
        cuuint64_t flags;
    } rows[] = {
#define SIM_API(name, symbol, since, variant) {#name, #symbol, since, variant},
#include "driver/driver_api.def"
#undef SIM_API
    };
    for (const auto& row : rows) {
        void* found = nullptr;
        EXPECT_EQ(cuGetProcAddress_v2(row.name, &found, row.since, row.flags, nullptr), CUDA_SUCCESS) << row.symbol;
        EXPECT_EQ(found, dlsym(RTLD_DEFAULT, row.symbol)) << row.symbol;
    }
}

}  // namespace
