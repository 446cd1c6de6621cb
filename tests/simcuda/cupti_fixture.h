// Memory and a stream for the tests of the stand-in libcupti.so.N.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "../conformance/profiler.h"
#include "driver/cuda_symbols.h"

class Cupti : public testing::Test {
  protected:
    static constexpr std::size_t kSize = 4096;

    static void SetUpTestSuite() {
        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
        std::string why;
        ASSERT_NE(conformance::cupti(&why), nullptr) << why;
    }
    void SetUp() override {
        ASSERT_EQ(cuMemAlloc_v2(&device_, kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuMemAlloc_v2(&other_, kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuMemHostAlloc(&pinned_, kSize, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    }
    void TearDown() override {
        EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFreeHost(pinned_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(other_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(device_), CUDA_SUCCESS);
    }
    void upload(std::size_t size = kSize) {
        ASSERT_EQ(cuMemcpyHtoDAsync_v2(device_, pinned_, size, stream_), CUDA_SUCCESS);
    }
    void synchronise() { ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS); }
    static std::uint64_t timestamp() {
        std::uint64_t time = 0;
        EXPECT_EQ(conformance::cupti()->cuptiGetTimestamp(&time), CUPTI_SUCCESS);
        return time;
    }

    static inline CUcontext context_ = nullptr;
    CUdeviceptr device_ = 0, other_ = 0;
    void* pinned_ = nullptr;
    CUstream stream_ = nullptr;
};
