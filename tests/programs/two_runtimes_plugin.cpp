// The plugin of two_runtimes.cpp.
#include "small.h"

extern "C" int plugin_uploads() {
    const Small small = small_start();
    const int failed = small_uploads(small, 6);
    cudaDeviceSynchronize();
    small_end(small);
    return failed;
}

extern "C" int plugin_refused() {
    const int status = cudaMemcpyAsync(nullptr, nullptr, kSmallBytes, static_cast<cudaMemcpyKind>(77), nullptr);
    asm volatile("" ::: "memory");  // no tail call, which would leave no return address here (README: not seen)
    return status;
}

extern "C" int plugin_last_error() {
    return cudaGetLastError();
}
