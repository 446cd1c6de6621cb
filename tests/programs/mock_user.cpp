// Uses the mock of mock_cuda.cpp: linked, or opened with the library's path as argument. Must keep calling the mock,
// with its results.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>

extern "C" {
extern int mock_calls;
int cudaMalloc(void** out, std::size_t bytes);
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int cudaStreamSynchronize(void* stream);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream);
}

int main() {
    void* device = nullptr;
    char host[64] = {};
    cudaMalloc(&device, sizeof host);
    const int copied = cudaMemcpyAsync(device, host, sizeof host, 1, nullptr);
    const int waited = cudaStreamSynchronize(nullptr);
    const int driver = cuMemcpyHtoDAsync_v2(0, host, 32, nullptr);
    std::printf("copied %d, waited %d, driver %d, mock calls %d\n", copied, waited, driver, mock_calls);
    return mock_calls;
}
