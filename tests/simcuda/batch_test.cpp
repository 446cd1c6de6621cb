// The stand-in driver's batches: which arguments are refused, and when a copy's source is read.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "driver/cuda_symbols.h"
#include "stream_gate.h"

#if CUDA_VERSION >= 13000

namespace {

constexpr std::size_t kSize = 4096;

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

class Batch : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
        CUcontext context = nullptr;
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    }
    void SetUp() override {
        ASSERT_EQ(cuMemAlloc_v2(&device_, 2 * kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuMemsetD8_v2(device_, 0, 2 * kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&pinned_), kSize, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        std::memset(pinned_, 1, kSize);
        pageable_.assign(kSize, 1);
    }
    void TearDown() override {
        EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFreeHost(pinned_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(device_), CUDA_SUCCESS);
    }
    void hold() { ASSERT_EQ(gate_.close(stream_), CUDA_SUCCESS); }
    void release() {
        gate_.open();
        ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    }
    char arrived(std::size_t offset = 0) const {
        char byte = 0;
        EXPECT_EQ(cuMemcpyDtoH_v2(&byte, device_ + offset, 1), CUDA_SUCCESS);
        return byte;
    }
    // One copy to the device behind a held stream, whose source is overwritten after the call.
    char arrived_from(char* source, CUmemcpySrcAccessOrder order) {
        CUdeviceptr to[] = {device_}, from[] = {address(source)};
        std::size_t sizes[] = {kSize}, firsts[] = {0};
        CUmemcpyAttributes attributes{};
        attributes.srcAccessOrder = order;
        hold();
        EXPECT_EQ(cuMemcpyBatchAsync_v2(to, from, sizes, 1, &attributes, firsts, 1, stream_), CUDA_SUCCESS);
        std::memset(source, 2, kSize);
        release();
        return arrived();
    }

    CUdeviceptr device_ = 0;
    char* pinned_ = nullptr;
    std::vector<char> pageable_;
    CUstream stream_ = nullptr;
    StreamGate gate_;
};

TEST_F(Batch, InStreamOrderTheSourceIsReadWhenTheCopyRuns) {
    EXPECT_EQ(arrived_from(pinned_, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), 2);
}

TEST_F(Batch, OtherwiseSmallPageableSourcesAreReadBeforeTheCallReturns) {
    EXPECT_EQ(arrived_from(pageable_.data(), CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL), 1);
    pageable_.assign(kSize, 1);
    EXPECT_EQ(arrived_from(pageable_.data(), CU_MEMCPY_SRC_ACCESS_ORDER_ANY), 1);
}

TEST_F(Batch, EveryCopyHasTheAttributesOfItsGroup) {
    CUdeviceptr to[] = {device_, device_ + 1, device_ + kSize},
                from[] = {address(pinned_), address(pinned_ + 1), address(pageable_.data())};
    std::size_t sizes[] = {1, 1, 1}, firsts[] = {0, 2};
    CUmemcpyAttributes attributes[2]{};
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    hold();
    ASSERT_EQ(cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, firsts, 2, stream_), CUDA_SUCCESS);
    pinned_[0] = pinned_[1] = pageable_[0] = 2;
    release();
    EXPECT_EQ(arrived(0), 2);
    EXPECT_EQ(arrived(1), 2);
    EXPECT_EQ(arrived(kSize), 1);
}

TEST_F(Batch, OneWrongCopyStopsAllOfThemAndIsNamed) {
    CUdeviceptr to[] = {device_, device_ + 1}, from[] = {address(pinned_), address(pinned_ + kSize - 1)};
    std::size_t sizes[] = {1, 2}, firsts[] = {0}, failed = 77;
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    EXPECT_EQ(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, firsts, 1, &failed, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, 1u);
    EXPECT_EQ(cuMemcpyBatchAsync(to, from, sizes, 2, nullptr, firsts, 1, &failed, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, SIZE_MAX) << "an error of the call";
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(arrived(), 0);
}

TEST_F(Batch, WrongGroupsAndStreamsAreRefused) {
    CUdeviceptr to[] = {device_, device_ + 1}, from[] = {address(pinned_), address(pinned_)};
    std::size_t sizes[] = {1, 1}, firsts[] = {0, 1};
    CUmemcpyAttributes attributes[2]{};
    attributes[0].srcAccessOrder = attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    const auto call = [&](std::size_t groups, CUstream stream) {
        return cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, firsts, groups, stream);
    };
    EXPECT_EQ(call(2, stream_), CUDA_SUCCESS);
    EXPECT_EQ(call(0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(call(3, stream_), CUDA_ERROR_INVALID_VALUE) << "more groups than copies";
    EXPECT_EQ(call(2, nullptr), CUDA_ERROR_INVALID_VALUE) << "the legacy default stream";
    EXPECT_EQ(cuMemcpyBatchAsync_v2_ptsz(to, from, sizes, 2, attributes, firsts, 2, nullptr), CUDA_SUCCESS);
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    EXPECT_EQ(call(2, stream_), CUDA_ERROR_INVALID_VALUE);
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    firsts[1] = 2;
    EXPECT_EQ(call(2, stream_), CUDA_ERROR_INVALID_VALUE) << "a group without a copy";
    firsts[0] = 1;
    EXPECT_EQ(call(1, stream_), CUDA_ERROR_INVALID_VALUE) << "a copy without a group";
}

TEST_F(Batch, IsRefusedByACaptureThatGoesOn) {
    CUdeviceptr to[] = {device_}, from[] = {address(pinned_)};
    std::size_t sizes[] = {1}, firsts[] = {0};
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyBatchAsync_v2(to, from, sizes, 1, &attributes, firsts, 1, stream_),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

// A 4 x 3 x 2 box of floats from linear memory with long rows into an array, and back without gaps.
TEST_F(Batch, BoxesAreCountedInElements) {
    const CUDA_ARRAY3D_DESCRIPTOR wanted{8, 5, 3, CU_AD_FORMAT_FLOAT, 1, 0};
    CUarray array = nullptr;
    ASSERT_EQ(cuArray3DCreate_v2(&array, &wanted), CUDA_SUCCESS);
    std::vector<float> source(10 * 4 * 2), back(4 * 3 * 2);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<float>(i);
    CUDA_MEMCPY3D_BATCH_OP operations[2]{};
    CUDA_MEMCPY3D_BATCH_OP& up = operations[0];
    up.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    up.src.op.ptr.ptr = address(source.data());
    up.src.op.ptr.rowLength = 10;
    up.src.op.ptr.layerHeight = 4;
    up.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    up.dst.op.array.array = array;
    up.dst.op.array.offset = {2, 1, 1};
    up.extent = {4, 3, 2};
    up.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CUDA_MEMCPY3D_BATCH_OP& down = operations[1];
    down = up;
    down.src = up.dst;
    down.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    down.dst.op.ptr = {};
    down.dst.op.ptr.ptr = address(back.data());
    ASSERT_EQ(cuMemcpy3DBatchAsync_v2(1, operations, 0, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpy3DBatchAsync_v2(1, operations + 1, 0, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    for (std::size_t z = 0; z < 2; ++z)
        for (std::size_t y = 0; y < 3; ++y)
            for (std::size_t x = 0; x < 4; ++x)
                EXPECT_EQ(back[(z * 3 + y) * 4 + x], source[(z * 4 + y) * 10 + x]);

    std::size_t failed = 77;
    up.dst.op.array.offset.x = 5;
    EXPECT_EQ(cuMemcpy3DBatchAsync(2, operations, &failed, 0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, 0u) << "beyond the row";
    EXPECT_EQ(cuMemcpy3DBatchAsync(2, operations, &failed, 1, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(failed, SIZE_MAX) << "no such flag";
    up.dst.op.array.offset.x = 2;
    up.src.op.ptr.rowLength = 3;
    EXPECT_EQ(cuMemcpy3DBatchAsync(1, operations, &failed, 0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_F(Batch, PrefetchesHaveALocationEach) {
    CUdeviceptr managed = 0;
    ASSERT_EQ(cuMemAllocManaged(&managed, 2 * kSize, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    CUdeviceptr ranges[] = {managed, managed + kSize};
    std::size_t sizes[] = {kSize, kSize}, firsts[] = {0, 1};
    CUmemLocation locations[] = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, {CU_MEM_LOCATION_TYPE_HOST, 0}};
    EXPECT_EQ(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, firsts, 2, 0, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, locations, firsts, 1, 0, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPrefetchBatchAsync(ranges, sizes, 2, nullptr, firsts, 2, 0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, firsts, 2, 1, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, firsts, 2, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemPrefetchAsync_v2(managed, kSize, locations[0], 0, stream_), CUDA_SUCCESS);
    locations[0].id = 9;
    EXPECT_EQ(cuMemPrefetchAsync_v2(managed, kSize, locations[0], 0, stream_), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuMemAdvise_v2(managed, kSize, CU_MEM_ADVISE_SET_ACCESSED_BY, locations[0]), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuMemAdvise_v2(managed, kSize, CU_MEM_ADVISE_SET_ACCESSED_BY, locations[1]), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(managed), CUDA_SUCCESS);
}

}  // namespace

#endif
