// A program as a user writes it, built by nvcc unchanged: streams, kernels, events, variables. Prints OK or what went
// wrong.
#include <cstdio>
#include <cstdlib>

__device__ int offset_value;
__managed__ int managed_value = 0;

struct Pair {
    int first;
    double second;
};

template <typename T>
__global__ void scale(T* data, int count, T factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= factor;
}

__global__ void add_pair(int* data, Pair pair) {
    data[0] += pair.first + static_cast<int>(pair.second);
}

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t error = (call);                                                         \
        if (error != cudaSuccess) {                                                               \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
            std::exit(1);                                                                         \
        }                                                                                         \
    } while (0)

#define EXPECT(condition)                                               \
    do {                                                                \
        if (!(condition)) {                                             \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                               \
        }                                                               \
    } while (0)

int main() {
    constexpr int count = 1 << 16;
    int *host, *device;
    CHECK(cudaMallocHost(&host, count * sizeof(int)));
    CHECK(cudaMalloc(&device, count * sizeof(int)));
    for (int i = 0; i < count; ++i)
        host[i] = i;

    cudaStream_t stream;
    cudaEvent_t begin, end;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaMemcpyAsync(device, host, count * sizeof(int), cudaMemcpyHostToDevice, stream));
    scale<int><<<count / 256, 256, 0, stream>>>(device, count, 3);
    add_pair<<<1, 1, 0, stream>>>(device, Pair{5, 7.5});
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, device, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    EXPECT(milliseconds >= 0);
    EXPECT(host[0] == 12);
    for (int i = 1; i < count; ++i)
        EXPECT(host[i] == 3 * i);

    int value = 41, read = 0;
    CHECK(cudaMemcpyToSymbol(offset_value, &value, sizeof value));
    CHECK(cudaMemcpyFromSymbol(&read, offset_value, sizeof read));
    EXPECT(read == 41);
    managed_value = 7;
    EXPECT(managed_value == 7);

    scale<int><<<1, 2048, 0, stream>>>(device, count, 3);  // too many threads
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaSuccess);

    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    EXPECT(properties.asyncEngineCount > 0);

    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaDeviceSynchronize());
    std::puts("OK");
}
