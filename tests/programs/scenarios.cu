// Small programs that people have reported in public, one a name on the command line (`scenarios NAME [FILE]`). On the
// simulated device a launch takes SIMCUDA_KERNEL_US microseconds; the program has no kernel of its own there.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check_cuda.h"
#include "scenario_library.h"

namespace {

__global__ void work() {}

constexpr std::size_t kMiB = 1 << 20;

char* on_device(std::size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    return static_cast<char*>(memory);
}
cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

// A1: a large malloc buffer up, a long kernel, and down into the same buffer.
SITE void A1() {
    constexpr std::size_t kBytes = 64 * kMiB;
    char* buffer = static_cast<char*>(std::calloc(kBytes, 1));
    char* device = on_device(kBytes);
    const cudaStream_t stream = new_stream();
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaMemcpyAsync(device, buffer, kBytes, cudaMemcpyHostToDevice, stream));
        work<<<1, 1, 0, stream>>>();
        CHECK(cudaMemcpyAsync(buffer, device, kBytes, cudaMemcpyDeviceToHost, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
}

// A2: slices of a file that is mapped read-only, up on a second stream.
SITE void A2(const char* path) {
    constexpr std::size_t kBytes = 4 * kMiB;
    const int file = open(path, O_RDONLY);
    void* mapped = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (mapped == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    char* device = on_device(kBytes);
    new_stream();
    const cudaStream_t second = new_stream();
    for (std::size_t i = 0; i < kBytes; i += kMiB) {
        CHECK(cudaMemcpyAsync(device + i, static_cast<char*>(mapped) + i, kMiB, cudaMemcpyHostToDevice, second));
        CHECK(cudaStreamSynchronize(second));
    }
    munmap(mapped, kBytes);
}

// A3: streams that copy, compute and copy back through two levels of a wrapper library.
SITE void first_user(char* device, char* host, cudaStream_t stream) {
    scenario_transfer(device, host, 64 * 1024, stream);
    asm volatile("" ::: "memory");  // no tail call
}
SITE void second_user(char* device, char* host, cudaStream_t stream) {
    scenario_transfer(device, host, 64 * 1024, stream);
    asm volatile("" ::: "memory");
}
SITE void A3() {
    char* device = on_device(kMiB);
    char* host = static_cast<char*>(std::calloc(kMiB, 1));
    for (int i = 0; i < 3; ++i) {
        const cudaStream_t stream = new_stream();
        first_user(device, host, stream);
        second_user(device, host, stream);
        CHECK(cudaStreamSynchronize(stream));
    }
}

// A4: threads that wait for a kernel in a 4-byte download to a stack variable, beside one that uploads megabytes.
// Prints how long the downloads held their threads by the program's own clock.
std::atomic<long long> waited_ns{0};
SITE void small_downloads(char* device) {
    const cudaStream_t stream = new_stream();
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
        int value = 0;
        work<<<1, 1, 0, stream>>>();
        const auto begin = std::chrono::steady_clock::now();
        CHECK(cudaMemcpyAsync(&value, device, sizeof(value), cudaMemcpyDeviceToHost, stream));
        waited_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
        sum += value;
    }
    if (sum != 0) {
        std::exit(1);
    }
}
SITE void large_uploads(char* device) {
    const cudaStream_t stream = new_stream();
    char* host = static_cast<char*>(std::calloc(kMiB, 1));
    for (int i = 0; i < 4; ++i) {
        CHECK(cudaMemcpyAsync(device, host, kMiB, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    std::free(host);
}
SITE void A4() {
    char* device = on_device(8 * kMiB);
    CHECK(cudaMemset(device, 0, 8 * kMiB));
    CHECK(cudaDeviceSynchronize());
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([=] { small_downloads(device); });
    }
    threads.emplace_back([=] { large_uploads(device + kMiB); });
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::printf("downloads %lld\n", waited_ns.load());
}

// A5: memory that the system locked is pageable to CUDA; the same range registered is not.
SITE void locked_by_the_system(char* device, char* host, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(device, host, kMiB, cudaMemcpyHostToDevice, stream));
}
SITE void locked_by_cuda(char* device, char* host, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(device, host, kMiB, cudaMemcpyHostToDevice, stream));
}
SITE void A5() {
    void* host = nullptr;
    if (posix_memalign(&host, 4096, kMiB) != 0) {
        std::exit(1);
    }
    std::memset(host, 0, kMiB);
    if (mlock(host, kMiB) != 0) {
        std::fprintf(stderr, "mlock is not allowed here\n");  // changes nothing for CUDA
    }
    char* device = on_device(kMiB);
    const cudaStream_t stream = new_stream();
    locked_by_the_system(device, static_cast<char*>(host), stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaHostRegister(host, kMiB, cudaHostRegisterDefault));
    locked_by_cuda(device, static_cast<char*>(host), stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaHostUnregister(host));
    std::free(host);
}

// A6: the user's pinned memory goes through a library's pinned buffer.
SITE void A6() {
    void* mine = nullptr;
    CHECK(cudaMallocHost(&mine, kMiB));
    std::memset(mine, 7, kMiB);
    scenario_upload_through_staging(on_device(kMiB), mine, kMiB);
    CHECK(cudaFreeHost(mine));
}

// S2: a host function fills the source after the call has staged it.
struct Fill {
    char* host;
};
void CUDART_CB fill(void* data) {
    std::memset(static_cast<Fill*>(data)->host, 9, 4096);
}
SITE void S2() {
    char* host = static_cast<char*>(std::calloc(4096, 1));
    char* device = on_device(4096);
    const cudaStream_t stream = new_stream();
    Fill data{host};
    work<<<1, 1, 0, stream>>>();
    CHECK(cudaLaunchHostFunc(stream, fill, &data));
    CHECK(cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    char first = 1;
    CHECK(cudaMemcpy(&first, device, 1, cudaMemcpyDeviceToHost));
    std::printf("uploaded %d\n", first);
}

// D1: a batch whose sources may be read after the call.
SITE void D1() {
#if CUDART_VERSION >= 13000
    constexpr std::size_t kBytes = 64 * 1024;
    const cudaStream_t stream = new_stream();
    char* device = on_device(2 * kBytes);
    char* host = static_cast<char*>(std::calloc(2 * kBytes, 1));
    const void* sources[] = {host, host + kBytes};
    void* const destinations[] = {device, device + kBytes};
    const std::size_t sizes[] = {kBytes, kBytes};
    cudaMemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    std::size_t first[] = {0, 1};
    CHECK(cudaMemcpyBatchAsync(destinations, sources, sizes, 2, attributes, first, 2, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::free(host);
#endif
}

// T1: a blocking copy of a library, made of an asynchronous one and a wait; the same two calls here.
SITE void mine_and_wait(char* device, char* host, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
}
SITE void T1(bool library, bool mine) {
    char* device = on_device(4096);
    char* host = static_cast<char*>(std::calloc(4096, 1));
    const cudaStream_t stream = new_stream();
    for (int i = 0; i < 20; ++i) {
        if (library) {
            framework_copy_and_wait(device, host, 4096, stream);
        }
        if (mine) {
            mine_and_wait(device, host, stream);
        }
    }
}

// M3: the user's code and a vendor's library both download to pageable memory.
SITE void my_download(char* device, cudaStream_t stream) {
    char value[64];
    CHECK(cudaMemcpyAsync(value, device, sizeof(value), cudaMemcpyDeviceToHost, stream));
}
SITE void M3(bool vendor, bool mine) {
    char* device = on_device(4096);
    const cudaStream_t stream = new_stream();
    for (int i = 0; i < 5; ++i) {
        if (vendor) {
            vendor_download(device, stream);
        }
        if (mine) {
            my_download(device, stream);
        }
    }
    CHECK(cudaStreamSynchronize(stream));
}

}  // namespace

int main(int count, char** arguments) {
    const std::string name = count > 1 ? arguments[1] : "";
    if (name == "A1") {
        A1();
    } else if (name == "A2" && count > 2) {
        A2(arguments[2]);
    } else if (name == "A3") {
        A3();
    } else if (name == "A4") {
        A4();
    } else if (name == "A5") {
        A5();
    } else if (name == "A6") {
        A6();
    } else if (name == "S2") {
        S2();
    } else if (name == "D1") {
        D1();
    } else if (name == "T1_library" || name == "T1_user") {
        T1(name == "T1_library", name == "T1_user");
    } else if (name == "M3_vendor" || name == "M3_both") {
        M3(true, name == "M3_both");
    } else {
        std::fprintf(stderr, "usage: scenarios A1|A2 FILE|A3|A4|A5|A6|S2|D1|T1_library|T1_user|M3_vendor|M3_both\n");
        return 2;
    }
    std::printf("done\n");
    return 0;
}
