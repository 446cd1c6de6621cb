// `upload pinned`: an upload from page-locked memory, which is asynchronous. `upload pageable`: the same from malloc's.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

bool upload(const void* host) {
    void* device = nullptr;
    cudaStream_t stream = nullptr;
    const bool done = cudaMalloc(&device, kBytes) == cudaSuccess && cudaStreamCreate(&stream) == cudaSuccess &&
                      cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream) == cudaSuccess &&
                      cudaStreamSynchronize(stream) == cudaSuccess;
    return cudaStreamDestroy(stream) == cudaSuccess && cudaFree(device) == cudaSuccess && done;
}

}  // namespace

int main(int argc, char** argv) {
    const bool pinned = argc > 1 && std::strcmp(argv[1], "pinned") == 0;
    void* host = nullptr;
    if (pinned) {
        if (cudaMallocHost(&host, kBytes) != cudaSuccess) {
            return EXIT_FAILURE;
        }
    } else {
        host = std::malloc(kBytes);
    }
    std::memset(host, 1, kBytes);
    const bool done = upload(host);
    if (pinned) {
        cudaFreeHost(host);
    } else {
        std::free(host);
    }
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
