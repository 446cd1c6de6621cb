// The stand-in runtime's copies: the driver function that each becomes, and where the bytes go.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "runtime/cudart_symbols.h"
#include "simcuda.h"

// cudaMemcpyToArray and its kind are deprecated, and programs still call them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// nvcc's host code makes these calls for every __device__ variable (crt/host_runtime.h).
extern "C" void** __cudaRegisterFatBinary(void* image);
extern "C" void __cudaRegisterVar(void** image, char* host, char* address, const char* name, int is_extern, size_t size,
                                  int constant, int global);

namespace {

constexpr std::size_t kPitch = 64, kRows = 8, kSlices = 3, kSize = kPitch * kRows * kSlices;

char g_symbol[32];  // the host's shadow of a __device__ variable

class RuntimeCopies : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        static char image[16];
        char name[] = "g_symbol";
        static void** const registered = __cudaRegisterFatBinary(image);
        __cudaRegisterVar(registered, g_symbol, name, name, 0, sizeof g_symbol, 0, 0);
    }
    void SetUp() override {
        host_.resize(kSize);
        std::iota(host_.begin(), host_.end(), 1);
        ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device_), kSize), cudaSuccess);
        ASSERT_EQ(cudaMemcpy(device_, host_.data(), kSize, cudaMemcpyHostToDevice), cudaSuccess);
        ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&other_), kSize), cudaSuccess);
        ASSERT_EQ(cudaMemset(other_, 0, kSize), cudaSuccess);
        const cudaChannelFormatDesc format{8, 8, 8, 8, cudaChannelFormatKindUnsigned};
        ASSERT_EQ(cudaMallocArray(&flat_, &format, kPitch / 4, kRows), cudaSuccess);
        ASSERT_EQ(cudaMalloc3DArray(&box_, &format, {kPitch / 4, kRows, kSlices}, 0), cudaSuccess);
    }
    void TearDown() override {
        EXPECT_EQ(cudaFreeArray(box_), cudaSuccess);
        EXPECT_EQ(cudaFreeArray(flat_), cudaSuccess);
        EXPECT_EQ(cudaFree(other_), cudaSuccess);
        EXPECT_EQ(cudaFree(device_), cudaSuccess);
    }
    static std::vector<unsigned char> download(const void* from, std::size_t size = kSize) {
        std::vector<unsigned char> bytes(size);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(bytes.data(), from, size, cudaMemcpyDeviceToHost), cudaSuccess);
        return bytes;
    }
    static void is_one_call_of(const char* symbol, const std::function<cudaError_t()>& call) {
        const auto before = simcuda_calls(symbol);
        EXPECT_EQ(call(), cudaSuccess) << symbol;
        EXPECT_EQ(simcuda_calls(symbol) - before, 1u) << symbol;
    }

    std::vector<unsigned char> host_;
    char* device_ = nullptr;  // the host's bytes
    char* other_ = nullptr;   // zeros
    cudaArray_t flat_ = nullptr, box_ = nullptr;
};

TEST_F(RuntimeCopies, EachGoesToItsDriverFunction) {
    unsigned char* host = host_.data();
    cudaMemcpy3DParms p{};
    p.srcPtr = {host, kPitch, kPitch, kRows};
    p.dstPtr = {other_, kPitch, kPitch, kRows};
    p.extent = {kPitch, kRows, kSlices};
    p.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3DPeerParms between{};
    between.srcPtr = {device_, kPitch, kPitch, kRows};
    between.dstPtr = p.dstPtr;
    between.extent = p.extent;
    constexpr auto up = cudaMemcpyHostToDevice;
    is_one_call_of("cuMemcpy2DUnaligned_v2", [&] { return cudaMemcpy2D(other_, kPitch, host, kPitch, 9, 2, up); });
    is_one_call_of("cuMemcpy2DAsync_v2", [&] { return cudaMemcpy2DAsync(other_, kPitch, host, kPitch, 9, 2, up, 0); });
    is_one_call_of("cuMemcpy2DUnaligned_v2", [&] { return cudaMemcpy2DToArray(flat_, 4, 1, host, kPitch, 8, 2, up); });
    is_one_call_of("cuMemcpy2DAsync_v2",
                   [&] { return cudaMemcpy2DToArrayAsync(flat_, 4, 1, host, kPitch, 8, 2, up, 0); });
    is_one_call_of("cuMemcpy3D_v2", [&] { return cudaMemcpy3D(&p); });
    is_one_call_of("cuMemcpy3DAsync_v2", [&] { return cudaMemcpy3DAsync(&p, 0); });
    is_one_call_of("cuMemcpy3DPeer", [&] { return cudaMemcpy3DPeer(&between); });
    is_one_call_of("cuMemcpy3DPeerAsync", [&] { return cudaMemcpy3DPeerAsync(&between, 0); });
    is_one_call_of("cuMemcpyPeer", [&] { return cudaMemcpyPeer(other_, 0, device_, 0, 16); });
    is_one_call_of("cuMemcpyPeerAsync", [&] { return cudaMemcpyPeerAsync(other_, 0, device_, 0, 16, 0); });
    is_one_call_of("cuMemcpyHtoD_v2", [&] { return cudaMemcpyToSymbol(g_symbol, host, 16, 8, up); });
    is_one_call_of("cuMemcpyHtoDAsync_v2", [&] { return cudaMemcpyToSymbolAsync(g_symbol, host, 16, 8, up, 0); });
    is_one_call_of("cuMemcpyDtoH_v2",
                   [&] { return cudaMemcpyFromSymbol(host, g_symbol, 16, 8, cudaMemcpyDeviceToHost); });
    is_one_call_of("cuMemcpyDtoHAsync_v2",
                   [&] { return cudaMemcpyFromSymbolAsync(host, g_symbol, 16, 8, cudaMemcpyDeviceToHost, 0); });
    is_one_call_of("cuMemsetD8_v2", [&] { return cudaMemset(other_, 1, 16); });
    is_one_call_of("cuMemsetD8Async", [&] { return cudaMemsetAsync(other_, 1, 16, 0); });
    is_one_call_of("cuMemsetD2D8_v2", [&] { return cudaMemset2D(other_, kPitch, 1, 16, 3); });
    is_one_call_of("cuMemsetD2D8Async", [&] { return cudaMemset2DAsync(other_, kPitch, 1, 16, 3, 0); });
    is_one_call_of("cuMemsetD2D8_v2", [&] { return cudaMemset3D(p.dstPtr, 1, p.extent); });
    is_one_call_of("cuMemsetD2D8Async", [&] { return cudaMemset3DAsync(p.dstPtr, 1, p.extent, 0); });
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(RuntimeCopies, TwinsGoToTheDriversTwins) {
    const unsigned char* host = host_.data();
    is_one_call_of("cuMemcpy2DAsync_v2_ptsz", [&] {
        return cudaMemcpy2DAsync_ptsz(other_, kPitch, host, kPitch, 9, 2, cudaMemcpyHostToDevice, nullptr);
    });
    is_one_call_of("cuMemcpy2DUnaligned_v2_ptds",
                   [&] { return cudaMemcpy2D_ptds(other_, kPitch, host, kPitch, 9, 2, cudaMemcpyHostToDevice); });
    is_one_call_of("cuMemsetD2D8Async_ptsz", [&] { return cudaMemset2DAsync_ptsz(other_, kPitch, 1, 9, 2, nullptr); });
}

TEST_F(RuntimeCopies, RectanglesCheckTheirPitch) {
    EXPECT_EQ(cudaMemcpy2D(other_, 8, host_.data(), kPitch, 9, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemcpy2D(other_, kPitch, host_.data(), 8, 9, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemcpy2D(other_, kPitch, host_.data(), kPitch, 9, 2, static_cast<cudaMemcpyKind>(7)),
              cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(cudaMemcpy2D(host_.data(), kPitch, other_, kPitch, 9, 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue)
        << "a pageable destination is no device memory";
    cudaGetLastError();
}

TEST_F(RuntimeCopies, ArraysTakeRowsThatRunOn) {
    std::vector<unsigned char> back(kPitch * kRows);
    // Begins and ends within a row, with whole rows between.
    ASSERT_EQ(cudaMemcpyToArray(flat_, 8, 1, host_.data(), 200, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), kPitch, flat_, 0, 0, kPitch, kRows, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(std::memcmp(&back[kPitch + 8], host_.data(), 200), 0);
    EXPECT_EQ(back[kPitch + 7], 0);
    EXPECT_EQ(back[kPitch + 208], 0);
    std::vector<unsigned char> run(200);
    ASSERT_EQ(cudaMemcpyFromArray(run.data(), flat_, 8, 1, 200, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(std::memcmp(run.data(), host_.data(), 200), 0);
    ASSERT_EQ(cudaMemcpyArrayToArray(flat_, 0, 6, flat_, 8, 1, 100, cudaMemcpyDeviceToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpyFromArrayAsync(run.data(), flat_, 0, 6, 100, cudaMemcpyDeviceToHost, nullptr), cudaSuccess);
    EXPECT_EQ(std::memcmp(run.data(), host_.data(), 100), 0);
    EXPECT_EQ(cudaMemcpyToArray(flat_, 0, 7, host_.data(), kPitch + 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue)
        << "beyond the last row";
    EXPECT_EQ(cudaMemcpyToArray(flat_, 0, 0, host_.data(), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();
}

TEST_F(RuntimeCopies, BoxesCountInElementsOfTheArray) {
    cudaMemcpy3DParms p{};
    p.srcPtr = {host_.data(), kPitch, kPitch, kRows};
    p.srcPos = {3, 1, 1};  // elements of the array beside it
    p.dstArray = box_;
    p.dstPos = {2, 3, 0};
    p.extent = {5, 4, 2};
    p.kind = cudaMemcpyHostToDevice;
    ASSERT_EQ(cudaMemcpy3D(&p), cudaSuccess);
    std::vector<unsigned char> back(kSize);
    cudaMemcpy3DParms q{};
    q.srcArray = box_;
    q.dstPtr = {back.data(), kPitch, kPitch, kRows};
    q.extent = {kPitch / 4, kRows, kSlices};
    q.kind = cudaMemcpyHostToHost;  // silently corrected: an array is on the device
    ASSERT_EQ(cudaMemcpy3D(&q), cudaSuccess);
    std::vector<unsigned char> expected(kSize);
    for (std::size_t z = 0; z < 2; ++z)
        for (std::size_t y = 0; y < 4; ++y)
            std::memcpy(&expected[(z * kRows + y + 3) * kPitch + 8], &host_[((z + 1) * kRows + y + 1) * kPitch + 12],
                        20);
    EXPECT_EQ(back, expected);
    p.dstPtr = {other_, kPitch, kPitch, kRows};
    EXPECT_EQ(cudaMemcpy3D(&p), cudaErrorInvalidValue) << "two destinations";
    p.dstArray = nullptr;
    p.dstPtr.ptr = nullptr;
    EXPECT_EQ(cudaMemcpy3D(&p), cudaErrorInvalidValue) << "none";
    cudaGetLastError();
}

TEST_F(RuntimeCopies, MemsetsFillBoxes) {
    cudaPitchedPtr memory{};
    ASSERT_EQ(cudaMalloc3D(&memory, {40, kRows, kSlices}), cudaSuccess);
    EXPECT_EQ(memory.xsize, 40u);
    EXPECT_EQ(memory.ysize, kRows);
    const std::size_t size = memory.pitch * kRows * kSlices;
    ASSERT_EQ(cudaMemset(memory.ptr, 1, size), cudaSuccess);
    ASSERT_EQ(cudaMemset3D(memory, 7, {30, 3, 2}), cudaSuccess);
    const auto bytes = download(memory.ptr, size);
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t x = i % memory.pitch, y = i / memory.pitch % kRows, z = i / memory.pitch / kRows;
        ASSERT_EQ(bytes[i], x < 30 && y < 3 && z < 2 ? 7 : 1) << x << ' ' << y << ' ' << z;
    }
    EXPECT_EQ(cudaFree(memory.ptr), cudaSuccess);
}

TEST_F(RuntimeCopies, SymbolsHaveASizeAndAnEnd) {
    std::size_t size = 0;
    void* address = nullptr;
    EXPECT_EQ(cudaGetSymbolSize(&size, g_symbol), cudaSuccess);
    EXPECT_EQ(size, sizeof g_symbol);
    EXPECT_EQ(cudaGetSymbolAddress(&address, g_symbol), cudaSuccess);
    ASSERT_EQ(cudaMemcpyToSymbol(g_symbol, host_.data(), 16, 8, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(download(address, 9)[8], host_[0]);
    EXPECT_EQ(cudaMemcpyToSymbol(g_symbol, host_.data(), 25, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpyToSymbol(host_.data(), host_.data(), 1, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
    cudaGetLastError();
}

TEST_F(RuntimeCopies, ArraysDescribeThemselves) {
    cudaChannelFormatDesc format{};
    cudaExtent extent{};
    unsigned flags = 7;
    EXPECT_EQ(cudaArrayGetInfo(&format, &extent, &flags, box_), cudaSuccess);
    EXPECT_EQ(format.x, 8);
    EXPECT_EQ(format.w, 8);
    EXPECT_EQ(format.f, cudaChannelFormatKindUnsigned);
    EXPECT_EQ(extent.width, kPitch / 4);
    EXPECT_EQ(extent.depth, kSlices);
    EXPECT_EQ(flags, 0u);
    const cudaChannelFormatDesc wrong{8, 16, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t none = nullptr;
    EXPECT_EQ(cudaMallocArray(&none, &wrong, 8, 8, 0), cudaErrorInvalidChannelDescriptor);
    EXPECT_EQ(cudaFreeArray(nullptr), cudaSuccess);
    cudaGetLastError();
}

TEST_F(RuntimeCopies, PeersNeedAnotherDevice) {
    int can = 7;
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
    EXPECT_EQ(can, 0);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    EXPECT_EQ(cudaMemcpyPeer(other_, 3, device_, 0, 16), cudaErrorInvalidDevice);
    cudaGetLastError();
}

#if CUDART_VERSION >= 13000
TEST_F(RuntimeCopies, BatchesGoToTheDriversNewestFunctions) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    void* to[] = {other_, other_ + 100};
    const void* from[] = {host_.data(), device_ + 100};
    const std::size_t sizes[] = {100, 100};
    std::size_t first = 0;
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    is_one_call_of("cuMemcpyBatchAsync_v2",
                   [&] { return cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream); });
    EXPECT_EQ(download(other_, 200), std::vector<unsigned char>(host_.begin(), host_.begin() + 200));

    cudaMemcpy3DBatchOp operation{};
    operation.src.type = operation.dst.type = cudaMemcpyOperandTypePointer;
    operation.src.op.ptr = {device_, kPitch, kRows, {}};
    operation.dst.op.ptr = {other_, kPitch, kRows, {}};
    operation.extent = {kPitch, kRows, kSlices};
    operation.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    is_one_call_of("cuMemcpy3DBatchAsync_v2", [&] { return cudaMemcpy3DBatchAsync(1, &operation, 0, stream); });
    EXPECT_EQ(download(other_), host_);

    void* managed = nullptr;
    ASSERT_EQ(cudaMallocManaged(&managed, kSize, cudaMemAttachGlobal), cudaSuccess);
    cudaMemLocation device{cudaMemLocationTypeDevice, 0};
    std::size_t size = kSize;
    is_one_call_of("cuMemPrefetchAsync_v2", [&] { return cudaMemPrefetchAsync(managed, kSize, device, 0, stream); });
    is_one_call_of("cuMemAdvise_v2",
                   [&] { return cudaMemAdvise(managed, kSize, cudaMemAdviseSetPreferredLocation, device); });
    is_one_call_of("cuMemPrefetchBatchAsync",
                   [&] { return cudaMemPrefetchBatchAsync(&managed, &size, 1, &device, &first, 1, 0, stream); });
    is_one_call_of("cuMemDiscardBatchAsync", [&] { return cudaMemDiscardBatchAsync(&managed, &size, 1, 0, stream); });
    is_one_call_of("cuMemDiscardAndPrefetchBatchAsync", [&] {
        return cudaMemDiscardAndPrefetchBatchAsync(&managed, &size, 1, &device, &first, 1, 0, stream);
    });
    EXPECT_EQ(cudaFree(managed), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}
#endif

}  // namespace
