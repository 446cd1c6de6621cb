// 2D and 3D copies and copies of arrays: where the bytes go, and which calls hold the host behind a kernel that runs in
// their stream.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "gate.h"
#include "host_memory.h"

// cudaMemcpyToArray and cudaMemcpyFromArray are deprecated, and programs still call them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace conformance;

namespace {

constexpr std::size_t kPitch = 128, kRows = 12, kSlices = 4, kSize = kPitch * kRows * kSlices;

// Part of a memory of kPitch x kRows x kSlices bytes.
struct Box {
    std::size_t x, y, z, width, height, depth;
};
constexpr Box kFlat{16, 3, 0, 40, 5, 1};
constexpr Box kSolid{16, 3, 1, 40, 5, 2};

std::vector<char> numbered() {
    std::vector<char> bytes(kSize);
    std::iota(bytes.begin(), bytes.end(), 1);
    return bytes;
}

// `from`'s bytes of the box, at the same place in memory that is otherwise 1 (HostMemory, and what is uploaded first).
std::vector<char> only(const Box& box, const std::vector<char>& from) {
    std::vector<char> bytes(kSize, 1);
    for (std::size_t z = box.z; z < box.z + box.depth; ++z)
        for (std::size_t y = box.y; y < box.y + box.height; ++y) {
            const std::size_t at = (z * kRows + y) * kPitch + box.x;
            std::memcpy(&bytes[at], &from[at], box.width);
        }
    return bytes;
}

// Where the memory differs first, and how.
testing::AssertionResult holds_bytes(const HostMemory& memory, const std::vector<char>& expected) {
    std::size_t at = kSize, last = 0, count = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
        if (memory[i] == expected[i])
            continue;
        at = std::min(at, i);
        last = i;
        ++count;
    }
    if (count == 0)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "byte " << at << " (x " << at % kPitch << ", y " << at / kPitch % kRows
                                       << ", z " << at / kPitch / kRows << ") is " << static_cast<int>(memory[at])
                                       << ", expected " << static_cast<int>(expected[at]) << "; " << count
                                       << " bytes differ, the last one is byte " << last;
}

cudaPitchedPtr pitched(char* memory) {
    return {memory, kPitch, kPitch, kRows};
}

class StridedCopy : public testing::TestWithParam<Kind> {
  protected:
    void SetUp() override {
        std::memcpy(source_.data(), bytes_.data(), kSize);
        const std::vector<char> ones(kSize, 1);
        CUDA_OK(cudaMemcpy(device_, ones.data(), kSize, cudaMemcpyHostToDevice));
        const cudaChannelFormatDesc format{8, 8, 8, 8, cudaChannelFormatKindUnsigned};
        CUDA_OK(cudaMallocArray(&flat_, &format, kPitch / 4, kRows));
        CUDA_OK(cudaMalloc3DArray(&solid_, &format, {kPitch / 4, kRows, kSlices}, cudaArrayDefault));
    }
    void TearDown() override {
        EXPECT_EQ(cudaFreeArray(solid_), cudaSuccess);
        EXPECT_EQ(cudaFreeArray(flat_), cudaSuccess);
    }
    // A 3D copy of the box, between places that are pointers or arrays.
    static cudaMemcpy3DParms solid(cudaMemcpyKind kind) {
        cudaMemcpy3DParms p{};
        p.srcPos = p.dstPos = {kSolid.x, kSolid.y, kSolid.z};
        p.extent = {kSolid.width, kSolid.height, kSolid.depth};
        p.kind = kind;
        return p;
    }

    const std::vector<char> bytes_ = numbered();
    HostMemory source_{GetParam(), kSize}, result_{GetParam(), kSize};
    DeviceMemory device_{kSize};
    Stream stream_;
    cudaArray_t flat_ = nullptr, solid_ = nullptr;
};

TEST_P(StridedCopy, OfARectangle) {
    const std::size_t at = kFlat.y * kPitch + kFlat.x;
    CUDA_OK(cudaMemcpy2DAsync(device_ + at, kPitch, source_.data() + at, kPitch, kFlat.width, kFlat.height,
                              cudaMemcpyHostToDevice, stream_));
    CUDA_OK(cudaMemcpy2DAsync(result_.data(), kPitch, device_, kPitch, kPitch, kRows, cudaMemcpyDeviceToHost, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_TRUE(holds_bytes(result_, only(kFlat, bytes_)));
}

TEST_P(StridedCopy, OfARectangleChangesThePitch) {
    CUDA_OK(cudaMemcpy2D(device_, 48, source_.data(), kPitch, 40, 6, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy2D(result_.data(), 40, device_, 48, 40, 6, cudaMemcpyDefault));
    for (std::size_t y = 0; y < 6; ++y)
        EXPECT_EQ(std::memcmp(result_.data() + y * 40, &bytes_[y * kPitch], 40), 0) << y;
    EXPECT_EQ(result_[240], 1) << "no byte more";
}

TEST_P(StridedCopy, OfABox) {
    cudaMemcpy3DParms p = solid(cudaMemcpyHostToDevice);
    p.srcPtr = pitched(source_.data());
    p.dstPtr = pitched(device_);
    CUDA_OK(cudaMemcpy3DAsync(&p, stream_));
    CUDA_OK(cudaMemcpyAsync(result_.data(), device_, kSize, cudaMemcpyDeviceToHost, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_TRUE(holds_bytes(result_, only(kSolid, bytes_)));
    std::memset(result_.data(), 1, kSize);
    CUDA_OK(cudaMemcpy(device_, source_.data(), kSize, cudaMemcpyHostToDevice));
    p = solid(cudaMemcpyDefault);
    p.srcPtr = pitched(device_);
    p.dstPtr = pitched(result_.data());
    CUDA_OK(cudaMemcpy3D(&p));
    EXPECT_TRUE(holds_bytes(result_, only(kSolid, bytes_)));
}

TEST_P(StridedCopy, OfAnArraysRectangle) {
    CUDA_OK(cudaMemcpy2DToArray(flat_, 0, 0, result_.data(), kPitch, kPitch, kRows, cudaMemcpyHostToDevice));
    const std::size_t at = kFlat.y * kPitch + kFlat.x;
    CUDA_OK(cudaMemcpy2DToArrayAsync(flat_, kFlat.x, kFlat.y, source_.data() + at, kPitch, kFlat.width, kFlat.height,
                                     cudaMemcpyHostToDevice, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaMemcpy2DFromArrayAsync(result_.data(), kPitch, flat_, 0, 0, kPitch, kRows, cudaMemcpyDeviceToHost,
                                       stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_TRUE(holds_bytes(result_, only(kFlat, bytes_)));
    CUDA_OK(cudaMemcpy2DArrayToArray(flat_, 0, 0, flat_, kFlat.x, kFlat.y, kFlat.width, 2, cudaMemcpyDeviceToDevice));
    CUDA_OK(cudaMemcpy2DFromArray(result_.data(), kPitch, flat_, 0, 0, kFlat.width, 2, cudaMemcpyDeviceToHost));
    for (std::size_t y = 0; y < 2; ++y)
        EXPECT_EQ(std::memcmp(result_.data() + y * kPitch, &bytes_[at + y * kPitch], kFlat.width), 0) << y;
}

// The extent and the array's offsets are in elements of the array. The pointer leads to the box's first byte: with an
// offset in x instead, in bytes as cudaMemcpy3D documents it ("the element of a host or device pointer is assumed to be
// unsigned char"), this test failed on an H200 with driver 580.159.04. The next test prints the unit.
TEST_P(StridedCopy, OfAnArraysBox) {
    cudaMemcpy3DParms all{};
    all.srcPtr = pitched(result_.data());
    all.dstArray = solid_;
    all.extent = {kPitch / 4, kRows, kSlices};
    all.kind = cudaMemcpyHostToDevice;
    CUDA_OK(cudaMemcpy3D(&all));
    CUDA_OK(cudaDeviceSynchronize());
    cudaMemcpy3DParms p = solid(cudaMemcpyHostToDevice);
    p.srcPtr = pitched(source_.data() + kSolid.x);
    p.srcPos.x = 0;
    p.dstArray = solid_;
    p.dstPos.x /= 4;
    p.extent.width /= 4;
    CUDA_OK(cudaMemcpy3DAsync(&p, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    all = {};
    all.srcArray = solid_;
    all.dstPtr = pitched(result_.data());
    all.extent = {kPitch / 4, kRows, kSlices};
    all.kind = cudaMemcpyDeviceToHost;
    CUDA_OK(cudaMemcpy3D(&all));
    EXPECT_TRUE(holds_bytes(result_, only(kSolid, bytes_)));
}

// Not documented well enough: asserts nothing but that the copies succeed. The offset of the pointer is in bytes, or in
// elements of the array.
// The documentation says that a pointer's element is a byte; measured: H200, driver 580.159.04, the array's.
TEST_P(StridedCopy, UnitOfAPointersOffsetBesideAnArrayIsTheArraysElement) {
    for (std::size_t i = 0; i < kPitch; ++i)
        source_[i] = static_cast<char>(i);
    cudaMemcpy3DParms p{};
    p.srcPtr = pitched(source_.data());
    p.srcPos.x = 8;
    p.dstArray = solid_;
    p.extent = {4, 1, 1};
    p.kind = cudaMemcpyHostToDevice;
    CUDA_OK(cudaMemcpy3D(&p));
    CUDA_OK(cudaDeviceSynchronize());
    cudaMemcpy3DParms back{};
    back.srcArray = solid_;
    back.dstPtr = pitched(result_.data());
    back.dstPos.x = 8;
    back.extent = {4, 1, 1};
    back.kind = cudaMemcpyDeviceToHost;
    CUDA_OK(cudaMemcpy3D(&back));
    std::size_t first = 0;
    while (first < kPitch && result_[first] == 1)
        ++first;
    ASSERT_LT(first, kPitch);
    EXPECT_EQ(first, 8u * 4) << "where it was written";
    EXPECT_EQ(static_cast<int>(result_[first]), 8 * 4) << "where it was read from";
}

TEST_P(StridedCopy, OfAWholeArrayByTheOldFunctions) {
    CUDA_OK(cudaMemcpyToArray(flat_, 0, 0, source_.data(), kPitch * kRows, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpyFromArrayAsync(result_.data(), flat_, 0, 0, kPitch * kRows, cudaMemcpyDeviceToHost, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(std::memcmp(result_.data(), bytes_.data(), kPitch * kRows), 0);
}
INSTANTIATE_TEST_SUITE_P(Kinds, StridedCopy, testing::Values(Kind::pageable, Kind::pinned, Kind::registered));

// The same copies behind a gate.
class StridedCopyWaits : public testing::Test {
  protected:
    void SetUp() override {
        const cudaChannelFormatDesc format{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
        CUDA_OK(cudaMallocArray(&array_, &format, kPitch, kRows));
    }
    void TearDown() override { EXPECT_EQ(cudaFreeArray(array_), cudaSuccess); }

    bool holds(const std::function<cudaError_t()>& call) {
        gate_.close_in(stream_);
        const bool held = waits(gate_, [&] { EXPECT_EQ(call(), cudaSuccess); });
        EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
        return held;
    }
    bool rectangle(void* to, const void* from, cudaMemcpyKind kind) {
        return holds([&] { return cudaMemcpy2DAsync(to, kPitch, from, kPitch, 40, kRows, kind, stream_); });
    }
    bool box(char* to, char* from, cudaMemcpyKind kind) {
        cudaMemcpy3DParms p{};
        p.srcPtr = pitched(from);
        p.dstPtr = pitched(to);
        p.extent = {40, kRows, 2};
        p.kind = kind;
        return holds([&] { return cudaMemcpy3DAsync(&p, stream_); });
    }
    bool to_array(const void* from) {
        return holds([&] {
            return cudaMemcpy2DToArrayAsync(array_, 0, 0, from, kPitch, 40, kRows, cudaMemcpyHostToDevice, stream_);
        });
    }
    bool from_array(void* to) {
        return holds([&] {
            return cudaMemcpy2DFromArrayAsync(to, kPitch, array_, 0, 0, 40, kRows, cudaMemcpyDeviceToHost, stream_);
        });
    }

    DeviceMemory device_{kSize};
    cudaArray_t array_ = nullptr;
    Stream stream_;
    Gate gate_;
};

TEST_F(StridedCopyWaits, NotForLockedMemory) {
    for (const Kind kind : {Kind::pinned, Kind::registered}) {
        HostMemory host(kind, kSize);
        EXPECT_FALSE(rectangle(device_, host.data(), cudaMemcpyHostToDevice)) << kind;
        EXPECT_FALSE(rectangle(host.data(), device_, cudaMemcpyDeviceToHost)) << kind;
        EXPECT_FALSE(box(device_, host.data(), cudaMemcpyHostToDevice)) << kind;
        EXPECT_FALSE(box(host.data(), device_, cudaMemcpyDeviceToHost)) << kind;
        EXPECT_FALSE(to_array(host.data())) << kind;
        EXPECT_FALSE(from_array(host.data())) << kind;
    }
}

// CUDA Runtime API, "API synchronization behavior": from device memory to pageable memory the call returns only once
// the copy has completed.
TEST_F(StridedCopyWaits, ForPageableDestinations) {
    HostMemory host(Kind::pageable, kSize);
    EXPECT_TRUE(rectangle(host.data(), device_, cudaMemcpyDeviceToHost));
    EXPECT_TRUE(box(host.data(), device_, cudaMemcpyDeviceToHost));
    EXPECT_TRUE(from_array(host.data()));
}

// Measured: H200, driver 580.159.04: staged as plain copies are.
TEST(LargeRectangle, OfPageableMemoryWaitsWhenItIsTooLargeToBeStaged) {
    constexpr std::size_t width = 4096, pitch = 4160, KiB = 1024, MiB = 1024 * KiB;
    const cudaChannelFormatDesc format{8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    HostMemory host(Kind::pageable, 16 * MiB);
    DeviceMemory device(16 * MiB);
    cudaArray_t array = nullptr;
    CUDA_OK(cudaMallocArray(&array, &format, width, 4 * MiB / width));
    Stream stream;
    Gate gate;
    const auto holds = [&](const std::function<cudaError_t()>& call) {
        gate.close_in(stream);
        const bool held = waits(gate, [&] { EXPECT_EQ(call(), cudaSuccess); });
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        return held;
    };
    const auto up = [&](std::size_t bytes) {
        return holds([&] {
            return cudaMemcpy2DAsync(device, pitch, host.data(), pitch, width, bytes / width, cudaMemcpyHostToDevice,
                                     stream);
        });
    };
    const auto to_array = [&](std::size_t bytes) {
        return holds([&] {
            return cudaMemcpy2DToArrayAsync(array, 0, 0, host.data(), pitch, width, bytes / width,
                                            cudaMemcpyHostToDevice, stream);
        });
    };
    EXPECT_FALSE(up(256 * KiB));
    EXPECT_FALSE(up(1 * MiB));
    EXPECT_TRUE(up(8 * MiB));
    EXPECT_FALSE(to_array(1 * MiB));
    EXPECT_TRUE(to_array(4 * MiB));
    EXPECT_TRUE(holds([&] {
        return cudaMemcpy2DAsync(host.data(), pitch, device, pitch, width, 64 * KiB / width, cudaMemcpyDeviceToHost,
                                 stream);
    }));
    EXPECT_TRUE(holds([&] {
        return cudaMemcpy2DFromArrayAsync(host.data(), pitch, array, 0, 0, width, 64 * KiB / width,
                                          cudaMemcpyDeviceToHost, stream);
    }));
    CUDA_OK(cudaFreeArray(array));
}

TEST(PitchedMemory, HasRowsThatFit) {
    char* rows = nullptr;
    std::size_t pitch = 0;
    CUDA_OK(cudaMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 1000, 16));
    EXPECT_GE(pitch, 1000u);
    CUDA_OK(cudaMemset2D(rows, pitch, 3, 1000, 16));
    CUDA_OK(cudaMemset2D(rows + 8, pitch, 4, 2, 2));
    std::vector<char> bytes(1000 * 16);
    CUDA_OK(cudaMemcpy2D(bytes.data(), 1000, rows, pitch, 1000, 16, cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < bytes.size(); ++i)
        ASSERT_EQ(bytes[i], i / 1000 < 2 && i % 1000 >= 8 && i % 1000 < 10 ? 4 : 3) << i;
    CUDA_OK(cudaFree(rows));

    cudaPitchedPtr box{};
    CUDA_OK(cudaMalloc3D(&box, {1000, 8, 4}));
    EXPECT_GE(box.pitch, 1000u);
    EXPECT_EQ(box.xsize, 1000u);
    EXPECT_EQ(box.ysize, 8u);
    CUDA_OK(cudaMemset3D(box, 5, {1000, 8, 4}));
    CUDA_OK(cudaMemset3D(box, 6, {10, 2, 3}));
    std::vector<char> all(1000 * 8 * 4);
    CUDA_OK(cudaMemcpy2D(all.data(), 1000, box.ptr, box.pitch, 1000, 8 * 4, cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t x = i % 1000, y = i / 1000 % 8, z = i / 8000;
        ASSERT_EQ(all[i], x < 10 && y < 2 && z < 3 ? 6 : 5) << i;
    }
    CUDA_OK(cudaFree(box.ptr));
}

TEST(Rectangle, WiderThanItsPitchIsRefused) {
    HostMemory host(Kind::pinned, kSize);
    DeviceMemory device(kSize);
    EXPECT_EQ(cudaMemcpy2D(device, 32, host.data(), kPitch, 40, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemcpy2D(device, kPitch, host.data(), 32, 40, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
}

TEST(Rectangle, PartlyRegisteredIsAnInvalidArgument) {
    HostMemory host(Kind::pageable, 2 * 4096);
    DeviceMemory device(2 * 4096);
    CUDA_OK(cudaHostRegister(host.data(), 4096, cudaHostRegisterDefault));
    EXPECT_EQ(cudaMemcpy2D(device, 1024, host.data(), 1024, 16, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA_OK(cudaHostUnregister(host.data()));
}

}  // namespace
