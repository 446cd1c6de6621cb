// Capture: nothing runs, and a graph reads its host memory when it runs.
#include <cstring>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

constexpr std::size_t kSize = 4096;

char first_byte(const char* device) {
    char byte = 0;
    EXPECT_EQ(cudaMemcpy(&byte, device, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    return byte;
}

class CapturedUpload : public testing::TestWithParam<Kind> {};

TEST_P(CapturedUpload, ReadsItsSourceAtEveryLaunch) {
    HostMemory host(GetParam(), kSize);
    DeviceMemory device(kSize);
    Stream stream;
    CUDA_OK(cudaMemset(device, 9, kSize));
    CUDA_OK(cudaDeviceSynchronize());
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    cudaStreamCaptureStatus status{};
    CUDA_OK(cudaStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    CUDA_OK(cudaMemcpyAsync(device, host.data(), kSize, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(first_byte(device), 9) << "captured, not executed";

    CUDA_OK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (char value = 3; value < 5; ++value) {
        std::memset(host.data(), value, kSize);
        CUDA_OK(cudaGraphLaunch(executable, stream));
        CUDA_OK(cudaStreamSynchronize(stream));
        EXPECT_EQ(first_byte(device), value);
    }
    CUDA_OK(cudaGraphExecDestroy(executable));
    CUDA_OK(cudaGraphDestroy(graph));
}
INSTANTIATE_TEST_SUITE_P(Kinds, CapturedUpload, testing::Values(Kind::pageable, Kind::pinned));

TEST(Capture, OfTheLegacyStreamIsRefused) {
    EXPECT_EQ(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
}

TEST(Capture, IsInvalidatedByWaitingForItsStream) {
    Stream stream;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    cudaGetLastError();
}

TEST(Capture, OfABlockingStreamForbidsTheLegacyStream) {
    cudaStream_t stream = nullptr;
    CUDA_OK(cudaStreamCreate(&stream));
    DeviceMemory device(kSize);
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_EQ(cudaMemsetAsync(device, 0, kSize, cudaStreamLegacy), cudaErrorStreamCaptureImplicit);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
    CUDA_OK(cudaStreamDestroy(stream));
}

TEST(Capture, UnderGlobalModeForbidsAllocation) {
    Stream stream;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, kSize), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}

// Measured: H200, driver 580.159.04. Outside a capture the single call refuses unknown memory too.
TEST(Capture, AllowsPointerQueries) {
    HostMemory pageable(Kind::pageable, kSize), pinned(Kind::pinned, kSize);
    Stream stream;
    const auto one = [](const HostMemory& memory) {
        unsigned type = 0;
        return DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                             reinterpret_cast<CUdeviceptr>(memory.data()));
    };
    const auto many = [](const HostMemory& memory) {
        unsigned type = 0;
        void* where = &type;
        CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        return DRIVER(cuPointerGetAttributes)(1, &which, &where, reinterpret_cast<CUdeviceptr>(memory.data()));
    };
    const CUresult usual = one(pageable);
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_EQ(one(pageable), usual);
    EXPECT_EQ(one(pinned), CUDA_SUCCESS);
    EXPECT_EQ(many(pageable), CUDA_SUCCESS);
    EXPECT_EQ(many(pinned), CUDA_SUCCESS);
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphDestroy(graph));
}

}  // namespace
