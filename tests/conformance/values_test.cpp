// Streams that wait for a value in page-locked memory, or write one.
#include <cstring>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

class ValuesInMemory : public testing::Test {
  protected:
    void SetUp() override {
        CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&word_), 64, cudaHostAllocMapped));
        std::memset(word_, 0, 64);
        CUDA_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&on_device_), word_, 0));
        if (DRIVER(cuStreamWriteValue32_v2)(stream_, on_device_, 0, 0) == CUDA_ERROR_NOT_SUPPORTED)
            GTEST_SKIP() << "no memory operations in streams";
        CUDA_OK(cudaStreamSynchronize(stream_));
    }
    void TearDown() override { CUDA_OK(cudaFreeHost(word_)); }

    unsigned read() const { return *const_cast<volatile unsigned*>(word_); }
    void write(unsigned value) { *const_cast<volatile unsigned*>(word_) = value; }

    Stream stream_;
    unsigned* word_ = nullptr;
    CUdeviceptr on_device_ = 0;
};

TEST_F(ValuesInMemory, AStreamWaitsForTheHostsValue) {
    HostMemory host(Kind::pinned, 64);
    DeviceMemory device(64);
    std::memset(host.data(), 1, 64);
    ASSERT_EQ(DRIVER(cuStreamWaitValue32_v2)(stream_, on_device_, 3, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
    CUDA_OK(cudaMemcpyAsync(device, host.data(), 64, cudaMemcpyHostToDevice, stream_));
    EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
    std::memset(host.data(), 2, 64);  // legal: the copy comes after the value
    write(4);
    CUDA_OK(cudaStreamSynchronize(stream_));
    char byte = 0;
    CUDA_OK(cudaMemcpy(&byte, device, 1, cudaMemcpyDeviceToHost));
    EXPECT_EQ(byte, 2);
}

TEST_F(ValuesInMemory, AStreamWritesAValueAfterWhatCameBefore) {
    HostMemory host(Kind::pinned, 64);
    DeviceMemory device(64);
    CUDA_OK(cudaMemset(device, 5, 64));
    CUDA_OK(cudaDeviceSynchronize());
    Gate gate;
    gate.close_in(stream_);
    CUDA_OK(cudaMemcpyAsync(host.data(), device, 64, cudaMemcpyDeviceToHost, stream_));
    ASSERT_EQ(DRIVER(cuStreamWriteValue32_v2)(stream_, on_device_, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(read(), 0u);
    gate.open();
    while (read() == 0) {
    }
    EXPECT_EQ(host[63], 5) << "the copy came before the value";
}

TEST_F(ValuesInMemory, ABatchRunsInItsOrder) {
    CUstreamBatchMemOpParams operations[2] = {};
    operations[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[0].waitValue.address = on_device_;
    operations[0].waitValue.value = 1;
    operations[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    operations[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[1].writeValue.address = on_device_ + 4;
    operations[1].writeValue.value = 9;
    ASSERT_EQ(DRIVER(cuStreamBatchMemOp_v2)(stream_, 2, operations, 0), CUDA_SUCCESS);
    EXPECT_EQ(const_cast<volatile unsigned*>(word_)[1], 0u);
    write(1);
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(word_[1], 9u);
}

}  // namespace
