// The legacy default stream waits for every blocking stream, and they for it. A copy that forgets its stream argument
// is in it, and a download to pageable memory there holds the host until all those streams are done.
//
//   default_stream             the small download has a stream of its own: it waits for nothing but its own copy
//   default_stream --forgot    no stream argument: it waits for the long kernel of another stream
//
// The downloaded value is checked; the exit status is 1 when it is wrong.
//
// What pincheck reports:
//   default_stream             nothing for the download: page-locked, on its own stream.
//   default_stream --forgot    pageable-async-copy at the line marked (1), which waited for work in the other stream.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "default_stream: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

__global__ void long_kernel(int* data) {
    constexpr long long kCycles = 50000000;  // about 30 ms
    for (const long long start = clock64(); clock64() - start < kCycles;) {
    }
    *data = 1;
}

int main(int argc, char** argv) {
    const bool forgot = argc == 2 && std::strcmp(argv[1], "--forgot") == 0;
    if (argc > 2 || (argc == 2 && !forgot)) {
        std::fprintf(stderr, "usage: default_stream [--forgot]\n");
        return 2;
    }
    constexpr int kValue = 42;
    int* data = nullptr;    // of the long kernel
    int* status = nullptr;  // that the host wants to look at meanwhile
    check(cudaMalloc(&data, sizeof(int)), "cudaMalloc");
    check(cudaMalloc(&status, sizeof(int)), "cudaMalloc");
    check(cudaMemcpy(status, &kValue, sizeof(int), cudaMemcpyHostToDevice), "cudaMemcpy");
    // From pageable memory it may return before the bytes are on the device, and the download below has another stream.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cudaStream_t compute = nullptr;
    cudaStream_t own = nullptr;
    check(cudaStreamCreate(&compute), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    int* pinned = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int)), "cudaMallocHost");

    int local = 0;
    long_kernel<<<1, 1, 0, compute>>>(data);
    check(cudaGetLastError(), "launch");
    const auto start = std::chrono::steady_clock::now();
    int seen = 0;
    if (forgot) {
        check(cudaMemcpyAsync(&local, status, sizeof(int), cudaMemcpyDeviceToHost), "download");  // (1)
        check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        seen = local;
    } else {
        check(cudaMemcpyAsync(pinned, status, sizeof(int), cudaMemcpyDeviceToHost, own), "download");
        check(cudaStreamSynchronize(own), "cudaStreamSynchronize");
        seen = *pinned;
    }
    const double download_ms = milliseconds_since(start);
    check(cudaStreamSynchronize(compute), "cudaStreamSynchronize");
    std::printf("default_stream: value %d, expected %d; there after %.3f ms, the long kernel ended after %.3f ms\n",
                seen, kValue, download_ms, milliseconds_since(start));

    check(cudaFreeHost(pinned), "cudaFreeHost");
    check(cudaStreamDestroy(own), "cudaStreamDestroy");
    check(cudaStreamDestroy(compute), "cudaStreamDestroy");
    check(cudaFree(status), "cudaFree");
    check(cudaFree(data), "cudaFree");
    return seen == kValue ? 0 : 1;
}
