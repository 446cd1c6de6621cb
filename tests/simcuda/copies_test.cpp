// The stand-in driver's strided, array, peer and batch copies and its memsets: where the bytes go, which arguments are
// refused, and who waits. What real devices do is checked by tests/conformance.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "driver/cuda_symbols.h"
#include "simcuda.h"
#include "stream_gate.h"

namespace {

constexpr std::size_t kPitch = 96, kRows = 20, kSlices = 4;
constexpr std::size_t kSize = kPitch * kRows * kSlices;

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

// Pitch of the memory, and the box that is copied: 40 bytes of 7 rows of 2 slices, from a corner that is not at 0.
constexpr std::size_t kWidth = 40, kHeight = 7, kDepth = 2;
constexpr std::size_t kFromX = 8, kFromY = 3, kFromZ = 1, kToX = 16, kToY = 5, kToZ = 2;

std::size_t at(std::size_t x, std::size_t y, std::size_t z) {
    return (z * kRows + y) * kPitch + x;
}

class Copies : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    }
    void SetUp() override {
        ASSERT_EQ(cuMemAlloc_v2(&device_, kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuMemAlloc_v2(&other_, kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&pinned_), kSize, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        source_.resize(kSize);
        std::iota(source_.begin(), source_.end(), 1);
        std::memcpy(pinned_, source_.data(), kSize);
        upload(device_, source_);
        upload(other_, std::vector<unsigned char>(kSize));
    }
    void TearDown() override {
        EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFreeHost(pinned_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(other_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(device_), CUDA_SUCCESS);
    }

    static void upload(CUdeviceptr to, const std::vector<unsigned char>& bytes) {
        ASSERT_EQ(cuMemcpyHtoD_v2(to, bytes.data(), bytes.size()), CUDA_SUCCESS);
    }
    static std::vector<unsigned char> download(CUdeviceptr from, std::size_t size = kSize) {
        std::vector<unsigned char> bytes(size);
        EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(cuMemcpyDtoH_v2(bytes.data(), from, size), CUDA_SUCCESS);
        return bytes;
    }
    // What the box of the source makes of zeroed memory.
    std::vector<unsigned char> expected_box(std::size_t depth = kDepth) const {
        std::vector<unsigned char> bytes(kSize);
        for (std::size_t z = 0; z < depth; ++z)
            for (std::size_t y = 0; y < kHeight; ++y)
                std::memcpy(&bytes[at(kToX, kToY + y, (depth > 1 ? kToZ : 0) + z)],
                            &source_[at(kFromX, kFromY + y, (depth > 1 ? kFromZ : 0) + z)], kWidth);
        return bytes;
    }
    void hold() { ASSERT_EQ(gate_.close(stream_), CUDA_SUCCESS); }
    void release() {
        gate_.open();
        ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    }
    // The box from the source to zeroed memory.
    CUDA_MEMCPY3D box(CUmemorytype to, CUdeviceptr to_address, CUmemorytype from, CUdeviceptr from_address) const {
        CUDA_MEMCPY3D c{};
        c.srcXInBytes = kFromX;
        c.srcY = kFromY;
        c.srcZ = kFromZ;
        c.srcMemoryType = from;
        c.srcHost = reinterpret_cast<const void*>(from_address);
        c.srcDevice = from_address;
        c.srcPitch = kPitch;
        c.srcHeight = kRows;
        c.dstXInBytes = kToX;
        c.dstY = kToY;
        c.dstZ = kToZ;
        c.dstMemoryType = to;
        c.dstHost = reinterpret_cast<void*>(to_address);
        c.dstDevice = to_address;
        c.dstPitch = kPitch;
        c.dstHeight = kRows;
        c.WidthInBytes = kWidth;
        c.Height = kHeight;
        c.Depth = kDepth;
        return c;
    }
    static CUDA_MEMCPY2D slice(const CUDA_MEMCPY3D& c) {
        return {c.srcXInBytes, c.srcY,        c.srcMemoryType, c.srcHost,       c.srcDevice, c.srcArray,
                c.srcPitch,    c.dstXInBytes, c.dstY,          c.dstMemoryType, c.dstHost,   c.dstDevice,
                c.dstArray,    c.dstPitch,    c.WidthInBytes,  c.Height};
    }

    static inline CUcontext context_ = nullptr;
    CUdeviceptr device_ = 0, other_ = 0;  // the source's bytes, and zeros
    unsigned char* pinned_ = nullptr;     // the source's bytes
    CUstream stream_ = nullptr;
    std::vector<unsigned char> source_;
    StreamGate gate_;
};

// Every pair of memories, by every way to say what it is.
TEST_F(Copies, BoxesArriveWhereTheyShould) {
    std::vector<unsigned char> pageable(kSize);
    const struct {
        CUmemorytype from;
        CUdeviceptr from_address;
        CUmemorytype to;
        CUdeviceptr to_address;
    } rows[] = {
        {CU_MEMORYTYPE_HOST, address(source_.data()), CU_MEMORYTYPE_DEVICE, other_},
        {CU_MEMORYTYPE_HOST, address(pinned_), CU_MEMORYTYPE_DEVICE, other_},
        {CU_MEMORYTYPE_UNIFIED, address(source_.data()), CU_MEMORYTYPE_UNIFIED, other_},
        {CU_MEMORYTYPE_DEVICE, device_, CU_MEMORYTYPE_DEVICE, other_},
        {CU_MEMORYTYPE_DEVICE, device_, CU_MEMORYTYPE_HOST, address(pageable.data())},
        {CU_MEMORYTYPE_UNIFIED, device_, CU_MEMORYTYPE_UNIFIED, address(pageable.data())},
        {CU_MEMORYTYPE_HOST, address(source_.data()), CU_MEMORYTYPE_HOST, address(pageable.data())},
    };
    for (const auto& row : rows) {
        for (const bool wait : {true, false}) {
            const CUDA_MEMCPY3D c = box(row.to, row.to_address, row.from, row.from_address);
            const CUDA_MEMCPY2D c2 = slice(c);
            const bool to_host = row.to_address == address(pageable.data());
            const auto result = [&] { return to_host ? pageable : download(other_); };
            const auto clear = [&] {
                std::fill(pageable.begin(), pageable.end(), 0);
                upload(other_, std::vector<unsigned char>(kSize));
            };
            clear();
            ASSERT_EQ(wait ? cuMemcpy3D_v2(&c) : cuMemcpy3DAsync_v2(&c, stream_), CUDA_SUCCESS);
            ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
            EXPECT_EQ(result(), expected_box());
            clear();
            ASSERT_EQ(wait ? cuMemcpy2D_v2(&c2) : cuMemcpy2DAsync_v2(&c2, stream_), CUDA_SUCCESS);
            ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
            EXPECT_EQ(result(), expected_box(1));
        }
    }
}

TEST_F(Copies, TheFirstVersionsTakeNarrowStructures) {
    const CUDA_MEMCPY3D wide = box(CU_MEMORYTYPE_HOST, address(pinned_), CU_MEMORYTYPE_HOST, address(source_.data()));
    std::memset(pinned_, 0, kSize);
    CUDA_MEMCPY3D_v1 c{};
    c.srcXInBytes = kFromX;
    c.srcY = kFromY;
    c.srcZ = kFromZ;
    c.srcMemoryType = wide.srcMemoryType;
    c.srcHost = wide.srcHost;
    c.srcPitch = kPitch;
    c.srcHeight = kRows;
    c.dstXInBytes = kToX;
    c.dstY = kToY;
    c.dstZ = kToZ;
    c.dstMemoryType = wide.dstMemoryType;
    c.dstHost = wide.dstHost;
    c.dstPitch = kPitch;
    c.dstHeight = kRows;
    c.WidthInBytes = kWidth;
    c.Height = kHeight;
    c.Depth = kDepth;
    EXPECT_EQ(cuMemcpy3D(&c), CUDA_SUCCESS);
    EXPECT_EQ(std::vector<unsigned char>(pinned_, pinned_ + kSize), expected_box());
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = static_cast<CUdeviceptr_v1>(device_);
    EXPECT_EQ(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE) << "an address that 32 bits do not hold";
}

TEST_F(Copies, WithoutAPitchRowsFollowEachOther) {
    CUDA_MEMCPY2D c{};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = source_.data();
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = other_;
    c.dstPitch = 64;
    c.WidthInBytes = 30;
    c.Height = 3;
    ASSERT_EQ(cuMemcpy2D_v2(&c), CUDA_SUCCESS);
    const auto bytes = download(other_);
    for (std::size_t y = 0; y < 3; ++y)
        EXPECT_EQ(std::memcmp(&bytes[y * 64], &source_[y * 30], 30), 0);
    EXPECT_EQ(bytes[30], 0);
}

TEST_F(Copies, WrongBoxesAreRefused) {
    const CUDA_MEMCPY3D good = box(CU_MEMORYTYPE_DEVICE, other_, CU_MEMORYTYPE_HOST, address(source_.data()));
    const auto refuses = [&](void (*spoil)(CUDA_MEMCPY3D*)) {
        CUDA_MEMCPY3D c = good;
        spoil(&c);
        return cuMemcpy3D_v2(&c);
    };
    EXPECT_EQ(cuMemcpy3D_v2(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->srcPitch = kWidth; }), CUDA_ERROR_INVALID_VALUE) << "x + width";
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->dstHeight = kHeight; }), CUDA_ERROR_INVALID_VALUE) << "y + height";
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->dstPitch = 1ul << 31; }), CUDA_ERROR_INVALID_VALUE) << "the most";
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->srcLOD = 1; }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->srcMemoryType = CUmemorytype(7); }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->srcHost = nullptr; }), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->dstZ = kSlices; }), CUDA_ERROR_INVALID_VALUE) << "beyond the memory";
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->srcMemoryType = CU_MEMORYTYPE_ARRAY; }), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(refuses([](CUDA_MEMCPY3D* c) { c->WidthInBytes = 0; }), CUDA_SUCCESS) << "nothing to copy";
    EXPECT_EQ(download(other_), std::vector<unsigned char>(kSize)) << "none of them wrote";
    const CUDA_MEMCPY3D pageable_device =
        box(CU_MEMORYTYPE_DEVICE, address(source_.data()), CU_MEMORYTYPE_DEVICE, device_);
    EXPECT_EQ(cuMemcpy3D_v2(&pageable_device), CUDA_ERROR_INVALID_VALUE);
}

// As a plain copy of the same size: staged, in flight, or waited for.
TEST_F(Copies, BoxesWaitAsLinesDo) {
    SimcudaCounters before{}, after{};
    simcuda_counters(&before);
    hold();
    const CUDA_MEMCPY2D staged = slice(box(CU_MEMORYTYPE_DEVICE, other_, CU_MEMORYTYPE_HOST, address(source_.data())));
    ASSERT_EQ(cuMemcpy2DAsync_v2(&staged, stream_), CUDA_SUCCESS);
    const auto expected = expected_box(1);
    std::fill(source_.begin(), source_.end(), 0);  // too late for a snapshot
    release();
    EXPECT_EQ(download(other_), expected);
    simcuda_counters(&after);
    EXPECT_EQ(after.staged - before.staged, 1u);
    EXPECT_EQ(after.h2d - before.h2d, 1u);
    EXPECT_EQ(after.bytes_h2d - before.bytes_h2d, kWidth * kHeight);

    hold();
    const CUDA_MEMCPY2D flying = slice(box(CU_MEMORYTYPE_DEVICE, other_, CU_MEMORYTYPE_HOST, address(pinned_)));
    ASSERT_EQ(cuMemcpy2DAsync_v2(&flying, stream_), CUDA_SUCCESS);
    pinned_[at(kFromX, kFromY, 0)] = 77;
    release();
    EXPECT_EQ(download(other_)[at(kToX, kToY, 0)], 77);
}

TEST_F(Copies, CapturedBoxesReadTheirSourceAtEveryLaunch) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    const CUDA_MEMCPY2D c = slice(box(CU_MEMORYTYPE_DEVICE, other_, CU_MEMORYTYPE_HOST, address(source_.data())));
    ASSERT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpy2DAsync_v2(&c, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD2D8Async(other_, kPitch, 9, 2, 3, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(download(other_), std::vector<unsigned char>(kSize)) << "captured, not executed";
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    for (unsigned char value = 3; value < 5; ++value) {
        std::fill(source_.begin(), source_.end(), value);
        ASSERT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
        auto expected = expected_box(1);
        for (std::size_t y = 0; y < 3; ++y)
            expected[y * kPitch] = expected[y * kPitch + 1] = 9;
        EXPECT_EQ(download(other_), expected);
    }
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

class Arrays : public Copies {
  protected:
    void SetUp() override {
        Copies::SetUp();
        const CUDA_ARRAY3D_DESCRIPTOR wanted{kPitch / 4, kRows, kSlices, CU_AD_FORMAT_FLOAT, 1, 0};
        ASSERT_EQ(cuArray3DCreate_v2(&array_, &wanted), CUDA_SUCCESS);
        const CUDA_ARRAY_DESCRIPTOR line{64, 0, CU_AD_FORMAT_UNSIGNED_INT16, 2};
        ASSERT_EQ(cuArrayCreate_v2(&line_, &line), CUDA_SUCCESS);
    }
    void TearDown() override {
        EXPECT_EQ(cuArrayDestroy(line_), CUDA_SUCCESS);
        EXPECT_EQ(cuArrayDestroy(array_), CUDA_SUCCESS);
        Copies::TearDown();
    }
    CUarray array_ = nullptr;  // as large as the linear memory
    CUarray line_ = nullptr;   // 256 bytes in elements of 4
};

TEST_F(Arrays, DescribeThemselves) {
    CUDA_ARRAY3D_DESCRIPTOR all{};
    EXPECT_EQ(cuArray3DGetDescriptor_v2(&all, array_), CUDA_SUCCESS);
    EXPECT_EQ(all.Width, kPitch / 4);
    EXPECT_EQ(all.Depth, kSlices);
    CUDA_ARRAY_DESCRIPTOR_v1 flat{};
    EXPECT_EQ(cuArrayGetDescriptor(&flat, line_), CUDA_SUCCESS);
    EXPECT_EQ(flat.Width, 64u);
    EXPECT_EQ(flat.NumChannels, 2u);
    EXPECT_EQ(cuArrayGetDescriptor(&flat, reinterpret_cast<CUarray>(&flat)), CUDA_ERROR_INVALID_HANDLE);
    CUarray none = nullptr;
    for (const CUDA_ARRAY3D_DESCRIPTOR& wrong : {CUDA_ARRAY3D_DESCRIPTOR{0, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0},
                                                 CUDA_ARRAY3D_DESCRIPTOR{8, 1, 0, CU_AD_FORMAT_FLOAT, 3, 0},
                                                 CUDA_ARRAY3D_DESCRIPTOR{8, 0, 2, CU_AD_FORMAT_FLOAT, 1, 0}})
        EXPECT_EQ(cuArray3DCreate_v2(&none, &wrong), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuArrayDestroy(none), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Arrays, AreDeviceMemoryThatIsGivenBack) {
    std::size_t before = 0, with = 0, after = 0, total = 0;
    ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
    const CUDA_ARRAY_DESCRIPTOR wanted{1024, 1024, CU_AD_FORMAT_FLOAT, 4};
    CUarray array = nullptr;
    ASSERT_EQ(cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
    ASSERT_EQ(cuMemGetInfo_v2(&with, &total), CUDA_SUCCESS);
    ASSERT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
    ASSERT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
    EXPECT_EQ(before - with, std::size_t{16} << 20);
    EXPECT_EQ(after, before);
}

TEST_F(Arrays, TakeAndGiveBoxes) {
    CUDA_MEMCPY3D up = box(CU_MEMORYTYPE_ARRAY, 0, CU_MEMORYTYPE_HOST, address(source_.data()));
    up.dstArray = array_;
    ASSERT_EQ(cuMemcpy3D_v2(&up), CUDA_SUCCESS);
    CUDA_MEMCPY3D down{};
    down.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    down.srcArray = array_;
    down.dstMemoryType = CU_MEMORYTYPE_HOST;
    down.dstHost = pinned_;
    down.dstPitch = kPitch;
    down.dstHeight = kRows;
    down.WidthInBytes = kPitch;
    down.Height = kRows;
    down.Depth = kSlices;
    ASSERT_EQ(cuMemcpy3D_v2(&down), CUDA_SUCCESS);
    EXPECT_EQ(std::vector<unsigned char>(pinned_, pinned_ + kSize), expected_box());
    up.dstXInBytes = 2;
    EXPECT_EQ(cuMemcpy3D_v2(&up), CUDA_ERROR_INVALID_VALUE) << "half an element";
    up.dstXInBytes = kPitch - kWidth + 4;
    EXPECT_EQ(cuMemcpy3D_v2(&up), CUDA_ERROR_INVALID_VALUE) << "beyond its row";
}

TEST_F(Arrays, TakeAndGiveLines) {
    std::vector<unsigned char> back(256);
    ASSERT_EQ(cuMemcpyHtoA_v2(line_, 0, source_.data(), 64), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoA_v2(line_, 64, device_ + 64, 64), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAtoA_v2(line_, 128, line_, 0, 64), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyHtoAAsync_v2(line_, 192, &pinned_[192], 64, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAtoH_v2(back.data(), line_, 0, 192), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAtoHAsync_v2(&back[192], line_, 192, 64, stream_), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(&back[0], &source_[0], 128), 0);
    EXPECT_EQ(std::memcmp(&back[128], &source_[0], 64), 0);
    EXPECT_EQ(std::memcmp(&back[192], &source_[192], 64), 0);
    ASSERT_EQ(cuMemcpyAtoD_v2(other_, line_, 4, 8), CUDA_SUCCESS);
    EXPECT_EQ(download(other_, 8), (std::vector<unsigned char>{5, 6, 7, 8, 9, 10, 11, 12}));
    EXPECT_EQ(cuMemcpyHtoA_v2(line_, 2, source_.data(), 8), CUDA_ERROR_INVALID_VALUE) << "half an element";
    EXPECT_EQ(cuMemcpyHtoA_v2(line_, 252, source_.data(), 8), CUDA_ERROR_INVALID_VALUE) << "beyond the end";
    ASSERT_EQ(cuMemcpyHtoA(line_, 0, &source_[100], 4), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAtoH(back.data(), line_, 0, 4), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(back.data(), &source_[100], 4), 0) << "the first versions";
}

TEST_F(Arrays, WithRowsAreNoLines) {
    std::vector<unsigned char> back(64, 1);
    EXPECT_EQ(cuMemcpyHtoA_v2(array_, 0, source_.data(), 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyHtoAAsync_v2(array_, 0, pinned_, 64, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyAtoH_v2(back.data(), array_, 0, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyAtoHAsync_v2(pinned_, array_, 0, 64, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyAtoD_v2(device_, array_, 0, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyDtoA_v2(array_, 0, device_, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyAtoA_v2(array_, 0, line_, 0, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemcpyAtoA_v2(line_, 0, array_, 0, 64), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(back, std::vector<unsigned char>(64, 1));
}

TEST_F(Copies, PeersOfOneDevice) {
    int can = 7;
    EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(can, 0);
    EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 5), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuCtxDisablePeerAccess(context_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    ASSERT_EQ(cuMemcpyPeer(other_, context_, device_, context_, 100), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyPeerAsync(other_ + 100, context_, device_ + 100, context_, kSize - 100, stream_), CUDA_SUCCESS);
    EXPECT_EQ(download(other_), source_);
    EXPECT_EQ(cuMemcpyPeer(other_, reinterpret_cast<CUcontext>(1), device_, context_, 100), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Copies, MemsetsOfEveryWidth) {
    ASSERT_EQ(cuMemsetD8_v2(other_, 0x11, 8), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD16_v2(other_ + 8, 0x2233, 4), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD32Async(other_ + 16, 0x44556677, 2, stream_), CUDA_SUCCESS);
    EXPECT_EQ(download(other_, 24),
              (std::vector<unsigned char>{0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x33, 0x22, 0x33, 0x22,
                                          0x33, 0x22, 0x33, 0x22, 0x77, 0x66, 0x55, 0x44, 0x77, 0x66, 0x55, 0x44}));
    upload(other_, std::vector<unsigned char>(kSize));
    ASSERT_EQ(cuMemsetD2D16_v2(other_, kPitch, 0x0102, 3, 4), CUDA_SUCCESS);
    auto expected = std::vector<unsigned char>(kSize);
    for (std::size_t y = 0; y < 4; ++y)
        for (std::size_t x = 0; x < 6; ++x)
            expected[y * kPitch + x] = x % 2 ? 1 : 2;
    EXPECT_EQ(download(other_), expected);
    EXPECT_EQ(cuMemsetD16_v2(other_ + 1, 0, 1), CUDA_ERROR_INVALID_VALUE) << "not aligned";
    EXPECT_EQ(cuMemsetD2D32_v2(other_, 8, 0, 3, 2), CUDA_ERROR_INVALID_VALUE) << "rows that overlap";
    EXPECT_EQ(cuMemsetD2D32_v2(other_, 0, 0, 3, 1), CUDA_SUCCESS) << "one row needs no pitch";
    EXPECT_EQ(cuMemsetD8_v2(address(source_.data()), 0, 8), CUDA_ERROR_INVALID_VALUE) << "pageable memory";
    EXPECT_EQ(cuMemsetD8Async(address(pinned_), 0x5a, 8, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(pinned_[7], 0x5a);
    EXPECT_EQ(pinned_[8], source_[8]);
}

TEST_F(Copies, PitchedMemoryHasRoomForItsRows) {
    CUdeviceptr memory = 0;
    std::size_t pitch = 0, size = 0;
    ASSERT_EQ(cuMemAllocPitch_v2(&memory, &pitch, 1000, 30, 4), CUDA_SUCCESS);
    EXPECT_GE(pitch, 1000u);
    EXPECT_EQ(pitch % 512, 0u);
    EXPECT_EQ(cuMemGetAddressRange_v2(nullptr, &size, memory + 5), CUDA_SUCCESS);
    EXPECT_EQ(size, pitch * 30);
    EXPECT_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocPitch_v2(&memory, &pitch, 1000, 30, 5), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, ManagedMemoryIsPrefetchedInStreamOrder) {
    CUdeviceptr managed = 0;
    ASSERT_EQ(cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    hold();
    const auto calls = simcuda_calls("cuMemPrefetchAsync");
    EXPECT_EQ(cuMemPrefetchAsync(managed, kSize, 0, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPrefetchAsync(managed, kSize, CU_DEVICE_CPU, stream_), CUDA_SUCCESS);
    EXPECT_EQ(simcuda_calls("cuMemPrefetchAsync") - calls, 2u);
    EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY) << "the calls did not wait";
    EXPECT_EQ(cuMemPrefetchAsync(managed, kSize, 5, stream_), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuMemPrefetchAsync(managed, kSize + 1, 0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemPrefetchAsync(device_, kSize, 0, stream_), CUDA_ERROR_INVALID_VALUE) << "device memory stays";
    EXPECT_EQ(cuMemPrefetchAsync(address(source_.data()), 16, 0, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemAdvise(managed, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAdvise(managed, kSize, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 5), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuMemAdvise(managed, kSize, CUmem_advise(7), 0), CUDA_ERROR_INVALID_VALUE);
    release();
    EXPECT_EQ(cuMemFree_v2(managed), CUDA_SUCCESS);
}

}  // namespace
