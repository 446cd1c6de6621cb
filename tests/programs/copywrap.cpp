#include "copywrap.h"

int copywrap_upload(void* device, const void* host, std::size_t bytes, cudaStream_t stream) {
    const int status = cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);
    asm volatile("" ::: "memory");  // no tail call: this frame must stay
    return status;
}

int copywrap_download_and_wait(void* host, const void* device, std::size_t bytes, cudaStream_t stream) {
    const int status = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
    return status != 0 ? status : static_cast<int>(cudaStreamSynchronize(stream));
}
