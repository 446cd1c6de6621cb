// Buffers used again while the host does not know that their copy is complete, where it is known how far the device
// was: `races_times NAME`. Corrupting halves hold the copy back by a kernel that waits for the host; in latent ones the
// copy has ended, which a flag in memory says that is no wait of CUDA's.
#include <chrono>
#include <thread>

#include "races.h"

__global__ void hold(volatile int* open) {
    while (*open == 0) {
    }
}
__global__ void set_flag(volatile int* flag) {
    *flag = 1;
}

namespace {

// Word in memory of the host that kernels see too.
class Flag {
  public:
    Flag() {
        void* memory = nullptr;
        void* there = nullptr;
        CHECK(cudaHostAlloc(&memory, 1 << 20, cudaHostAllocMapped));
        CHECK(cudaHostGetDevicePointer(&there, memory, 0));
        word_ = static_cast<volatile int*>(memory);
        on_the_device_ = static_cast<volatile int*>(there);
        *word_ = 0;
    }
    void hold_until_set(cudaStream_t stream) {
        hold<<<1, 1, 0, stream>>>(on_the_device_);
        CHECK(cudaGetLastError());
    }
    void set_behind(cudaStream_t stream) {
        set_flag<<<1, 1, 0, stream>>>(on_the_device_);
        CHECK(cudaGetLastError());
    }
    void set() { *word_ = 1; }
    void poll() const {
        while (*word_ == 0) {
            std::this_thread::yield();
        }
    }

  private:
    volatile int* word_ = nullptr;
    volatile int* on_the_device_ = nullptr;
};

// What lies this far apart is not a matter of how well the clocks of host and device agree.
void let_time_pass() {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(2)) {
    }
}

SITE void next_upload(char* device, const char* host, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));
}

void copy_corrupting() {
    const cudaStream_t first = side_stream();
    const cudaStream_t second = other_stream();
    char* host = pinned();
    char* device = on_device();
    Flag open;
    open.hold_until_set(first);
    upload(device, host, first);
    download(host, on_device(), second);
    CHECK(cudaStreamSynchronize(second));
    let_time_pass();
    open.set();
    CHECK(cudaDeviceSynchronize());
}
void copy_latent() {
    const cudaStream_t first = side_stream();
    const cudaStream_t second = other_stream();
    char* host = pinned();
    char* device = on_device();
    Flag done;
    upload(on_device(), host, first);
    done.set_behind(first);
    done.poll();
    let_time_pass();
    download(host, device, second);
    CHECK(cudaDeviceSynchronize());
}
// The next upload looks at the memory, while the first one is still held back.
void host_corrupting() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    char* device = on_device();
    Flag open;
    open.hold_until_set(stream);
    upload(device, host, stream);
    std::memset(host, 1, kBytes);
    next_upload(device, host, stream);
    let_time_pass();
    open.set();
    wait_for(stream);
}
// The next upload has looked at the memory when the first one had ended.
void host_latent() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    char* device = on_device();
    Flag done;
    Flag open;
    upload(device, host, stream);
    done.set_behind(stream);
    done.poll();
    let_time_pass();
    open.hold_until_set(stream);
    next_upload(device, host, stream);
    std::memset(host, 1, kBytes);
    open.set();
    wait_for(stream);
}

constexpr Half kHalves[] = {
    {"copy_corrupting", copy_corrupting},
    {"copy_latent", copy_latent},
    {"host_corrupting", host_corrupting},
    {"host_latent", host_latent},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
