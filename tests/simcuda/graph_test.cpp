// The stand-in's graphs where a device gives no answer, or an unknown one: entry points of older versions, memory that
// is gone, queue slots, kernel arguments. What real devices do is checked by tests/conformance.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "driver/cuda_symbols.h"
#include "simcuda.h"
#include "stream_gate.h"

namespace {

constexpr std::size_t kSize = 4096;

class Graph : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
        CUcontext context = nullptr;
        ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    }
    void SetUp() override {
        ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuMemAlloc_v2(&device_, kSize), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(cuModuleLoadData(&module_, "image"), CUDA_SUCCESS);
    }
    void TearDown() override {
        if (executable_) {
            EXPECT_EQ(cuGraphExecDestroy(executable_), CUDA_SUCCESS);
        }
        EXPECT_EQ(cuGraphDestroy(graph_), CUDA_SUCCESS);
        EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree_v2(device_), CUDA_SUCCESS);
    }
    CUDA_MEMCPY3D upload(const void* from) const {
        CUDA_MEMCPY3D copy{};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = from;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = device_;
        copy.WidthInBytes = kSize;
        copy.Height = copy.Depth = 1;
        return copy;
    }
    CUgraphNode add_upload(const void* from) {
        const CUDA_MEMCPY3D copy = upload(from);
        CUgraphNode node = nullptr;
        EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr), CUDA_SUCCESS);
        return node;
    }
    void instantiate() { ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, graph_, 0), CUDA_SUCCESS); }
    char run() {
        EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_SUCCESS);
        EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
        char byte = 0;
        EXPECT_EQ(cuMemcpyDtoH_v2(&byte, device_, 1), CUDA_SUCCESS);
        return byte;
    }

    CUgraph graph_ = nullptr;
    CUgraphExec executable_ = nullptr;
    CUdeviceptr device_ = 0;
    CUstream stream_ = nullptr;
    CUmodule module_ = nullptr;
};

TEST_F(Graph, ASourceThatWasFreedIsSurvived) {
    void* pinned = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&pinned, 4 << 20, 0), CUDA_SUCCESS);
    std::memset(pinned, 3, kSize);
    add_upload(pinned);
    instantiate();
    EXPECT_EQ(run(), 3);
    ASSERT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
    EXPECT_EQ(run(), 3) << "nothing was copied";
}

TEST_F(Graph, CountsCopiesWhenLaunchesMakeThem) {
    std::vector<char> host(kSize);
    SimcudaCounters before{}, after{};
    simcuda_counters(&before);
    add_upload(host.data());
    simcuda_counters(&after);
    EXPECT_EQ(after.h2d - before.h2d, 0u);
    instantiate();
    run();
    run();
    simcuda_counters(&after);
    EXPECT_EQ(after.h2d - before.h2d, 2u);
    EXPECT_EQ(after.bytes_h2d - before.bytes_h2d, 2 * kSize);
}

TEST_F(Graph, RefusesParametersThatNoCopyHas) {
    std::vector<char> host(kSize);
    CUgraphNode node = nullptr;
    const auto add = [&](const CUDA_MEMCPY3D& copy) {
        return cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, nullptr);
    };
    CUDA_MEMCPY3D copy = upload(host.data());
    copy.WidthInBytes = 0;
    EXPECT_EQ(add(copy), CUDA_ERROR_INVALID_VALUE);
    copy = upload(host.data());
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(host.data());
    EXPECT_EQ(add(copy), CUDA_ERROR_INVALID_VALUE) << "pageable memory is not the device's";
    copy = upload(host.data());
    copy.Height = 2;
    copy.srcPitch = kSize / 2;
    copy.dstPitch = kSize;
    EXPECT_EQ(add(copy), CUDA_ERROR_INVALID_VALUE) << "rows overlap";
    CUgraphNode foreign = nullptr;
    CUgraph other = nullptr;
    ASSERT_EQ(cuGraphCreate(&other, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddEmptyNode(&foreign, other, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuGraphDestroy(other), CUDA_SUCCESS);
}

// The first version of the parameters has neither a kernel handle nor a context.
TEST_F(Graph, KernelNodesOfTheFirstVersionKeepTheirArguments) {
    CUfunction sum = nullptr;
    ASSERT_EQ(cuModuleGetFunction(&sum, module_, "simcuda_test_sum"), CUDA_SUCCESS);
    std::vector<unsigned char> numbers(100, 2);
    const unsigned char* from = numbers.data();
    int count = 100;
    CUdeviceptr result = device_;
    void* arguments[] = {&from, &count, &result};
    CUDA_KERNEL_NODE_PARAMS_v1 params{};
    params.func = sum;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    count = 1;  // the node has its own copy
    CUDA_KERNEL_NODE_PARAMS_v2 seen{};
    ASSERT_EQ(cuGraphKernelNodeGetParams_v2(node, &seen), CUDA_SUCCESS);
    EXPECT_EQ(seen.func, sum);
    ASSERT_NE(seen.kernelParams, nullptr);
    EXPECT_EQ(*static_cast<int*>(seen.kernelParams[1]), 100);
    instantiate();
    EXPECT_EQ(run(), static_cast<char>(200));
    params.kernelParams = arguments;
    ASSERT_EQ(cuGraphExecKernelNodeSetParams(executable_, node, &params), CUDA_SUCCESS);
    EXPECT_EQ(run(), 2);
}

TEST_F(Graph, GenericNodesBehaveAsTheirTypesOwn) {
    std::vector<char> host(kSize, 4), other(kSize, 5);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    params.memcpy.copyParams = upload(host.data());
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphAddNode(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    CUDA_MEMCPY3D seen{};
    ASSERT_EQ(cuGraphMemcpyNodeGetParams(node, &seen), CUDA_SUCCESS);
    EXPECT_EQ(seen.srcHost, host.data());
    instantiate();
    EXPECT_EQ(run(), 4);
    params.memcpy.copyParams = upload(other.data());
    ASSERT_EQ(cuGraphExecNodeSetParams(executable_, node, &params), CUDA_SUCCESS);
    EXPECT_EQ(run(), 5);
    params.type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_EQ(cuGraphExecNodeSetParams(executable_, node, &params), CUDA_ERROR_INVALID_VALUE) << "another type";
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    EXPECT_EQ(cuGraphAddNode(&node, graph_, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Graph, InstantiatingWithParametersNamesTheNodeOfACycle) {
    CUgraphNode nodes[2] = {};
    ASSERT_EQ(cuGraphAddEmptyNode(&nodes[0], graph_, nullptr, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddEmptyNode(&nodes[1], graph_, nodes, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddDependencies(graph_, &nodes[1], &nodes[0], 1), CUDA_SUCCESS);
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    EXPECT_EQ(cuGraphInstantiateWithParams(&executable_, graph_, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    EXPECT_TRUE(params.hErrNode_out == nodes[0] || params.hErrNode_out == nodes[1]);
    ASSERT_EQ(cuGraphRemoveDependencies(graph_, &nodes[1], &nodes[0], 1), CUDA_SUCCESS);
    params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    params.hUploadStream = stream_;
    EXPECT_EQ(cuGraphInstantiateWithParams(&executable_, graph_, &params), CUDA_SUCCESS);
    cuuint64_t flags = 0;
    EXPECT_EQ(cuGraphExecGetFlags(executable_, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, cuuint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY});
}

TEST_F(Graph, ALaunchOfManyNodesTakesOneSlot) {
    void* pinned = nullptr;  // staging memory would not do for so many
    ASSERT_EQ(cuMemHostAlloc(&pinned, kSize, 0), CUDA_SUCCESS);
    for (int i = 0; i < 1500; ++i)
        add_upload(pinned);
    instantiate();
    StreamGate gate;
    ASSERT_EQ(gate.close(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_SUCCESS) << "returns behind a held stream";
    gate.open();
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(Graph, ALaunchInACaptureIsRefused) {
    std::vector<char> host(kSize, 6);
    add_upload(host.data());
    instantiate();
    for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        ASSERT_EQ(cuStreamBeginCapture_v2(stream_, mode), CUDA_SUCCESS);
        EXPECT_EQ(cuGraphLaunch(executable_, stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CUgraph captured = nullptr;
        EXPECT_EQ(cuStreamEndCapture(stream_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(captured, nullptr);
    }
    EXPECT_EQ(run(), 6) << "the executable graph is as it was";
}

TEST_F(Graph, CapturedStreamOrderedMemoryBecomesNodes) {
    ASSERT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    ASSERT_EQ(cuMemAllocAsync(&memory, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(memory, 5, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoDAsync_v2(device_, memory, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFreeAsync(memory, stream_), CUDA_SUCCESS);
    CUgraph captured = nullptr;
    ASSERT_EQ(cuStreamEndCapture(stream_, &captured), CUDA_SUCCESS);
    CUgraphNode nodes[4] = {};
    std::size_t count = 4;
    ASSERT_EQ(cuGraphGetNodes(captured, nodes, &count), CUDA_SUCCESS);
    ASSERT_EQ(count, 4u);
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
    EXPECT_EQ(cuGraphMemAllocNodeGetParams(nodes[0], &alloc), CUDA_SUCCESS);
    EXPECT_EQ(alloc.dptr, memory);
    EXPECT_EQ(alloc.bytesize, kSize);
    CUdeviceptr freed = 0;
    EXPECT_EQ(cuGraphMemFreeNodeGetParams(nodes[3], &freed), CUDA_SUCCESS);
    EXPECT_EQ(freed, memory);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, captured, 0), CUDA_SUCCESS);
    EXPECT_EQ(run(), 5);
    EXPECT_EQ(run(), 5) << "again";
    EXPECT_EQ(cuGraphDestroy(captured), CUDA_SUCCESS);
}

}  // namespace
