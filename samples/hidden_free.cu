// Releasing memory waits for the whole device: cudaFree, cudaFreeHost and cudaHostUnregister return only when every
// stream has finished, also those that never touched the memory.
//
//   hidden_free                one scratch buffer, allocated before the loop and released after it
//   hidden_free --in-loop      allocated and released in every step: each release waits for the step's kernel, and the
//                              two streams, which could overlap, run one after the other
//
// The sum that the steps compute is checked; the exit status is 1 when it is wrong.
//
// What pincheck reports:
//   hidden_free                no release that waited for work in the loop.
//   hidden_free --in-loop      hidden-wait (device-wide): cudaFreeHost at the line marked (1), with the time, and in
//                              which stream the device was busy. It does not gate.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSteps = 20;
constexpr std::size_t kScratchBytes = 64 * 1024;

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "hidden_free: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

int* new_scratch() {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, kScratchBytes), "cudaMallocHost");
    return static_cast<int*>(memory);
}

}  // namespace

// Some milliseconds of work that have nothing to do with the scratch buffer.
__global__ void slow_add(int* total, int value) {
    constexpr long long kCycles = 5000000;  // about 3 ms
    for (const long long start = clock64(); clock64() - start < kCycles;) {
    }
    *total += value;
}

int main(int argc, char** argv) {
    const bool in_loop = argc == 2 && std::strcmp(argv[1], "--in-loop") == 0;
    if (argc > 2 || (argc == 2 && !in_loop)) {
        std::fprintf(stderr, "usage: hidden_free [--in-loop]\n");
        return 2;
    }
    int* totals = nullptr;
    check(cudaMalloc(&totals, 2 * sizeof(int)), "cudaMalloc");
    check(cudaMemset(totals, 0, 2 * sizeof(int)), "cudaMemset");
    cudaStream_t streams[2] = {};
    for (cudaStream_t& stream : streams) {
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    }
    slow_add<<<1, 1>>>(totals, 0);  // the first launch also loads the kernel
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    int* scratch = in_loop ? nullptr : new_scratch();
    int expected = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < kSteps; ++step) {
        if (in_loop) {
            scratch = new_scratch();
        }
        std::memset(scratch, step, kScratchBytes);  // the host's own use of it
        slow_add<<<1, 1, 0, streams[step % 2]>>>(totals + step % 2, step);
        check(cudaGetLastError(), "launch");
        expected += step;
        if (in_loop) {
            check(cudaFreeHost(scratch), "cudaFreeHost");  // (1)
        }
    }
    const double issued_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const double finished_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

    int result[2] = {};
    check(cudaMemcpy(result, totals, sizeof(result), cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::printf("hidden_free: sum %d, expected %d; the loop held the host %.3f ms of %.3f ms\n", result[0] + result[1],
                expected, issued_ms, finished_ms);
    if (!in_loop) {
        check(cudaFreeHost(scratch), "cudaFreeHost");
    }
    for (const cudaStream_t stream : streams) {
        check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
    check(cudaFree(totals), "cudaFree");
    return result[0] + result[1] == expected ? 0 : 1;
}
