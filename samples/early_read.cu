// A result that is read before it is there. An asynchronous copy into page-locked memory returns before it has written
// the buffer: what the host reads then is what lay there before, or parts of both.
//
//   early_read          launches, copies the result out and reads it, then waits for the stream, step after step
//   early_read --wait   waits first, and reads then
//
// The host adds up what it reads in each step. In the wrong form it may or may not be what the kernel wrote: how often
// is a matter of luck, and 0 proves nothing. The exit status is 1 when the right form is wrong.
//
// What pincheck reports:
//   early_read          with races=trap destination-read-in-flight: the copy at the line marked (1); it is read at (2),
//                       and the wait that came too late is at (3). It gates. The other levels do not see what the host
//                       reads, and report nothing: each result is waited for before the next copy writes over it.
//   early_read --wait   nothing.
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
        std::fprintf(stderr, "early_read: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

long long sum_of(const int* data) {
    long long sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
        sum += data[i];  // (2)
    }
    return sum;
}

}  // namespace

__global__ void fill(int* data, std::size_t count, int value) {
    for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
        data[i] = value;
    }
}

int main(int argc, char** argv) {
    const bool waits = argc == 2 && std::strcmp(argv[1], "--wait") == 0;
    if (argc > 2 || (argc == 2 && !waits)) {
        std::fprintf(stderr, "usage: early_read [--wait]\n");
        return 2;
    }
    int* host = nullptr;
    int* device = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&host), kBytes), "cudaMallocHost");
    check(cudaMalloc(&device, kBytes), "cudaMalloc");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    std::memset(host, 0, kBytes);

    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
        fill<<<1, 256, 0, stream>>>(device, kCount, step + 1);
        check(cudaGetLastError(), "launch");
        check(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream), "download");  // (1)
        if (waits) {
            check(cudaStreamSynchronize(stream), "wait for the result");
        }
        wrong += sum_of(host) == static_cast<long long>(kCount) * (step + 1) ? 0 : 1;
        if (!waits) {
            check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");  // (3)
        }
    }
    std::printf("early_read: %d of %d results wrong\n", wrong, kSteps);
    check(cudaFreeHost(host), "cudaFreeHost");
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFree(device), "cudaFree");
    return wrong != 0 && waits ? 1 : 0;
}
