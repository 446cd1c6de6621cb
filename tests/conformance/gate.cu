// The kernels, a device variable, and the gate's host side. The only file that needs nvcc.
#include "gate.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

extern "C" __global__ void conformance_gate(volatile int* flag) {
    while (*flag == 0) {
#if __CUDA_ARCH__ >= 700
        __nanosleep(1000);
#endif
    }
}

extern "C" __global__ void conformance_empty() {}

__device__ char conformance_symbol[conformance::kSymbolSize];

namespace conformance {

const void* symbol() {
    return conformance_symbol;
}

Gate::Gate() {
    EXPECT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&flag_), sizeof *flag_, cudaHostAllocMapped), cudaSuccess);
}

void Gate::close_in(cudaStream_t stream) {
    stream_ = stream;
    closed_ = true;
    *static_cast<volatile int*>(flag_) = 0;
    int* flag = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(reinterpret_cast<void**>(&flag), flag_, 0), cudaSuccess);
    conformance_gate<<<1, 1, 0, stream>>>(flag);
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
}

void Gate::open() {
    closed_ = false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    *static_cast<volatile int*>(flag_) = 1;
}

Gate::~Gate() {
    open();
    cudaDeviceSynchronize();
    cudaFreeHost(flag_);
}

void launch_empty(cudaStream_t stream) {
    conformance_empty<<<1, 1, 0, stream>>>();
}

bool waits(Gate& gate, const std::function<void()>& call, std::chrono::milliseconds deadline) {
    std::mutex mutex;
    std::condition_variable changed;
    bool returned = false;
    bool waited = false;
    std::thread opener([&] {
        std::unique_lock lock(mutex);
        waited = !changed.wait_for(lock, deadline, [&] { return returned; });
        gate.open();
    });
    call();
    {
        std::lock_guard lock(mutex);
        returned = true;
    }
    changed.notify_one();
    opener.join();
    return waited;
}

int calls_before_waiting(Gate& gate, int limit, const std::function<void(int)>& call) {
    std::atomic<int> returned{0};
    int seen_before_opening = 0;
    std::thread opener([&] {
        auto last_progress = std::chrono::steady_clock::now();
        while (seen_before_opening < limit && std::chrono::steady_clock::now() - last_progress < kDeadline / 2) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (returned == seen_before_opening)
                continue;
            seen_before_opening = returned;
            last_progress = std::chrono::steady_clock::now();
        }
        gate.open();
    });
    for (int i = 0; i < limit; ++i) {
        call(i);
        ++returned;
    }
    opener.join();
    return seen_before_opening;
}

}  // namespace conformance
