// What the patterns of ordering_matrix.cu are made of: the memory that is in use, and who uses it next.
#pragma once

#include <thread>

#include "races.h"

__global__ void write_to(char* memory) {
    *memory = 1;
}

constexpr std::size_t kPitch = 1024;
constexpr std::size_t kRows = kBytes / kPitch;

SITE inline void download_rows(char* host, const char* device, cudaStream_t stream) {
    CHECK(cudaMemcpy2DAsync(host, kPitch, device, kPitch, kPitch, kRows, cudaMemcpyDeviceToHost, stream));
}
SITE inline void clear_rows(char* device, cudaStream_t stream) {
    CHECK(cudaMemset2DAsync(device, kPitch, 0, kPitch, kRows, stream));
}
inline cudaStream_t blocking_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    return stream;
}
inline char* managed() {
    void* memory = nullptr;
    CHECK(cudaMallocManaged(&memory, kBytes));
    return static_cast<char*>(memory);
}
inline void write_in_kernel(char* memory, cudaStream_t stream) {
    write_to<<<1, 1, 0, stream>>>(memory);
    CHECK(cudaGetLastError());
}
inline void store(char* memory) {
    volatile char& byte = *memory;
    byte = static_cast<char>(byte + 1);
}
template <class Query>
void poll(Query&& query) {
    cudaError_t status = cudaErrorNotReady;
    while ((status = query()) == cudaErrorNotReady) {
        std::this_thread::yield();
    }
    CHECK(status);
}

// ---- Whose memory is in use from begin(), and who uses it after the relation

// The host's: a source that is filled again and a result that is read.
struct Host {
    char* source = pinned();
    char* result = pinned();
    char* device = on_device();
    cudaStream_t stream = nullptr;

    void begin(cudaStream_t in) {
        stream = in;
        upload(device, source, stream);
        download(result, device, stream);
    }
    void use() {
        store(source);
        g_sink = sum(result);
        next_download(result, device, stream);
        wait_for(stream);
        g_sink = sum(result);
    }
};
struct HostKernel {
    char* memory = managed();
    cudaStream_t stream = nullptr;

    void begin(cudaStream_t in) {
        stream = in;
        write_in_kernel(memory, stream);
    }
    void use() {
        g_sink = sum(memory);
        wait_for(stream);
    }
};
// The device's: a range that is copied out in another stream.
struct Device {
    char* memory = on_device();
    char* result = pinned();

    void begin(cudaStream_t stream) { clear(memory, stream); }
    void use(cudaStream_t stream) {
        download(result, memory, stream);
        wait_for(stream);
        g_sink = sum(result);
    }
    void send() { use(side_stream()); }
};
struct DeviceKernel : Device {
    void begin(cudaStream_t stream) { write_in_kernel(memory, stream); }
};
struct Rows : Device {
    void begin(cudaStream_t stream) { clear_rows(memory, stream); }
    void use(cudaStream_t stream) {
        download_rows(result, memory, stream);
        wait_for(stream);
        g_sink = sum(result);
    }
    void send() { use(side_stream()); }
};
struct RowsKernel : Rows {
    void begin(cudaStream_t stream) { write_in_kernel(memory, stream); }
};
