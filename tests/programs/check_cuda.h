// What programs for the tests need in every file: a function that a report can name, and an end at the first error.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define SITE __attribute__((noinline, noclone))
#define CHECK(call)                                                               \
    do {                                                                          \
        const cudaError_t status_ = (call);                                       \
        if (status_ != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_)); \
            std::exit(1);                                                         \
        }                                                                         \
    } while (false)
