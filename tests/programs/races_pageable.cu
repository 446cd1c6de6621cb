// Sources in pageable memory that are used again before the host has waited for their copy, and the same where it
// waits: `races_pageable NAME`. Right as long as the driver stages such memory inside the call.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "races.h"

namespace {

// Like most such buffers: with neighbours on its pages.
char* on_the_heap(std::size_t bytes = kBytes) {
    return static_cast<char*>(std::aligned_alloc(4096, (bytes + 2 * 4096) / 4096 * 4096)) + 64;
}
void wait_if(bool waited, cudaStream_t stream) {
    if (waited) {
        wait_for(stream);
    }
}
__attribute__((noinline)) void store(char* where, char value) {
    *static_cast<volatile char*>(where) = value;
}

// A7: filled, uploaded and filled again.
void A7(bool waited) {
    const cudaStream_t stream = other_stream();
    char* host = on_the_heap();
    char* device = on_device();
    for (int step = 0; step < 4; ++step) {
        std::memset(host, step + 1, kBytes);
        upload(device, host, stream);
        launch(stream);
        wait_if(waited, stream);
    }
    wait_for(stream);
}
// One byte in the middle of a page, which samples of the contents need not have.
void one_byte(bool waited) {
    const cudaStream_t stream = other_stream();
    char* host = on_the_heap();
    upload(on_device(), host, stream);
    wait_if(waited, stream);
    store(host + 21'007, 5);
    wait_for(stream);
}
// Ten floats: nothing but edges.
void small(bool waited) {
    const cudaStream_t stream = other_stream();
    char* host = on_the_heap(40);
    upload(on_device(), host, stream, 40);
    wait_if(waited, stream);
    store(host + 39, 1);
    wait_for(stream);
}
void neighbours() {
    const cudaStream_t stream = other_stream();
    char* slab = on_the_heap(2 * kBytes);
    upload(on_device(), slab + 100, stream);
    store(slab + 99, 1);
    store(slab + 100 + kBytes, 1);
    wait_for(stream);
}
void unmapped() {
    const cudaStream_t stream = other_stream();
    void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(host, 1, kBytes);
    upload(on_device(), static_cast<char*>(host), stream);
    munmap(host, kBytes);
    wait_for(stream);
}
// The buffer grows by moving, and goes on to be filled.
void moved() {
    const cudaStream_t stream = other_stream();
    constexpr std::size_t kLarge = 4 << 20;
    char* host = static_cast<char*>(std::malloc(kLarge));
    std::memset(host, 1, kLarge);
    char* device = on_device(kLarge);
    upload(device, host, stream, kBytes);
    host = static_cast<char*>(std::realloc(host, 8 * kLarge));
    std::memset(host, 2, kLarge);
    wait_for(stream);
    std::vector<char> back(kBytes);
    CHECK(cudaMemcpy(back.data(), device, kBytes, cudaMemcpyDeviceToHost));
    check(back.front() == 1 && back.back() == 1, "the copy has what was there when it was made");
}
// Not watched: other things lie there, and the kernel lets it grow.
void on_the_stack() {
    const cudaStream_t stream = other_stream();
    char host[4096] = {};
    upload(on_device(), host, stream, sizeof host);
    store(host + 1, 1);
    wait_for(stream);
}
SITE void lock_pages(char* host) {
    CHECK(cudaHostRegister(host, kBytes, cudaHostRegisterDefault));
}
// What page-locks the buffer while its pages are watched keeps it, and is watched itself.
void registered_meanwhile(bool waited) {
    const cudaStream_t stream = other_stream();
    void* memory = nullptr;
    check(posix_memalign(&memory, 4096, kBytes) == 0, "posix_memalign");
    std::memset(memory, 0, kBytes);
    char* host = static_cast<char*>(memory);
    char* device = on_device();
    upload(device, host, stream);
    lock_pages(host);
    wait_for(stream);
    upload(device, host, stream);
    wait_if(waited, stream);
    store(host, 1);
    wait_for(stream);
    CHECK(cudaHostUnregister(host));
    std::memset(host, 2, kBytes);
}
void fork_while_watched() {
    const cudaStream_t stream = other_stream();
    char* host = on_the_heap();
    upload(on_device(), host, stream);
    const pid_t child = fork();
    if (child == 0) {
        std::memset(host, 3, kBytes);
        _exit(host[kBytes - 1] == 3 ? 0 : 1);
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "the child has its own memory");
    wait_for(stream);
}
// Every thread makes, fills, uploads, waits and frees: memory goes from one to the next.
void many_threads() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 8; ++number) {
        threads.emplace_back([number] {
            const cudaStream_t stream = other_stream();
            char* device = on_device();
            std::vector<char> back(kBytes);
            for (int step = 0; step < 60; ++step) {
                const std::size_t bytes = 100 + 977u * static_cast<std::size_t>((step * 7 + number) % 60);
                char* host = static_cast<char*>(std::malloc(bytes));
                const char value = static_cast<char>(1 + (number + step) % 100);
                std::memset(host, value, bytes);
                upload(device, host, stream, bytes);
                wait_for(stream);
                std::free(host);
                CHECK(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
                check(back[0] == value && back[bytes - 1] == value, "what was uploaded is there");
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

constexpr Half kHalves[] = {
    {"A7", [] { A7(false); }},
    {"A7_waited", [] { A7(true); }},
    {"one_byte", [] { one_byte(false); }},
    {"one_byte_waited", [] { one_byte(true); }},
    {"small", [] { small(false); }},
    {"small_waited", [] { small(true); }},
    {"neighbours", neighbours},
    {"unmapped", unmapped},
    {"moved", moved},
    {"on_the_stack", on_the_stack},
    {"registered_meanwhile", [] { registered_meanwhile(false); }},
    {"registered_meanwhile_waited", [] { registered_meanwhile(true); }},
    {"fork_while_watched", fork_while_watched},
    {"many_threads", many_threads},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
