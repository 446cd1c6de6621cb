// A server's life in small: pageable uploads of its warm-up, then of its service, each at a place of its own, and a
// line of input is awaited after either. The service copies pinned memory too, at the warm-up's place.
#include <cstdio>

#include "small.h"

namespace {

void await_line() {
    int c = 0;
    while ((c = std::getchar()) != EOF && c != '\n') {
    }
}

}  // namespace

int main() {
    const Small small = small_start();
    int failed = small_upload_pageable(small, 40) + small_upload_pinned(small, 10);
    std::puts("warm");
    std::fflush(stdout);
    await_line();
    failed += small_upload_pinned(small, 7);
    for (int i = 0; i < 5; ++i) {
        failed += cudaMemcpyAsync(small.device, small.pageable, kSmallBytes, cudaMemcpyHostToDevice, nullptr) ? 1 : 0;
    }
    std::puts("served");
    std::fflush(stdout);
    await_line();
    return failed;
}
