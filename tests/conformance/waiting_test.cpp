// Which calls wait for a kernel that runs in an unrelated, non-blocking stream.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

constexpr std::size_t kSize = 1 << 20;

class UnrelatedKernel : public testing::Test {
  protected:
    bool holds(const std::function<void()>& call) {
        gate_.close_in(stream_);
        return waits(gate_, call);
    }

    Stream stream_;
    Gate gate_;
};

TEST_F(UnrelatedKernel, HoldsCudaFree) {
    void* memory = nullptr;
    CUDA_OK(cudaMalloc(&memory, kSize));
    EXPECT_TRUE(holds([&] { EXPECT_EQ(cudaFree(memory), cudaSuccess); }));
}

TEST_F(UnrelatedKernel, HoldsCudaFreeHost) {
    void* memory = nullptr;
    CUDA_OK(cudaMallocHost(&memory, kSize));
    EXPECT_TRUE(holds([&] { EXPECT_EQ(cudaFreeHost(memory), cudaSuccess); }));
}

// Freeing page-locked memory in flight is a wait and no corruption: the device gets what the buffer held.
TEST_F(UnrelatedKernel, HoldsCudaFreeHostOfABufferInFlight) {
    Stream copying;
    DeviceMemory device(kSize);
    char* memory = nullptr;
    CUDA_OK(cudaMallocHost(reinterpret_cast<void**>(&memory), kSize));
    std::memset(memory, 5, kSize);
    gate_.close_in(copying);
    CUDA_OK(cudaMemcpyAsync(device, memory, kSize, cudaMemcpyHostToDevice, copying));
    EXPECT_TRUE(waits(gate_, [&] { EXPECT_EQ(cudaFreeHost(memory), cudaSuccess); }));
    EXPECT_EQ(cudaStreamQuery(copying), cudaSuccess) << "the copy was over before the memory went";
    std::vector<char> seen(kSize);
    CUDA_OK(cudaMemcpy(seen.data(), device, kSize, cudaMemcpyDeviceToHost));
    EXPECT_EQ(seen, std::vector<char>(kSize, 5));
}

TEST_F(UnrelatedKernel, HoldsCudaHostUnregister) {
    void* memory = std::aligned_alloc(4096, kSize);
    CUDA_OK(cudaHostRegister(memory, kSize, cudaHostRegisterDefault));
    EXPECT_TRUE(holds([&] { EXPECT_EQ(cudaHostUnregister(memory), cudaSuccess); }));
    std::free(memory);
}

// While a thread is inside a release, which waits for the kernel, other threads' calls wait for that thread, though
// they by themselves wait for nothing. They find it inside sooner or later.
TEST_F(UnrelatedKernel, HoldsOtherThreadsCallsDuringARelease) {
    constexpr int kManyCalls = 1'000'000;
    Stream other;
    DeviceMemory device(64);
    void* page_locked = nullptr;
    CUDA_OK(cudaMallocHost(&page_locked, 64));
    const auto calls_during = [&](const std::function<void()>& release, const std::function<void()>& call) {
        std::atomic<bool> released{false};
        gate_.close_in(stream_);
        std::thread releasing([&] {
            release();
            released = true;
        });
        const int returned = calls_before_waiting(gate_, kManyCalls, [&](int) {
            if (released) {
                return;
            }
            call();
            EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);  // the stream's own queue stays empty
        });
        releasing.join();
        return returned;
    };
    const auto copy = [&] {
        EXPECT_EQ(cudaMemcpyAsync(device, page_locked, 64, cudaMemcpyHostToDevice, other), cudaSuccess);
    };
    void* memory = nullptr;
    CUDA_OK(cudaMalloc(&memory, kSize));
    EXPECT_LT(calls_during([&] { EXPECT_EQ(cudaFree(memory), cudaSuccess); }, copy), kManyCalls);
    CUDA_OK(cudaMalloc(&memory, kSize));
    EXPECT_LT(calls_during([&] { EXPECT_EQ(cudaFree(memory), cudaSuccess); }, [&] { launch_empty(other); }),
              kManyCalls);
    CUDA_OK(cudaMallocHost(&memory, kSize));
    EXPECT_LT(calls_during([&] { EXPECT_EQ(cudaFreeHost(memory), cudaSuccess); }, copy), kManyCalls);
    CUDA_OK(cudaFreeHost(page_locked));
}

TEST_F(UnrelatedKernel, HoldsCudaDeviceSynchronize) {
    EXPECT_TRUE(holds([] { EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }));
}

TEST_F(UnrelatedKernel, DoesNotHoldAllocation) {
    void* device = nullptr;
    void* managed = nullptr;
    EXPECT_FALSE(holds([&] { EXPECT_EQ(cudaMalloc(&device, kSize), cudaSuccess); }));
    EXPECT_FALSE(holds([&] { EXPECT_EQ(cudaMallocManaged(&managed, kSize, cudaMemAttachGlobal), cudaSuccess); }));
    cudaFree(device);
    cudaFree(managed);
}

TEST_F(UnrelatedKernel, DoesNotHoldPinning) {
    void* pinned = nullptr;
    void* memory = std::aligned_alloc(4096, kSize);
    EXPECT_FALSE(holds([&] { EXPECT_EQ(cudaMallocHost(&pinned, kSize), cudaSuccess); }));
    EXPECT_FALSE(holds([&] { EXPECT_EQ(cudaHostRegister(memory, kSize, cudaHostRegisterDefault), cudaSuccess); }));
    cudaFreeHost(pinned);
    cudaHostUnregister(memory);
    std::free(memory);
}

// Page-locking takes long by itself: tens of milliseconds, far below the deadline.
TEST_F(UnrelatedKernel, DoesNotHoldPinningOfMuchMemory) {
    constexpr std::size_t kMuch = 64 << 20;
    void* pinned = nullptr;
    HostMemory memory(Kind::pageable, kMuch);
    EXPECT_FALSE(holds([&] { EXPECT_EQ(cudaMallocHost(&pinned, kMuch), cudaSuccess); }));
    EXPECT_FALSE(
        holds([&] { EXPECT_EQ(cudaHostRegister(memory.data(), kMuch, cudaHostRegisterDefault), cudaSuccess); }));
    CUDA_OK(cudaFreeHost(pinned));
    CUDA_OK(cudaHostUnregister(memory.data()));
}

TEST_F(UnrelatedKernel, DoesNotHoldStreamsAndEvents) {
    EXPECT_FALSE(holds([] {
        cudaStream_t stream = nullptr;
        cudaEvent_t event = nullptr;
        EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
        EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
        EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
        EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    }));
}

TEST_F(UnrelatedKernel, DoesNotHoldStreamOrderedAllocation) {
    Stream other;
    void* warm = nullptr;  // the first one creates the pool
    CUDA_OK(cudaMallocAsync(&warm, kSize, other));
    CUDA_OK(cudaFreeAsync(warm, other));
    CUDA_OK(cudaStreamSynchronize(other));
    EXPECT_FALSE(holds([&] {
        void* memory = nullptr;
        EXPECT_EQ(cudaMallocAsync(&memory, kSize, other), cudaSuccess);
        EXPECT_EQ(cudaFreeAsync(memory, other), cudaSuccess);
    }));
}

TEST_F(UnrelatedKernel, DoesNotHoldMemsetAndDeviceCopies) {
    DeviceMemory one(kSize), two(kSize);
    EXPECT_FALSE(holds([&] {
        EXPECT_EQ(cudaMemset(one, 0, kSize), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(two, one, kSize, cudaMemcpyDeviceToDevice), cudaSuccess);
    }));
}

TEST_F(UnrelatedKernel, DoesNotHoldAnotherStreamsQueryOrGraph) {
    Stream other;
    HostMemory host(Kind::pageable, kSize);
    DeviceMemory device(kSize);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
    CUDA_OK(cudaMemcpyAsync(device, host.data(), kSize, cudaMemcpyHostToDevice, other));
    CUDA_OK(cudaStreamEndCapture(other, &graph));
    CUDA_OK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    EXPECT_FALSE(holds([&] {
        EXPECT_EQ(cudaStreamQuery(other), cudaSuccess);
        EXPECT_EQ(cudaGraphLaunch(executable, other), cudaSuccess);
    }));
    CUDA_OK(cudaGraphExecDestroy(executable));
    CUDA_OK(cudaGraphDestroy(graph));
}

TEST(LegacyDefaultStream, WaitsForBlockingStreamsOnly) {
    cudaStream_t blocking = nullptr;
    CUDA_OK(cudaStreamCreate(&blocking));
    Gate gate;
    gate.close_in(blocking);
    EXPECT_TRUE(waits(gate, [] { EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess); }));
    Stream free_running;
    gate.close_in(free_running);
    EXPECT_FALSE(waits(gate, [] { EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess); }));
    gate.close_in(blocking);
    launch_empty(cudaStreamLegacy);
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady); }));
    cudaGetLastError();
    CUDA_OK(cudaStreamDestroy(blocking));
}

TEST(LegacyDefaultStream, IsAskedAboutWithTheBlockingStreams) {
    cudaStream_t blocking = nullptr;
    CUDA_OK(cudaStreamCreate(&blocking));
    Gate gate;
    for (const cudaStream_t stream : {blocking, cudaStreamPerThread}) {
        gate.close_in(stream);
        EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady); }));
        gate.close_in(stream);
        EXPECT_TRUE(waits(
            gate, [&] { EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess); }, kSoon));
        EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
    }
    cudaGetLastError();
    CUDA_OK(cudaStreamDestroy(blocking));
}

// What is behind the legacy stream's work is a blocking stream's next operation, not its wait.
TEST(LegacyDefaultStream, HoldsABlockingStreamOnceSomethingCameBehindIt) {
    cudaStream_t blocking = nullptr;
    cudaEvent_t event = nullptr;
    CUDA_OK(cudaStreamCreate(&blocking));
    CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    Gate gate;
    for (const cudaStream_t stream : {blocking, cudaStreamPerThread}) {
        gate.close_in(cudaStreamLegacy);
        EXPECT_FALSE(waits(gate, [&] {
            EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
            EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        }));
        CUDA_OK(cudaDeviceSynchronize());
        gate.close_in(cudaStreamLegacy);
        launch_empty(stream);
        EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
        EXPECT_TRUE(waits(
            gate, [&] { EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess); }, kSoon));
        gate.close_in(cudaStreamLegacy);
        CUDA_OK(cudaEventRecord(event, stream));
        EXPECT_TRUE(waits(
            gate, [&] { EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess); }, kSoon));
    }
    cudaGetLastError();
    CUDA_OK(cudaEventDestroy(event));
    CUDA_OK(cudaStreamDestroy(blocking));
}

TEST(Events, HaveATimeBetweenThemOnceBothAreComplete) {
    Stream stream, other;
    cudaEvent_t start = nullptr, end = nullptr;
    CUDA_OK(cudaEventCreate(&start));
    CUDA_OK(cudaEventCreate(&end));
    float milliseconds = 0;
    Gate gate;
    CUDA_OK(cudaEventRecord(start, stream));
    gate.close_in(stream);
    CUDA_OK(cudaEventRecord(end, stream));
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady); }));
    CUDA_OK(cudaDeviceSynchronize());
    gate.close_in(stream);
    CUDA_OK(cudaEventRecord(start, stream));
    CUDA_OK(cudaEventRecord(end, other));
    CUDA_OK(cudaEventSynchronize(end));
    EXPECT_FALSE(waits(gate, [&] { EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady); }));
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    cudaGetLastError();
    CUDA_OK(cudaEventDestroy(start));
    CUDA_OK(cudaEventDestroy(end));
}

TEST(Events, OrderStreams) {
    Stream one, two;
    cudaEvent_t event = nullptr;
    CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA_OK(cudaEventSynchronize(event)) << "never recorded counts as complete";
    Gate gate;
    gate.close_in(one);
    CUDA_OK(cudaEventRecord(event, one));
    CUDA_OK(cudaStreamWaitEvent(two, event, 0));
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(cudaStreamQuery(two), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "not ready is an answer, not an error";
    EXPECT_TRUE(waits(gate, [&] { EXPECT_EQ(cudaStreamSynchronize(two), cudaSuccess); }));
    cudaGetLastError();
    CUDA_OK(cudaEventDestroy(event));
}

TEST(HostFunction, MayNotCallCuda) {
    Stream stream;
    cudaError_t inside = cudaSuccess;
    CUDA_OK(cudaLaunchHostFunc(
        stream,
        [](void* result) {
            void* memory = nullptr;
            *static_cast<cudaError_t*>(result) = cudaMalloc(&memory, 16);
        },
        &inside));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(inside, cudaErrorNotPermitted);
}

}  // namespace
