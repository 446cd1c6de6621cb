// The smallest program that uses a stream as it is meant: copy in, kernel, copy out, and one wait at the end of it.
//
//   async_copy                 both host buffers are page-locked (cudaMallocHost): the copies are asynchronous
//   async_copy --pageable      both come from malloc: the same calls, the same results, and each copy holds the host
//   --size BYTES[K|M|G]        of a buffer (default 64M)      --iterations N   (default 10)
//
// Every value that comes back is checked; the exit status is 1 when one is wrong.
//
// What pincheck reports:
//   async_copy                 nothing. `pincheck run --check -- async_copy` ends with 0.
//   async_copy --pageable      pageable-async-copy at two lines of this file, marked (1) and (2) below, one for each
//                              direction, with the bytes and the time for which the calls held the host.
//                              `pincheck run --check -- async_copy --pageable` ends with 1.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Options {
    bool pageable = false;
    std::size_t bytes = std::size_t{64} << 20;
    int iterations = 10;
};

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "async_copy: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

[[noreturn]] void usage() {
    std::fprintf(stderr, "usage: async_copy [--pageable] [--size BYTES[K|M|G]] [--iterations N]\n");
    std::exit(2);
}

std::size_t parse_size(const char* text) {
    char* end = nullptr;
    const unsigned long long number = std::strtoull(text, &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == text || (shift == 0 ? *end != '\0' : end[1] != '\0') || number == 0 || number > (1ull << 40 >> shift)) {
        usage();
    }
    const std::size_t bytes = static_cast<std::size_t>(number) << shift;
    return bytes < sizeof(float) ? sizeof(float) : bytes / sizeof(float) * sizeof(float);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--pageable") == 0) {
            options.pageable = true;
        } else if (std::strcmp(argv[i], "--size") == 0 && i + 1 < argc) {
            options.bytes = parse_size(argv[++i]);
        } else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
            options.iterations = std::atoi(argv[++i]);
        } else {
            usage();
        }
    }
    if (options.iterations < 1) {
        usage();
    }
    return options;
}

float* allocate(const Options& options) {
    void* memory = nullptr;
    if (options.pageable) {
        memory = std::malloc(options.bytes);
    } else {
        check(cudaMallocHost(&memory, options.bytes), "cudaMallocHost");
    }
    if (memory == nullptr) {
        std::fprintf(stderr, "async_copy: out of memory\n");
        std::exit(1);
    }
    return static_cast<float*>(memory);
}

void release(const Options& options, float* memory) {
    if (options.pageable) {
        std::free(memory);
    } else {
        check(cudaFreeHost(memory), "cudaFreeHost");
    }
}

float input_value(std::size_t index, int iteration) {
    return static_cast<float>((index + static_cast<std::size_t>(iteration)) % 4096);
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

__global__ void twice(float* data, std::size_t count) {
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        data[i] *= 2;
    }
}

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    const std::size_t bytes = options.bytes;
    const std::size_t count = bytes / sizeof(float);
    // Once, outside the loop: page-locking is slow.
    float* input = allocate(options);
    float* output = allocate(options);
    float* device = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
    check(cudaMalloc(&device, bytes), "cudaMalloc");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "cudaEventCreate");

    double issued_ms = 0;    // the host was held by the calls
    double finished_ms = 0;  // until the results were there
    std::size_t wrong = 0;
    for (int iteration = 0; iteration < options.iterations; ++iteration) {
        for (std::size_t i = 0; i < count; ++i) {
            input[i] = input_value(i, iteration);
        }
        const auto start = std::chrono::steady_clock::now();
        check(cudaMemcpyAsync(device, input, bytes, cudaMemcpyHostToDevice, stream), "copy in");  // (1)
        twice<<<256, 256, 0, stream>>>(device, count);
        check(cudaGetLastError(), "kernel");
        check(cudaMemcpyAsync(output, device, bytes, cudaMemcpyDeviceToHost, stream), "copy out");  // (2)
        check(cudaEventRecord(done, stream), "cudaEventRecord");
        issued_ms += milliseconds_since(start);
        // Here the host would work on something else. `input` must not be written, nor `output` read, before the wait.
        check(cudaEventSynchronize(done), "cudaEventSynchronize");
        finished_ms += milliseconds_since(start);
        for (std::size_t i = 0; i < count; ++i) {
            wrong += output[i] == 2 * input_value(i, iteration) ? 0 : 1;
        }
    }

    std::printf("async_copy: %s memory, %d x %zu bytes in and out, %zu of %zu values wrong\n",
                options.pageable ? "pageable" : "pinned", options.iterations, bytes, wrong,
                count * static_cast<std::size_t>(options.iterations));
    std::printf("async_copy: the calls took %.3f ms of the %.3f ms until the results were there\n", issued_ms,
                finished_ms);

    check(cudaEventDestroy(done), "cudaEventDestroy");
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFree(device), "cudaFree");
    release(options, output);
    release(options, input);
    return wrong == 0 ? 0 : 1;
}
