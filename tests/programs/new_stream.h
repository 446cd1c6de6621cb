// Streams, each made in a function that a report can name.
#pragma once

#include "check_cuda.h"

namespace {

SITE cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}
SITE cudaStream_t new_blocking_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    return stream;
}

}  // namespace
