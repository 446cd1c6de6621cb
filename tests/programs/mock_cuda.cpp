// A mock of a few CUDA functions, in a library whose name is not CUDA's: what test suites of other projects link.
#include <cstddef>
#include <cstdio>

extern "C" {

int mock_calls = 0;

int cudaMalloc(void** out, std::size_t) {
    static char memory[4096];
    *out = memory;
    return 0;
}
int cudaMemcpyAsync(void*, const void*, std::size_t bytes, int kind, void*) {
    ++mock_calls;
    std::printf("mock cudaMemcpyAsync %zu %d\n", bytes, kind);
    return 0;
}
int cudaStreamSynchronize(void*) {
    ++mock_calls;
    return 77;
}
int cuMemcpyHtoDAsync_v2(unsigned long long, const void*, std::size_t bytes, void*) {
    ++mock_calls;
    std::printf("mock cuMemcpyHtoDAsync_v2 %zu\n", bytes);
    return 0;
}
}
