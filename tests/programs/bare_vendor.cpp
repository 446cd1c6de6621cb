// A vendor's library without unwind tables and symbols (built so: scenario K9), through which copies go: straight into
// the runtime, and through a callback of the program's.
#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" int bare_upload(void* device, const void* host, std::size_t bytes) {
    const int status = cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, nullptr);
    asm volatile("" ::: "memory");
    return status;
}

extern "C" int bare_call(int (*function)(void*), void* data) {
    const int status = function(data);
    asm volatile("" ::: "memory");
    return status;
}
