// Device memory that another process opens (CUDA Programming Guide, "Interprocess Communication"): both processes copy
// it, and their copies are those of device memory. Lines marked "for information" assert nothing.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"
#include "ipc_child.h"

using namespace conformance;

namespace {

int legacy_ipc_capable(const void* pointer) {
    unsigned char capable = 0;
    int answer = 0;
    void* where = &answer;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
    EXPECT_EQ(DRIVER(cuPointerGetAttributes)(1, &which, &where, reinterpret_cast<CUdeviceptr>(pointer)), CUDA_SUCCESS);
    std::memcpy(&capable, &answer, 1);  // of a boolean the driver may write the first byte only
    return capable;
}

class Ipc : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
        DeviceMemory probe(4096);
        cudaIpcMemHandle_t handle{};
        const cudaError_t error = cudaIpcGetMemHandle(&handle, probe);
        if (error == cudaErrorNotSupported) {
            cudaGetLastError();
            GTEST_SKIP() << "no IPC memory";
        }
        ASSERT_EQ(error, cudaSuccess);
    }
    static cudaIpcMemHandle_t fill_and_share(char* memory, std::size_t size) {
        std::vector<char> bytes(size);
        for (std::size_t i = 0; i < size; ++i)
            bytes[i] = before_child(i);
        EXPECT_EQ(cudaMemcpy(memory, bytes.data(), size, cudaMemcpyHostToDevice), cudaSuccess);
        cudaIpcMemHandle_t handle{};
        EXPECT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
        return handle;
    }
    static std::size_t first_other(const char* memory, std::size_t size, char (*byte)(std::size_t)) {
        std::vector<char> bytes(size);
        EXPECT_EQ(cudaMemcpy(bytes.data(), memory, size, cudaMemcpyDeviceToHost), cudaSuccess);
        for (std::size_t i = 0; i < size; ++i)
            if (bytes[i] != byte(i))
                return i;
        return size;
    }
};

TEST_F(Ipc, EachProcessSeesTheOthersBytes) {
    for (const std::size_t size : {std::size_t{1000}, std::size_t{64} << 10, (std::size_t{8} << 20) + 12}) {
        DeviceMemory neighbour(size), memory(size);  // small ones share pages on a device
        ASSERT_EQ(cudaMemset(neighbour, 5, size), cudaSuccess);
        const cudaIpcMemHandle_t handle = fill_and_share(memory, size);
        ASSERT_EQ(run_child(Role::exchange, handle, size), 0) << size;
        EXPECT_EQ(first_other(memory, size, after_child), size);
        EXPECT_EQ(first_other(neighbour, size, [](std::size_t) { return char{5}; }), size);
        // The same handle again: a process may come and go.
        fill_and_share(memory, size);
        EXPECT_EQ(run_child(Role::exchange, handle, size), 0) << size;
        EXPECT_EQ(first_other(memory, size, after_child), size);
    }
}

TEST_F(Ipc, ASecondOpenCountsAndGivesTheSamePointer) {
    constexpr std::size_t size = 4096;
    DeviceMemory memory(size);
    EXPECT_EQ(run_child(Role::open_twice, fill_and_share(memory, size), size), 0);
}

TEST_F(Ipc, CopiesOfOpenedMemoryWaitAsThoseOfDeviceMemoryDo) {
    constexpr std::size_t size = 64 << 10;
    DeviceMemory memory(size);
    EXPECT_EQ(run_child(Role::wait, fill_and_share(memory, size), size), 0);
}

TEST_F(Ipc, SharedMemoryIsStillTheProcesssOwn) {
    constexpr std::size_t size = 1 << 20;
    DeviceMemory memory(size);
    EXPECT_EQ(legacy_ipc_capable(memory), 1);
    fill_and_share(memory, size);
    EXPECT_EQ(first_other(memory, size, before_child), size);
    cudaPointerAttributes attributes{};
    CUDA_OK(cudaPointerGetAttributes(&attributes, memory));
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(cudaIpcCloseMemHandle(memory) == cudaSuccess, false) << "was not opened";
    cudaGetLastError();
    EXPECT_EQ(first_other(memory, size, before_child), size);
}

TEST_F(Ipc, OnlyDeviceMemoryHasAHandle) {
    cudaIpcMemHandle_t handle{};
    for (const Kind kind : {Kind::pageable, Kind::pinned, Kind::registered}) {
        HostMemory host(kind, 4096);
        EXPECT_NE(cudaIpcGetMemHandle(&handle, host.data()), cudaSuccess) << kind;
        EXPECT_NE(cudaGetLastError(), cudaSuccess);
        EXPECT_EQ(legacy_ipc_capable(host.data()), 0) << kind;
    }
}

TEST_F(Ipc, WhatIsNotAsserted) {
    constexpr std::size_t size = 4096;
    DeviceMemory memory(size);
    const cudaIpcMemHandle_t handle = fill_and_share(memory, size);
    void* opened = nullptr;
    cudaError_t error = cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess);
    std::printf("for information: opened by the process that shares it: error %d\n", static_cast<int>(error));
    if (error == cudaSuccess)
        cudaIpcCloseMemHandle(opened);
    cudaIpcMemHandle_t inside{};
    error = cudaIpcGetMemHandle(&inside, memory + 256);
    std::printf("for information: handle of a pointer into the memory: error %d, %s\n", static_cast<int>(error),
                std::memcmp(&inside, &handle, sizeof handle) == 0 ? "the same" : "another one");
    error = cudaIpcOpenMemHandle(&opened, cudaIpcMemHandle_t{}, cudaIpcMemLazyEnablePeerAccess);
    std::printf("for information: opening a handle of zeros: error %d\n", static_cast<int>(error));
    error = cudaIpcOpenMemHandle(&opened, handle, 0);
    std::printf("for information: opening without flags: error %d\n", static_cast<int>(error));
    Stream stream;
    void* pooled = nullptr;
    CUDA_OK(cudaMallocAsync(&pooled, size, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    error = cudaIpcGetMemHandle(&inside, pooled);
    std::printf("for information: handle of a pool's memory: error %d, said to be capable %d\n",
                static_cast<int>(error), legacy_ipc_capable(pooled));
    CUDA_OK(cudaFreeAsync(pooled, stream));
    HostMemory managed(Kind::managed, size);
    error = cudaIpcGetMemHandle(&inside, managed.data());
    std::printf("for information: handle of managed memory: error %d, said to be capable %d\n", static_cast<int>(error),
                legacy_ipc_capable(managed.data()));
    cudaGetLastError();
    DeviceMemory fresh(size);
    Gate gate;
    gate.close_in(stream);
    const bool waited = waits(
        gate, [&] { error = cudaIpcGetMemHandle(&inside, fresh); }, kSoon);
    std::printf("for information: the first handle behind a kernel: error %d, %s\n", static_cast<int>(error),
                waited ? "waits" : "does not wait");
    cudaGetLastError();
}

}  // namespace
