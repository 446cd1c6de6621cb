// The queue of a stream is bounded: a host that runs ahead of the device is held in a launch when it is full.
//
//   queue_full                 waits for the device every 256 launches: no launch holds the host
//   queue_full --run-ahead     2,000 launches in a row: about 1,000 fit, then each waits until a slot is free
//
// Both do the same work, whose result is checked; the exit status is 1 when it is wrong. Both take as long: the device
// does the work either way. The difference is where the host spends the time, and that it can do something else only in
// the first form.
//
// What pincheck reports:
//   queue_full                 no launch that waited.
//   queue_full --run-ahead     hidden-wait (queue-full): launches at the line marked (1), with the time and the stream.
//                              It does not gate.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kLaunches = 2000;
constexpr int kBatch = 256;

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "queue_full: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

double microseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

// Slow enough that the host is always ahead.
__global__ void slow_increment(int* counter) {
    constexpr long long kCycles = 200000;  // about 0.1 ms
    for (const long long start = clock64(); clock64() - start < kCycles;) {
    }
    ++*counter;
}

int main(int argc, char** argv) {
    const bool run_ahead = argc == 2 && std::strcmp(argv[1], "--run-ahead") == 0;
    if (argc > 2 || (argc == 2 && !run_ahead)) {
        std::fprintf(stderr, "usage: queue_full [--run-ahead]\n");
        return 2;
    }
    int* counter = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaMalloc(&counter, sizeof(int)), "cudaMalloc");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMemsetAsync(counter, 0, sizeof(int), stream), "cudaMemsetAsync");
    slow_increment<<<1, 1, 0, stream>>>(counter);  // the first launch also loads the kernel
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

    double longest_us = 0;
    for (int i = 1; i < kLaunches; ++i) {
        const auto start = std::chrono::steady_clock::now();
        slow_increment<<<1, 1, 0, stream>>>(counter);  // (1)
        const double us = microseconds_since(start);
        longest_us = us > longest_us ? us : longest_us;
        check(cudaGetLastError(), "launch");
        if (!run_ahead && i % kBatch == 0) {
            check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        }
    }
    int result = 0;
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaMemcpy(&result, counter, sizeof(int), cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::printf("queue_full: %d launches, counted %d, longest launch call %.1f us\n", kLaunches, result, longest_us);

    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFree(counter), "cudaFree");
    return result == kLaunches ? 0 : 1;
}
