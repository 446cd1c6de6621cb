// Shares device memory with another process, which is this program again with the handle as its argument.
// Must be recorded, each in its own process's file, all of them asynchronous, device memory on the device's side:
//   parent: 3 uploads from pinned, 2 from pageable memory before the other process lives; 1 download to pinned, 1 to
//           pageable memory afterwards
//   child:  4 downloads to pinned, 5 to pageable memory; 2 uploads from pageable, 1 from pinned memory; 1 copy inside
//           the device, from the opened memory to its own
#include <cuda_runtime_api.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr std::size_t kBytes = 10000;

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s failed: %d\n", what, static_cast<int>(error));
        std::exit(3);
    }
}

void check_bytes(const void* memory, int byte, const char* what) {
    for (std::size_t i = 0; i < kBytes; ++i) {
        if (static_cast<const unsigned char*>(memory)[i] != byte) {
            std::fprintf(stderr, "%s: other bytes\n", what);
            std::exit(4);
        }
    }
}

struct Host {
    void* pinned = nullptr;
    void* pageable = std::malloc(kBytes);
};

Host make_host() {
    Host host;
    check(cudaMallocHost(&host.pinned, kBytes), "cudaMallocHost");
    return host;
}

// One call site a kind of copy.
void upload(void* device, const void* host, int times) {
    for (int i = 0; i < times; ++i) {
        check(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, nullptr), "upload");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void download(void* host, const void* device, int times) {
    for (int i = 0; i < times; ++i) {
        check(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, nullptr), "download");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

cudaIpcMemHandle_t handle_of(const char* text) {
    cudaIpcMemHandle_t handle{};
    for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
        unsigned byte = 0;
        if (std::sscanf(text + 2 * i, "%2x", &byte) != 1) {
            std::exit(2);
        }
        handle.reserved[i] = static_cast<char>(byte);
    }
    return handle;
}

std::string text_of(const cudaIpcMemHandle_t& handle) {
    std::string text;
    for (const char byte : handle.reserved) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

int child(const char* handle) {
    void *memory = nullptr, *own = nullptr;
    check(cudaIpcOpenMemHandle(&memory, handle_of(handle), cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
    check(cudaMalloc(&own, kBytes), "cudaMalloc");
    const Host host = make_host();
    download(host.pinned, memory, 4);
    check_bytes(host.pinned, 2, "download to pinned memory");
    download(host.pageable, memory, 5);
    check_bytes(host.pageable, 2, "download to pageable memory");
    check(cudaMemcpyAsync(own, memory, kBytes, cudaMemcpyDeviceToDevice, nullptr), "copy inside the device");
    std::memset(host.pageable, 3, kBytes);
    upload(memory, host.pageable, 2);
    std::memset(host.pinned, 4, kBytes);
    upload(memory, host.pinned, 1);
    check(cudaIpcCloseMemHandle(memory), "cudaIpcCloseMemHandle");
    return 0;
}

int parent(char* name) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, kBytes), "cudaMalloc");
    const Host host = make_host();
    std::memset(host.pinned, 1, kBytes);
    upload(memory, host.pinned, 3);
    std::memset(host.pageable, 2, kBytes);
    upload(memory, host.pageable, 2);
    cudaIpcMemHandle_t handle{};
    check(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
    std::string text = text_of(handle);
    char* const arguments[] = {name, text.data(), nullptr};
    pid_t pid = -1;
    int status = -1;
    if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        std::fprintf(stderr, "the other process: status %d\n", status);
        return 5;
    }
    download(host.pinned, memory, 1);
    check_bytes(host.pinned, 4, "what the other process wrote");
    download(host.pageable, memory, 1);
    check_bytes(host.pageable, 4, "what the other process wrote");
    check(cudaFree(memory), "cudaFree");
    std::puts("both saw the other's bytes");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return argc > 1 ? child(argv[1]) : parent(argv[0]);
}
