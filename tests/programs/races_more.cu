// More buffers that are used again before their copy is known to be complete, and the same where it is: `races_more
// NAME`. Batches, the host beside the device, rows and threads.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <thread>
#include <vector>

#include "races.h"

__global__ void set_flag(volatile int* flag) {
    *flag = 1;
}

namespace {

// ---- D1, S3: batches, whose sources may be read later or earlier than others'

enum class Reads { in_order, during_call, any };

SITE void copy_batch(char* to, const char* from, cudaStream_t stream, Reads reads) {
#if CUDART_VERSION >= 12080
    constexpr std::size_t kHalf = kBytes / 2;
    void* destinations[] = {to, to + kHalf};
#if CUDART_VERSION >= 13000
    const void* sources[] = {from, from + kHalf};
#else
    void* sources[] = {const_cast<char*>(from), const_cast<char*>(from) + kHalf};
#endif
    std::size_t sizes[] = {kHalf, kHalf};
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = reads == Reads::any           ? cudaMemcpySrcAccessOrderAny
                                : reads == Reads::during_call ? cudaMemcpySrcAccessOrderDuringApiCall
                                                              : cudaMemcpySrcAccessOrderStream;
    std::size_t first[] = {0};
#if CUDART_VERSION >= 13000
    CHECK(cudaMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, first, 1, stream));
#else
    std::size_t failed = 0;
    CHECK(cudaMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, first, 1, &failed, stream));
#endif
#else
    (void)to, (void)from, (void)stream, (void)reads;
    std::puts("no batches");
#endif
}
void batch_from_malloc(Reads reads) {
    const cudaStream_t stream = other_stream();
    char* host = static_cast<char*>(std::calloc(kBytes, 1));
    copy_batch(on_device(), host, stream, reads);
    wait_for(stream);
    std::free(host);
}
void D1() {
    batch_from_malloc(Reads::in_order);
}
void D1_during_call() {
    batch_from_malloc(Reads::during_call);
}
template <class Before>
void batch_behind(Reads reads, Before&& before) {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    before(device, stream);
    copy_batch(host, device, stream, reads);
    wait_for(stream);
    g_sink = sum(host);
}
void S3() {
    batch_behind(Reads::any, [](char*, cudaStream_t stream) { launch(stream); });
}
void S3_filled() {
    batch_behind(Reads::any, [](char* device, cudaStream_t stream) { clear(device, stream); });
}
void S3_copied() {
    static char* const host = pinned();
    batch_behind(Reads::any, [](char* device, cudaStream_t stream) { upload(device, host, stream); });
}
void S3_in_order() {
    batch_behind(Reads::in_order, [](char* device, cudaStream_t stream) {
        clear(device, stream);
        launch(stream);
    });
}
void S3_waited() {
    batch_behind(Reads::any, [](char* device, cudaStream_t stream) {
        clear(device, stream);
        launch(stream);
        wait_for(stream);
    });
}

// ---- D5: memory that a callback gives back, which it may not

SITE void release_in_callback(void* host) {
    (void)cudaFreeHost(host);       // as in the programs that do this: the result is ignored
    asm volatile("" ::: "memory");  // no tail call
}
void call_back(cudaStreamCallback_t callback) {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    for (int step = 0; step < 4; ++step) {
        char* host = pinned();
        upload(device, host, stream);
        CHECK(cudaStreamAddCallback(stream, callback, host, 0));
    }
    wait_for(stream);
}
void D5() {
    call_back([](cudaStream_t, cudaError_t, void* host) { release_in_callback(host); });
}
void D5_left() {
    call_back([](cudaStream_t, cudaError_t, void*) {});
}

// ---- L3, G4: the host and the device signal each other through memory

char* mapped(std::size_t bytes, void** on_the_device) {
    void* memory = nullptr;
    CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(on_the_device, memory, 0));
    return static_cast<char*>(memory);
}
void L3() {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    void* flag_on_device = nullptr;
    volatile std::uint32_t* flag = reinterpret_cast<volatile std::uint32_t*>(mapped(4, &flag_on_device));
    for (std::uint32_t step = 1; step < 4; ++step) {
        check(cuStreamWaitValue32(reinterpret_cast<CUstream>(stream), reinterpret_cast<CUdeviceptr>(flag_on_device),
                                  step, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS,
              "cuStreamWaitValue32");
        upload(device, host, stream);
        std::memset(host, static_cast<int>(step), kBytes);
        *flag = step;
        wait_for(stream);
    }
}
void G4() {
    const cudaStream_t stream = other_stream();
    void* flag_on_device = nullptr;
    volatile int* flag = reinterpret_cast<volatile int*>(mapped(4, &flag_on_device));
    char* device = on_device();
    char* host = pinned();
    for (int step = 0; step < 3; ++step) {
        *flag = 0;
        upload(device, host, stream);
        set_flag<<<1, 1, 0, stream>>>(static_cast<volatile int*>(flag_on_device));
        CHECK(cudaGetLastError());
        while (*flag == 0) {
            std::this_thread::yield();
        }
    }
    wait_for(stream);
}
// A result that is there when the flag is.
void G4_result() {
    const cudaStream_t stream = other_stream();
    void* flag_on_device = nullptr;
    volatile int* flag = reinterpret_cast<volatile int*>(mapped(4, &flag_on_device));
    char* device = on_device();
    char* host = pinned();
    for (int step = 0; step < 3; ++step) {
        *flag = 0;
        download(host, device, stream);
        set_flag<<<1, 1, 0, stream>>>(static_cast<volatile int*>(flag_on_device));
        CHECK(cudaGetLastError());
        while (*flag == 0) {
            std::this_thread::yield();
        }
        g_sink = sum(host);
    }
    wait_for(stream);
}

// ---- K10: memory beside what the program uses, system calls, and the program's own handler

sigjmp_buf g_jump;
void on_fault(int) {
    siglongjmp(g_jump, 1);
}
void K10() {
    struct sigaction action {};
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER;
    check(sigaction(SIGSEGV, &action, nullptr) == 0, "sigaction");
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    // Unaligned, with live heap on both sides.
    char* block = static_cast<char*>(std::malloc(3 * 4096));
    std::memset(block, 5, 3 * 4096);
    char* inside = block + 1000;
    CHECK(cudaHostRegister(inside, 4096, cudaHostRegisterDefault));
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    char sent[4096];
    std::memset(sent, 9, sizeof sent);
    for (int step = 0; step < 3; ++step) {
        upload(device, inside, stream, 4096);
        block[0] = static_cast<char>(step);  // a neighbour, not the range
        check(write(ends[1], sent, sizeof sent) == sizeof sent, "write");
        check(read(ends[0], inside, 4096) == 4096, "read into the range in flight");
        wait_for(stream);
        check(inside[0] == 9 && inside[4095] == 9 && block[999] == 5 && inside[4096] == 5, "what was read");
    }
    char local[256] = {};
    CHECK(cudaHostRegister(local, sizeof local, cudaHostRegisterDefault));
    upload(device, local, stream, sizeof local);
    local[0] = 1;
    wait_for(stream);
    CHECK(cudaHostUnregister(local));
    CHECK(cudaHostUnregister(inside));
    std::free(block);
    char* const nothing = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    volatile bool caught = false;
    if (sigsetjmp(g_jump, 1) == 0) {
        *static_cast<volatile char*>(nothing) = 1;
    } else {
        caught = true;
    }
    check(caught, "the program's own handler ran");
}

// ---- Columns of one pitched buffer

SITE void download_rows(char* host, const char* device, std::size_t width, cudaStream_t stream) {
    CHECK(cudaMemcpy2DAsync(host, 1024, device, 1024, width, 32, cudaMemcpyDeviceToHost, stream));
}
void columns(std::size_t between) {
    const cudaStream_t first = side_stream();
    const cudaStream_t second = other_stream();
    char* host = pinned();
    char* device = on_device();
    download_rows(host, device, 512, first);
    download_rows(host + between, device + between, 512, second);
    CHECK(cudaDeviceSynchronize());
    g_sink = sum(host);
}
void pitched_neighbours() {
    columns(512);
}
void pitched_same_rows() {
    columns(0);
}

// ---- Threads and default streams

void two_threads() {
    const auto body = [] {
        const cudaStream_t stream = other_stream();
        char* device = on_device();
        char* host = pinned();
        for (int step = 0; step < 50; ++step) {
            upload(device, host, stream);
            download(host, device, stream);
            wait_for(stream);
        }
    };
    std::thread first(body);
    std::thread second(body);
    first.join();
    second.join();
}
// Each copy is complete on return, whatever the other thread puts into the same stream meanwhile.
void synchronous_beside_others() {
    std::atomic<bool> done{false};
    std::thread other([&] {
        char* device = on_device();
        while (!done) {
            for (int i = 0; i < 4; ++i) {
                clear(device, nullptr);
            }
            wait_for(nullptr);
        }
    });
    char* device = on_device();
    std::vector<char> pageable(kBytes);
    for (int step = 0; step < 50; ++step) {
        char* host = pinned();
        CHECK(cudaMemcpy(host, device, kBytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(device, host, kBytes, cudaMemcpyHostToDevice));
        release(host);
        CHECK(cudaMemcpy(pageable.data(), device, kBytes, cudaMemcpyDeviceToHost));
    }
    done = true;
    other.join();
}
void per_thread_and_legacy() {
    char* slab = on_device();
    char* host = pinned();
    download(host, slab, cudaStreamPerThread);
    clear(slab, cudaStreamLegacy);
    CHECK(cudaDeviceSynchronize());
}
void per_thread_of_two() {
    char* slab = on_device();
    char* host = pinned();
    download(host, slab, cudaStreamPerThread);
    std::thread([slab] {
        clear(slab, cudaStreamPerThread);
        wait_for(cudaStreamPerThread);
    }).join();
    CHECK(cudaDeviceSynchronize());
}

constexpr Half kHalves[] = {
    {"D1", D1},
    {"D1_during_call", D1_during_call},
    {"S3", S3},
    {"S3_filled", S3_filled},
    {"S3_copied", S3_copied},
    {"S3_in_order", S3_in_order},
    {"S3_waited", S3_waited},
    {"D5", D5},
    {"D5_left", D5_left},
    {"L3", L3},
    {"G4", G4},
    {"G4_result", G4_result},
    {"K10", K10},
    {"pitched_neighbours", pitched_neighbours},
    {"pitched_same_rows", pitched_same_rows},
    {"two_threads", two_threads},
    {"synchronous_beside_others", synchronous_beside_others},
    {"per_thread_and_legacy", per_thread_and_legacy},
    {"per_thread_of_two", per_thread_of_two},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
