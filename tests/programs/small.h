// The least that a program can do with CUDA: some pinned and as many pageable uploads through the shared runtime, each
// kind at one call site. For programs about how processes live and end; copies.h is about copies.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

inline constexpr std::size_t kSmallBytes = 4096;

struct Small {
    void* device = nullptr;
    void* pinned = nullptr;
    void* pageable = nullptr;
};

inline Small small_start() {
    Small small;
    small.pageable = std::malloc(kSmallBytes);
    std::memset(small.pageable, 7, kSmallBytes);
    if (cudaMalloc(&small.device, kSmallBytes) != cudaSuccess ||
        cudaMallocHost(&small.pinned, kSmallBytes) != cudaSuccess) {
        std::abort();
    }
    std::memset(small.pinned, 9, kSmallBytes);
    return small;
}

// Number of calls that failed.
__attribute__((noinline)) inline int small_upload_pinned(const Small& small, int calls) {
    int failed = 0;
    for (int i = 0; i < calls; ++i) {
        failed += cudaMemcpyAsync(small.device, small.pinned, kSmallBytes, cudaMemcpyHostToDevice, nullptr) ? 1 : 0;
    }
    return failed;
}

__attribute__((noinline)) inline int small_upload_pageable(const Small& small, int calls) {
    int failed = 0;
    for (int i = 0; i < calls; ++i) {
        failed += cudaMemcpyAsync(small.device, small.pageable, kSmallBytes, cudaMemcpyHostToDevice, nullptr) ? 1 : 0;
    }
    return failed;
}

inline int small_uploads(const Small& small, int calls) {
    return small_upload_pinned(small, calls) + small_upload_pageable(small, calls);
}

inline void small_end(const Small& small) {
    cudaFreeHost(small.pinned);
    cudaFree(small.device);
    std::free(small.pageable);
}
