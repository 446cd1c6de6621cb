// What a copy and a launch cost the host on a real device: device_cost [ROUNDS] prints the means over ROUNDS of the
// time to issue 500 of them (the queue holds about 1,000: no call waits for room), and the device memory in use.
// device_cost.py runs it bare and under several tools in turns.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                 \
    do {                                                                            \
        const cudaError_t status_ = (call);                                         \
        if (status_ != cudaSuccess) {                                               \
            std::fprintf(stderr, "device_cost: %s\n", cudaGetErrorString(status_)); \
            std::exit(1);                                                           \
        }                                                                           \
    } while (false)

constexpr int kCalls = 500;
constexpr std::size_t kBytes = 4096;

__global__ void nothing() {}

template <class Call>
double mean_ns_per_call(int rounds, cudaStream_t stream, Call call) {
    double sum = 0;
    // Round -1 warms up.
    for (int round = -1; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < kCalls; ++i) {
            call();
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        CHECK(cudaStreamSynchronize(stream));
        if (round >= 0) {
            sum += took.count() / kCalls;
        }
    }
    return sum / rounds;
}

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
    cudaStream_t stream;
    void* host = nullptr;
    void* device = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&host, kBytes));
    CHECK(cudaMalloc(&device, kBytes));
    const double copy = mean_ns_per_call(
        rounds, stream, [&] { CHECK(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream)); });
    const double launch = mean_ns_per_call(rounds, stream, [&] {
        nothing<<<1, 1, 0, stream>>>();
        CHECK(cudaGetLastError());
    });
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    std::printf("%.1f %.1f %zu\n", copy, launch, total_bytes - free_bytes);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return 0;
}
