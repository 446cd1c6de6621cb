// A library in front of the runtime, as frameworks have: libcopywrap.so, linked at start-up with -z now.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" int copywrap_upload(void* device, const void* host, std::size_t bytes, cudaStream_t stream);
// A framework's blocking copy: the asynchronous copy and, at once, the wait.
extern "C" int copywrap_download_and_wait(void* host, const void* device, std::size_t bytes, cudaStream_t stream);
