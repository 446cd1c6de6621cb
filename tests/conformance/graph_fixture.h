// What the tests of graphs share: a graph, a stream, two buffers on either side.
#pragma once

#include <functional>
#include <vector>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"

namespace conformance {

constexpr std::size_t kSize = 4096;

inline char first_byte(const char* device) {
    char byte = 0;
    EXPECT_EQ(cudaMemcpy(&byte, device, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    return byte;
}

class Graphs : public testing::Test {
  protected:
    void SetUp() override {
        CUDA_OK(cudaGraphCreate(&graph_, 0));
        CUDA_OK(cudaMemset(device_, 9, kSize));
        CUDA_OK(cudaMemset(other_device_, 9, kSize));
        CUDA_OK(cudaDeviceSynchronize());
    }
    void TearDown() override {
        if (executable_) {
            EXPECT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
        }
        if (graph_) {
            EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
        }
    }

    void capture(const std::function<void()>& calls) {
        CUDA_OK(cudaGraphDestroy(graph_));
        graph_ = nullptr;
        CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
        calls();
        CUDA_OK(cudaStreamEndCapture(stream_, &graph_));
    }
    cudaGraphNode_t add_upload(const char* from, char* to, std::vector<cudaGraphNode_t> after = {}) {
        cudaGraphNode_t node = nullptr;
        EXPECT_EQ(cudaGraphAddMemcpyNode1D(&node, graph_, after.data(), after.size(), to, from, kSize,
                                           cudaMemcpyHostToDevice),
                  cudaSuccess);
        return node;
    }
    void instantiate() { CUDA_OK(cudaGraphInstantiateWithFlags(&executable_, graph_, 0)); }
    void run() {
        CUDA_OK(cudaGraphLaunch(executable_, stream_));
        CUDA_OK(cudaStreamSynchronize(stream_));
    }
    std::vector<cudaGraphNode_t> nodes() const {
        std::size_t count = 0;
        EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &count), cudaSuccess);
        std::vector<cudaGraphNode_t> all(count);
        if (count) {
            EXPECT_EQ(cudaGraphGetNodes(graph_, all.data(), &count), cudaSuccess);
        }
        return all;
    }
    static cudaGraphNodeType type_of(cudaGraphNode_t node) {
        cudaGraphNodeType type{};
        EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
        return type;
    }
    static std::vector<cudaGraphNode_t> dependencies(cudaGraphNode_t node) {
        std::size_t count = 0;
        EXPECT_EQ(DRIVER(cuGraphNodeGetDependencies)(node, nullptr, &count), CUDA_SUCCESS);
        std::vector<cudaGraphNode_t> all(count);
        if (count) {
            EXPECT_EQ(DRIVER(cuGraphNodeGetDependencies)(node, all.data(), &count), CUDA_SUCCESS);
        }
        return all;
    }

    HostMemory host_{Kind::pinned, kSize};
    HostMemory other_host_{Kind::pinned, kSize};
    DeviceMemory device_{kSize};
    DeviceMemory other_device_{kSize};
    Stream stream_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

}  // namespace conformance
