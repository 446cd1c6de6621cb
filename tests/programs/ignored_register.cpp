// Registration fails and nobody looks: five asynchronous copies from the range all the same, then the last error
// (scenario F5). Must be recorded: one failed cudaHostRegister, five pageable uploads. The last error is the
// registration's, once.
#include "small.h"

#include <cstdio>

int main() {
    const Small small = small_start();
    const cudaError_t registered = cudaHostRegister(small.pageable, kSmallBytes, 0xffff0000u);
    const int failed = small_upload_pageable(small, 5);
    const cudaError_t waited = cudaDeviceSynchronize();
    std::printf("register %d, copies failed %d, wait %d\n", static_cast<int>(registered), failed,
                static_cast<int>(waited));
    const int peeked = cudaPeekAtLastError();
    const int last = cudaGetLastError();
    std::printf("last error %d %d, then %d\n", peeked, last, static_cast<int>(cudaGetLastError()));
    small_end(small);
    return 0;
}
