// The stand-in runtime itself: last error, and its way to the driver.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "simcuda.h"

namespace {

TEST(LastError, IsTakenOnceAndBelongsToTheThread) {
    EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 16, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
    std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidMemcpyDirection) << "a success does not clear it";
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// The driver function that the kind of a copy stands for.
TEST(RuntimeToDriver, TheKindChoosesTheFunction) {
    constexpr std::size_t size = 64;
    std::vector<char> host(size);
    void* device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, size), cudaSuccess);
    const struct {
        cudaMemcpyKind kind;
        void* to;
        void* from;
        const char* asynchronous;
        const char* synchronous;
    } rows[] = {
        {cudaMemcpyHostToDevice, device, host.data(), "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoD_v2"},
        {cudaMemcpyDeviceToHost, host.data(), device, "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoH_v2"},
        {cudaMemcpyDefault, device, host.data(), "cuMemcpyAsync", "cuMemcpy"},
    };
    for (const auto& row : rows) {
        const auto asynchronous = simcuda_calls(row.asynchronous);
        const auto synchronous = simcuda_calls(row.synchronous);
        EXPECT_EQ(cudaMemcpyAsync(row.to, row.from, size, row.kind, nullptr), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(row.to, row.from, size, row.kind), cudaSuccess);
        EXPECT_EQ(simcuda_calls(row.asynchronous) - asynchronous, 1u) << row.asynchronous;
        EXPECT_EQ(simcuda_calls(row.synchronous) - synchronous, 1u) << row.synchronous;
    }
    EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(RuntimeToDriver, PinnedMemoryComesFromCuMemHostAlloc) {
    const auto before = simcuda_calls("cuMemHostAlloc");
    const auto freed = simcuda_calls("cuMemFreeHost");
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, 64), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
    EXPECT_EQ(simcuda_calls("cuMemHostAlloc") - before, 1u);
    EXPECT_EQ(simcuda_calls("cuMemFreeHost") - freed, 1u);
}

TEST(RuntimeToDriver, TheReplayedLookUpsWereMade) {
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_GE(simcuda_calls("cuGetProcAddress_v2"), 430u);
}

}  // namespace
