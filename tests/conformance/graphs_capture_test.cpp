// Graphs from capture: their nodes describe what was captured.
#include <algorithm>
#include <cstring>

#include "graph_fixture.h"

using namespace conformance;

namespace {

class CapturedGraphs : public Graphs {};

TEST_F(CapturedGraphs, ACapturedHostFunctionGivesBackTheUsersPointers) {
    static int data = 0;
    const cudaHostFn_t function = [](void* p) { *static_cast<int*>(p) = 7; };
    capture([&] { EXPECT_EQ(cudaLaunchHostFunc(stream_, function, &data), cudaSuccess); });
    ASSERT_EQ(nodes().size(), 1u);
    EXPECT_EQ(type_of(nodes()[0]), cudaGraphNodeTypeHost);
    cudaHostNodeParams out{};
    CUDA_OK(cudaGraphHostNodeGetParams(nodes()[0], &out));
    EXPECT_EQ(out.fn, function);
    EXPECT_EQ(out.userData, &data);
}

TEST_F(CapturedGraphs, NodesOfACaptureDescribeWhatWasCaptured) {
    capture([&] {
        EXPECT_EQ(cudaMemcpyAsync(device_, host_.data(), kSize, cudaMemcpyHostToDevice, stream_), cudaSuccess);
        launch_empty(stream_);
        EXPECT_EQ(cudaMemsetAsync(other_device_, 5, kSize, stream_), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(other_host_.data(), other_device_, kSize, cudaMemcpyDeviceToHost, stream_),
                  cudaSuccess);
    });
    const auto all = nodes();
    ASSERT_EQ(all.size(), 4u);
    // The order of the list is not documented; the edges are.
    const auto next = [&](cudaGraphNode_t before) {
        return *std::find_if(all.begin(), all.end(), [&](cudaGraphNode_t node) {
            const auto wanted = before ? std::vector<cudaGraphNode_t>{before} : std::vector<cudaGraphNode_t>{};
            return dependencies(node) == wanted;
        });
    };
    const cudaGraphNode_t upload = next(nullptr);
    const cudaGraphNode_t kernel = next(upload);
    const cudaGraphNode_t fill = next(kernel);
    const cudaGraphNode_t download = next(fill);
    EXPECT_EQ(type_of(upload), cudaGraphNodeTypeMemcpy);
    EXPECT_EQ(type_of(kernel), cudaGraphNodeTypeKernel);
    EXPECT_EQ(type_of(fill), cudaGraphNodeTypeMemset);
    EXPECT_EQ(type_of(download), cudaGraphNodeTypeMemcpy);
    std::size_t count = 0;
    CUDA_OK(cudaGraphGetRootNodes(graph_, nullptr, &count));
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(DRIVER(cuGraphGetEdges)(graph_, nullptr, nullptr, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 3u);

    cudaMemcpy3DParms up{}, down{};
    CUDA_OK(cudaGraphMemcpyNodeGetParams(upload, &up));
    EXPECT_EQ(up.srcPtr.ptr, host_.data());
    EXPECT_EQ(up.dstPtr.ptr, device_);
    EXPECT_EQ(up.extent.width * up.extent.height * up.extent.depth, kSize);
    CUDA_OK(cudaGraphMemcpyNodeGetParams(download, &down));
    EXPECT_EQ(down.srcPtr.ptr, other_device_);
    EXPECT_EQ(down.dstPtr.ptr, other_host_.data());
    cudaMemsetParams set{};
    CUDA_OK(cudaGraphMemsetNodeGetParams(fill, &set));
    EXPECT_EQ(set.dst, other_device_);
    EXPECT_EQ(set.elementSize * set.width * set.height, kSize);
    cudaKernelNodeParams launch{};
    CUDA_OK(cudaGraphKernelNodeGetParams(kernel, &launch));
    EXPECT_EQ(launch.gridDim.x, 1u);
    EXPECT_EQ(launch.blockDim.x, 1u);
    instantiate();
    run();
    EXPECT_EQ(first_byte(device_), 1);
    EXPECT_EQ(other_host_[0], 5);
}

// Not documented; measured: H200, driver 580.159.04.
TEST_F(CapturedGraphs, ALaunchInsideACaptureInvalidatesIt) {
    add_upload(host_.data(), device_);
    instantiate();
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    EXPECT_EQ(cudaGraphLaunch(executable_, stream_), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t captured = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(captured, nullptr);
    cudaGetLastError();
    run();
    EXPECT_EQ(first_byte(device_), 1) << "outside it launches as before";
}

TEST_F(CapturedGraphs, CaptureAcrossStreamsKeepsTheDependencies) {
    Stream side;
    cudaEvent_t fork = nullptr, joined = nullptr;
    CUDA_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA_OK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    capture([&] {
        EXPECT_EQ(cudaMemcpyAsync(device_, host_.data(), kSize, cudaMemcpyHostToDevice, stream_), cudaSuccess);
        EXPECT_EQ(cudaEventRecord(fork, stream_), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
        launch_empty(side);
        launch_empty(stream_);
        EXPECT_EQ(cudaEventRecord(joined, side), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(stream_, joined, 0), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(other_host_.data(), device_, kSize, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    });
    ASSERT_EQ(nodes().size(), 4u);
    std::vector<std::size_t> counts;
    for (const cudaGraphNode_t node : nodes())
        counts.push_back(dependencies(node).size());
    std::sort(counts.begin(), counts.end());
    EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 1, 2}));
    CUDA_OK(cudaEventDestroy(fork));
    CUDA_OK(cudaEventDestroy(joined));
}

TEST_F(CapturedGraphs, ACaptureWhoseForkWasNotJoinedIsRefused) {
    Stream side;
    cudaEvent_t fork = nullptr;
    CUDA_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    CUDA_OK(cudaEventRecord(fork, stream_));
    CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
    launch_empty(side);
    cudaGraph_t captured = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureUnjoined);
    EXPECT_EQ(captured, nullptr);
    cudaGetLastError();
    CUDA_OK(cudaEventDestroy(fork));
}

TEST_F(CapturedGraphs, CaptureInfoNamesTheGraphAndWhatComesBefore) {
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    launch_empty(stream_);
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* before = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(DRIVER(cuStreamGetCaptureInfo_v2)(stream_, &status, &id, &graph, &before, &count), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_NE(id, 0u);
    ASSERT_EQ(count, 1u);
    const CUgraphNode kernel = before[0];
    // A node made by hand becomes what the stream goes on from.
    CUgraphNode empty = nullptr;
    EXPECT_EQ(DRIVER(cuGraphAddEmptyNode)(&empty, graph, &kernel, 1), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamUpdateCaptureDependencies)(stream_, &empty, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
              CUDA_SUCCESS);
    EXPECT_EQ(cudaMemcpyAsync(device_, host_.data(), kSize, cudaMemcpyHostToDevice, stream_), cudaSuccess);
    cudaGraph_t captured = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream_, &captured));
    EXPECT_EQ(captured, graph);
    CUDA_OK(cudaGraphDestroy(graph_));
    graph_ = captured;
    const auto all = nodes();
    ASSERT_EQ(all.size(), 3u);
    for (const cudaGraphNode_t node : all)
        if (type_of(node) == cudaGraphNodeTypeMemcpy) {
            EXPECT_EQ(dependencies(node), std::vector<cudaGraphNode_t>{empty});
        }
}

TEST_F(CapturedGraphs, TheThreadsModeAllowsUnsafeCallsDuringACapture) {
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal) << "the default";
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, kSize), cudaSuccess);
    CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    cudaGraph_t captured = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream_, &captured));
    CUDA_OK(cudaGraphDestroy(captured));
    CUDA_OK(cudaFree(memory));
}

// Launches behave as the copy calls do. Measured: H200, driver 580.159.04.
class LaunchOfACopy : public testing::Test {
  protected:
    // A captured copy, launched behind a gate; the host's memory is overwritten after the launch.
    struct Behaviour {
        bool waited = false;
        char arrived = 0;
    };
    static Behaviour launch(Kind kind, std::size_t size, cudaMemcpyKind direction,
                            std::chrono::milliseconds deadline = kDeadline) {
        HostMemory host(kind, size);
        DeviceMemory device(size);
        Stream stream;
        EXPECT_EQ(cudaMemset(device, 7, size), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        const bool up = direction == cudaMemcpyHostToDevice;
        void* const to = up ? static_cast<char*>(device) : host.data();
        const void* const from = up ? host.data() : static_cast<char*>(device);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(to, from, size, direction, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        EXPECT_EQ(cudaGraphInstantiateWithFlags(&executable, graph, 0), cudaSuccess);
        // The first launch may load something.
        EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        std::memset(host.data(), 1, size);
        Behaviour seen;
        {
            Gate gate;
            gate.close_in(stream);
            seen.waited = waits(
                gate,
                [&] {
                    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
                    if (up)
                        std::memset(host.data(), 2, size);
                },
                deadline);
            EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        }
        seen.arrived = up ? first_byte(device) : host[0];
        EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
        EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
        return seen;
    }
};

TEST_F(LaunchOfACopy, FromPageableMemoryIsASnapshotOfTheLaunch) {
    for (const std::size_t size : {4ul << 10, 64ul << 10, 1ul << 20}) {
        const Behaviour seen = launch(Kind::pageable, size, cudaMemcpyHostToDevice);
        EXPECT_FALSE(seen.waited) << size;
        EXPECT_EQ(seen.arrived, 1) << size;
    }
}

TEST_F(LaunchOfACopy, FromPageableMemoryWaitsWhenItIsTooLargeToBeStaged) {
    const Behaviour seen = launch(Kind::pageable, 16 << 20, cudaMemcpyHostToDevice, kSoon);
    EXPECT_TRUE(seen.waited);
    EXPECT_EQ(seen.arrived, 1);
}

TEST_F(LaunchOfACopy, ToPageableMemoryWaitsAtEverySize) {
    for (const std::size_t size : {4ul << 10, 1ul << 20, 16ul << 20}) {
        const Behaviour seen = launch(Kind::pageable, size, cudaMemcpyDeviceToHost, kSoon);
        EXPECT_TRUE(seen.waited) << size;
        EXPECT_EQ(seen.arrived, 7) << size;
    }
}

TEST_F(LaunchOfACopy, OfPinnedMemoryNeverWaitsAndReadsItsSourceWhenItRuns) {
    for (const std::size_t size : {4ul << 10, 1ul << 20, 16ul << 20}) {
        const Behaviour up = launch(Kind::pinned, size, cudaMemcpyHostToDevice);
        EXPECT_FALSE(up.waited) << size;
        EXPECT_EQ(up.arrived, 2) << size;
        const Behaviour down = launch(Kind::pinned, size, cudaMemcpyDeviceToHost);
        EXPECT_FALSE(down.waited) << size;
        EXPECT_EQ(down.arrived, 7) << size;
    }
}

}  // namespace
