// The functions of the do-nothing runtime of tests/bench, for programs that make very many calls or leave them in odd
// ways. Device addresses are small numbers; page-locked memory is one block of 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int cudaMallocHost(void** out, std::size_t bytes);
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int cudaStreamSynchronize(void* stream);
}

inline void* const kStubDevice = reinterpret_cast<void*>(0x2000);
inline constexpr std::size_t kStubBytes = 4096;
