// Explicit graphs and changes to executable graphs.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "graph_fixture.h"

using namespace conformance;

namespace {

TEST_F(Graphs, AMemcpyNodeReadsItsSourceAtEveryLaunch) {
    add_upload(host_.data(), device_);
    instantiate();
    for (char value = 3; value < 6; ++value) {
        std::memset(host_.data(), value, kSize);
        run();
        EXPECT_EQ(first_byte(device_), value);
    }
}

TEST_F(Graphs, ALaunchReadsItsSourceWhenTheDeviceGetsThere) {
    add_upload(host_.data(), device_);
    instantiate();
    Gate gate;
    gate.close_in(stream_);
    std::memset(host_.data(), 3, kSize);
    CUDA_OK(cudaGraphLaunch(executable_, stream_));
    std::memset(host_.data(), 4, kSize);
    gate.open();
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(first_byte(device_), 4);
}

TEST_F(Graphs, ALaunchDoesNotWaitForItsStream) {
    add_upload(host_.data(), device_);
    instantiate();
    run();
    Gate gate;
    gate.close_in(stream_);
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaGraphLaunch(executable_, stream_), cudaSuccess); }));
}

TEST_F(Graphs, ANodesNewParametersDoNotReachAnExistingExecutable) {
    const cudaGraphNode_t node = add_upload(host_.data(), device_);
    instantiate();
    std::memset(host_.data(), 3, kSize);
    std::memset(other_host_.data(), 4, kSize);
    CUDA_OK(cudaGraphMemcpyNodeSetParams1D(node, device_, other_host_.data(), kSize, cudaMemcpyHostToDevice));
    run();
    EXPECT_EQ(first_byte(device_), 3);
    cudaMemcpy3DParms now{};
    CUDA_OK(cudaGraphMemcpyNodeGetParams(node, &now));
    EXPECT_EQ(now.srcPtr.ptr, other_host_.data());
}

TEST_F(Graphs, AnExecutablesNewParametersChangeLaterLaunchesOnly) {
    const cudaGraphNode_t node = add_upload(host_.data(), device_);
    instantiate();
    std::memset(host_.data(), 3, kSize);
    std::memset(other_host_.data(), 4, kSize);
    Gate gate;
    gate.close_in(stream_);
    CUDA_OK(cudaGraphLaunch(executable_, stream_));
    CUDA_OK(cudaGraphExecMemcpyNodeSetParams1D(executable_, node, device_, other_host_.data(), kSize,
                                               cudaMemcpyHostToDevice));
    gate.open();
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(first_byte(device_), 3) << "a launch that was already issued";
    run();
    EXPECT_EQ(first_byte(device_), 4);
    cudaMemcpy3DParms of_node{};
    CUDA_OK(cudaGraphMemcpyNodeGetParams(node, &of_node));
    EXPECT_EQ(of_node.srcPtr.ptr, host_.data()) << "the graph's own node stays as it is";
}

TEST_F(Graphs, UpdatingFromAnotherGraphChangesLaterLaunches) {
    capture([&] { cudaMemcpyAsync(device_, host_.data(), kSize, cudaMemcpyHostToDevice, stream_); });
    instantiate();
    capture([&] { cudaMemcpyAsync(device_, other_host_.data(), kSize, cudaMemcpyHostToDevice, stream_); });
    std::memset(host_.data(), 3, kSize);
    std::memset(other_host_.data(), 4, kSize);
    run();
    EXPECT_EQ(first_byte(device_), 3);
    cudaGraphExecUpdateResultInfo info{};
    CUDA_OK(cudaGraphExecUpdate(executable_, graph_, &info));
    EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
    run();
    EXPECT_EQ(first_byte(device_), 4);
}

TEST_F(Graphs, UpdatingFromAGraphOfAnotherShapeFails) {
    add_upload(host_.data(), device_);
    instantiate();
    add_upload(other_host_.data(), other_device_);
    cudaGraphExecUpdateResultInfo info{};
    EXPECT_EQ(cudaGraphExecUpdate(executable_, graph_, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    cudaGetLastError();
}

// The first form of the function, which programs built before CUDA 12 call.
TEST_F(Graphs, UpdatingByTheOldEntryPoint) {
    const cudaGraphNode_t node = add_upload(host_.data(), device_);
    instantiate();
    std::memset(other_host_.data(), 4, kSize);
    CUDA_OK(cudaGraphMemcpyNodeSetParams1D(node, device_, other_host_.data(), kSize, cudaMemcpyHostToDevice));
    CUgraphNode offender = nullptr;
    CUgraphExecUpdateResult result{};
    EXPECT_EQ(DRIVER(cuGraphExecUpdate)(executable_, graph_, &offender, &result), CUDA_SUCCESS);
    EXPECT_EQ(result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    run();
    EXPECT_EQ(first_byte(device_), 4);
}

// One copy feeds the next one, added against the order of execution.
TEST_F(Graphs, DependenciesOrderNodesWhateverTheOrderOfAddition) {
    std::memset(host_.data(), 3, kSize);
    cudaGraphNode_t second = nullptr;
    CUDA_OK(
        cudaGraphAddMemcpyNode1D(&second, graph_, nullptr, 0, other_device_, device_, kSize, cudaMemcpyDeviceToDevice));
    const cudaGraphNode_t first = add_upload(host_.data(), device_);
    ASSERT_EQ(DRIVER(cuGraphAddDependencies)(graph_, &first, &second, 1), CUDA_SUCCESS);
    EXPECT_EQ(dependencies(second), std::vector<cudaGraphNode_t>{first});
    instantiate();
    run();
    EXPECT_EQ(first_byte(other_device_), 3);
    EXPECT_NE(DRIVER(cuGraphAddDependencies)(graph_, &first, &second, 1), CUDA_SUCCESS) << "it exists already";
    EXPECT_EQ(DRIVER(cuGraphRemoveDependencies)(graph_, &first, &second, 1), CUDA_SUCCESS);
    EXPECT_TRUE(dependencies(second).empty());
}

TEST_F(Graphs, ACycleCannotBeInstantiated) {
    const cudaGraphNode_t first = add_upload(host_.data(), device_);
    const cudaGraphNode_t second = add_upload(other_host_.data(), other_device_, {first});
    if (DRIVER(cuGraphAddDependencies)(graph_, &second, &first, 1) == CUDA_SUCCESS) {
        EXPECT_NE(cudaGraphInstantiateWithFlags(&executable_, graph_, 0), cudaSuccess);
    }
    executable_ = nullptr;
    cudaGetLastError();
}

TEST_F(Graphs, HostNodesGiveBackTheUsersPointers) {
    static std::atomic<int> calls{0};
    calls = 0;
    const cudaHostFn_t function = [](void* data) { *static_cast<std::atomic<int>*>(data) += 1; };
    const cudaHostNodeParams params{function, &calls};
    cudaGraphNode_t node = nullptr;
    CUDA_OK(cudaGraphAddHostNode(&node, graph_, nullptr, 0, &params));
    cudaHostNodeParams out{};
    CUDA_OK(cudaGraphHostNodeGetParams(node, &out));
    EXPECT_EQ(out.fn, function);
    EXPECT_EQ(out.userData, &calls);
    instantiate();
    run();
    EXPECT_EQ(calls, 1);
    static std::atomic<int> other_calls{0};
    other_calls = 0;
    const cudaHostNodeParams other{function, &other_calls};
    CUDA_OK(cudaGraphExecHostNodeSetParams(executable_, node, &other));
    run();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(other_calls, 1);
}

TEST_F(Graphs, NodesFromTheDriversFunctionGiveBackTheirParameters) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host_.data();
    copy.srcPitch = 128;
    copy.srcHeight = 8;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(static_cast<char*>(device_));
    copy.dstPitch = 256;
    copy.dstHeight = 4;
    copy.WidthInBytes = 100;
    copy.Height = 4;
    copy.Depth = 3;
    CUcontext context = nullptr;
    ASSERT_EQ(DRIVER(cuCtxGetCurrent)(&context), CUDA_SUCCESS);
    CUgraphNode node = nullptr;
    ASSERT_EQ(DRIVER(cuGraphAddMemcpyNode)(&node, graph_, nullptr, 0, &copy, context), CUDA_SUCCESS);
    CUDA_MEMCPY3D out{};
    ASSERT_EQ(DRIVER(cuGraphMemcpyNodeGetParams)(node, &out), CUDA_SUCCESS);
    EXPECT_EQ(out.srcHost, copy.srcHost);
    EXPECT_EQ(out.srcPitch, copy.srcPitch);
    EXPECT_EQ(out.srcHeight, copy.srcHeight);
    EXPECT_EQ(out.dstDevice, copy.dstDevice);
    EXPECT_EQ(out.dstPitch, copy.dstPitch);
    EXPECT_EQ(out.WidthInBytes, 100u);
    EXPECT_EQ(out.Height, 4u);
    EXPECT_EQ(out.Depth, 3u);
    for (std::size_t i = 0; i < kSize; ++i)
        host_[i] = static_cast<char>(i / 128 + 1);  // every source row has its number
    instantiate();
    run();
    std::vector<char> seen(kSize);
    CUDA_OK(cudaMemcpy(seen.data(), device_, kSize, cudaMemcpyDeviceToHost));
    EXPECT_EQ(seen[0], 1);
    EXPECT_EQ(seen[99], 1);
    EXPECT_EQ(seen[100], 9) << "beside the row";
    EXPECT_EQ(seen[256], 2);
    EXPECT_EQ(seen[4 * 256], 9) << "the second slice begins at source row 8";
}

TEST_F(Graphs, ChildGraphsAreCopiesAndRunInPlace) {
    const cudaGraphNode_t inner = add_upload(host_.data(), device_);
    cudaGraph_t outer = nullptr;
    CUDA_OK(cudaGraphCreate(&outer, 0));
    cudaGraphNode_t child = nullptr, after = nullptr;
    CUDA_OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph_));
    CUDA_OK(
        cudaGraphAddMemcpyNode1D(&after, outer, &child, 1, other_device_, device_, kSize, cudaMemcpyDeviceToDevice));
    cudaGraph_t embedded = nullptr;
    CUDA_OK(cudaGraphChildGraphNodeGetGraph(child, &embedded));
    EXPECT_NE(embedded, graph_);
    std::size_t count = 0;
    CUDA_OK(cudaGraphGetNodes(embedded, nullptr, &count));
    EXPECT_EQ(count, 1u);
    // What happens to the original afterwards does not reach the copy.
    CUDA_OK(cudaGraphMemcpyNodeSetParams1D(inner, device_, other_host_.data(), kSize, cudaMemcpyHostToDevice));
    std::memset(host_.data(), 3, kSize);
    std::memset(other_host_.data(), 4, kSize);
    CUDA_OK(cudaGraphInstantiateWithFlags(&executable_, outer, 0));
    run();
    EXPECT_EQ(first_byte(other_device_), 3);
    CUDA_OK(cudaGraphDestroy(outer));
}

TEST_F(Graphs, ACloneHasNodesOfItsOwn) {
    const cudaGraphNode_t node = add_upload(host_.data(), device_);
    cudaGraph_t clone = nullptr;
    CUDA_OK(cudaGraphClone(&clone, graph_));
    cudaGraphNode_t twin = nullptr;
    CUDA_OK(cudaGraphNodeFindInClone(&twin, node, clone));
    EXPECT_NE(twin, node);
    CUDA_OK(cudaGraphMemcpyNodeSetParams1D(twin, device_, other_host_.data(), kSize, cudaMemcpyHostToDevice));
    cudaMemcpy3DParms of_node{};
    CUDA_OK(cudaGraphMemcpyNodeGetParams(node, &of_node));
    EXPECT_EQ(of_node.srcPtr.ptr, host_.data());
    CUDA_OK(cudaGraphDestroy(clone));
}

TEST_F(Graphs, ADisabledNodeDoesNothing) {
    const cudaGraphNode_t node = add_upload(host_.data(), device_);
    instantiate();
    CUDA_OK(cudaGraphNodeSetEnabled(executable_, node, 0));
    run();
    EXPECT_EQ(first_byte(device_), 9);
    CUDA_OK(cudaGraphNodeSetEnabled(executable_, node, 1));
    run();
    EXPECT_EQ(first_byte(device_), 1);
}

TEST_F(Graphs, EventNodesOrderAGraphAndAStream) {
    cudaEvent_t event = nullptr;
    CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cudaGraphNode_t wait = nullptr;
    CUDA_OK(cudaGraphAddEventWaitNode(&wait, graph_, nullptr, 0, event));
    add_upload(host_.data(), device_, {wait});
    cudaEvent_t out = nullptr;
    CUDA_OK(cudaGraphEventWaitNodeGetEvent(wait, &out));
    EXPECT_EQ(out, event);
    instantiate();
    Stream other;
    Gate gate;
    gate.close_in(other);
    CUDA_OK(cudaEventRecord(event, other));
    CUDA_OK(cudaGraphLaunch(executable_, stream_));
    std::memset(host_.data(), 6, kSize);  // while the gate holds the event
    gate.open();
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(first_byte(device_), 6);
    CUDA_OK(cudaEventDestroy(event));
}

}  // namespace
