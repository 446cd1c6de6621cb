// One page-locked buffer for every step of a loop. An asynchronous copy from page-locked memory returns before it has
// read the buffer: filling it again at once changes what is copied.
//
//   one_buffer_loop          fills, copies and launches, step after step
//   one_buffer_loop --wait   waits for the stream before it fills the buffer again. Right, but host and device take
//                            turns: with two buffers (double_buffer.cu) they need not
//
// The device adds up what it was given in each step. In the wrong form it may or may not have been what it should: how
// often is a matter of luck, and 0 proves nothing. The exit status is 1 when the right form is wrong.
//
// What pincheck reports:
//   one_buffer_loop          source-overwritten-in-flight: the copy at the line marked (1); the wait that came too late
//                            is at (2), after the loop. It gates.
//   one_buffer_loop --wait   nothing.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSteps = 16;
constexpr std::size_t kCount = 64 * 1024;
constexpr std::size_t kBytes = kCount * sizeof(int);

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "one_buffer_loop: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

void fill(int* data, int value) {
    for (std::size_t i = 0; i < kCount; ++i) {
        data[i] = value;
    }
}

}  // namespace

__global__ void sum_up(const int* data, std::size_t count, unsigned long long* sum) {
    unsigned long long mine = 0;
    for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
        mine += data[i];
    }
    atomicAdd(sum, mine);
}

int main(int argc, char** argv) {
    const bool waits = argc == 2 && std::strcmp(argv[1], "--wait") == 0;
    if (argc > 2 || (argc == 2 && !waits)) {
        std::fprintf(stderr, "usage: one_buffer_loop [--wait]\n");
        return 2;
    }
    int* host = nullptr;
    int* device = nullptr;
    unsigned long long* sums = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&host), kBytes), "cudaMallocHost");
    check(cudaMalloc(&device, kBytes), "cudaMalloc");
    check(cudaMalloc(&sums, kSteps * sizeof(*sums)), "cudaMalloc");
    check(cudaMemset(sums, 0, kSteps * sizeof(*sums)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");

    for (int step = 0; step < kSteps; ++step) {
        fill(host, step + 1);
        check(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream), "upload");  // (1)
        sum_up<<<1, 256, 0, stream>>>(device, kCount, sums + step);
        check(cudaGetLastError(), "launch");
        if (waits) {
            check(cudaStreamSynchronize(stream), "wait for the buffer");
        }
    }
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");  // (2)

    unsigned long long result[kSteps] = {};
    check(cudaMemcpy(result, sums, sizeof(result), cudaMemcpyDeviceToHost), "cudaMemcpy");
    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
        wrong += result[step] == kCount * static_cast<unsigned long long>(step + 1) ? 0 : 1;
    }
    std::printf("one_buffer_loop: %d of %d steps wrong\n", wrong, kSteps);
    check(cudaFreeHost(host), "cudaFreeHost");
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFree(sums), "cudaFree");
    check(cudaFree(device), "cudaFree");
    return wrong != 0 && waits ? 1 : 0;
}
