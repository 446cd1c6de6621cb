// What the programs of races are made of: buffers, streams, and one function a kind of use, which a report can name.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "check_cuda.h"

__global__ void work() {}

constexpr std::size_t kBytes = 64 << 10;

inline char* on_device(std::size_t bytes = kBytes) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    return static_cast<char*>(memory);
}
SITE inline char* pinned(std::size_t bytes = kBytes) {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, bytes));
    return static_cast<char*>(memory);
}
SITE inline cudaStream_t side_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
SITE inline cudaStream_t other_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
inline cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

SITE inline void upload(char* device, const char* host, cudaStream_t stream, std::size_t bytes = kBytes) {
    CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
}
SITE inline void download(char* host, const char* device, cudaStream_t stream, std::size_t bytes = kBytes) {
    CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}
SITE inline void next_download(char* host, const char* device, cudaStream_t stream, std::size_t bytes = kBytes) {
    CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}
SITE inline void clear(char* device, cudaStream_t stream) {
    CHECK(cudaMemsetAsync(device, 0, kBytes, stream));
}
SITE inline void wait_for(cudaStream_t stream) {
    CHECK(cudaStreamSynchronize(stream));
}
SITE inline void release(char* host) {
    CHECK(cudaFreeHost(host));
}
inline void launch(cudaStream_t stream) {
    work<<<1, 1, 0, stream>>>();
    CHECK(cudaGetLastError());
}
inline int sum(const char* bytes, std::size_t count = kBytes) {
    int total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += bytes[i];
    }
    return total;
}
inline volatile int g_sink;

inline void check(bool good, const char* what) {
    if (!good) {
        std::fprintf(stderr, "not so: %s\n", what);
        std::exit(1);
    }
}

struct Half {
    const char* name;
    void (*run)();
};

// The half that the command line names.
inline int run_half(int argc, char** argv, std::span<const Half> halves) {
    for (const Half& half : halves) {
        if (argc == 2 && std::strcmp(argv[1], half.name) == 0) {
            half.run();
            std::puts("done");
            return 0;
        }
    }
    std::fprintf(stderr, "usage: %s NAME, one of:\n", argv[0]);
    for (const Half& half : halves) {
        std::fprintf(stderr, "  %s\n", half.name);
    }
    return 2;
}
