#include "scenario_library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        std::exit(1);
    }
}

}  // namespace

extern "C" {

#ifdef SCENARIO_WRAPPER
__attribute__((noinline)) void scenario_inner(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                              cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
    asm volatile("" ::: "memory");  // no tail call
}
void scenario_transfer(char* device, char* host, std::size_t bytes, cudaStream_t stream) {
    scenario_inner(device, host, bytes, cudaMemcpyHostToDevice, stream);
    scenario_inner(host, device, bytes, cudaMemcpyDeviceToHost, stream);
    asm volatile("" ::: "memory");
}
void scenario_upload_through_staging(char* device, const void* source, std::size_t bytes) {
    void* staging = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMallocHost(&staging, bytes), "cudaMallocHost");
    std::memcpy(staging, source, bytes);
    check(cudaMemcpyAsync(device, staging, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    check(cudaFreeHost(staging), "cudaFreeHost");
}
#endif

#ifdef SCENARIO_FRAMEWORK
void framework_copy_and_wait(char* device, const char* host, std::size_t bytes, cudaStream_t stream) {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    asm volatile("" ::: "memory");
}
#endif

#ifdef SCENARIO_VENDOR
void vendor_download(const char* device, cudaStream_t stream) {
    char value[64];
    check(cudaMemcpyAsync(value, device, sizeof(value), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    asm volatile("" : : "r"(value) : "memory");
}
#endif

}  // extern "C"
