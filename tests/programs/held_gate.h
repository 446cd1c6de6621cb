// The gate that holds calls in held_calls.cu, and the calls that are held by it, each a function that a report can
// name.
//
// A gate is a kernel that runs until the host opens it. A half whose call waits for the gate says "inside" right before
// it, and a second thread opens the gate when a line comes on stdin: whoever runs the program can see first that the
// call has begun. A half whose call must not wait opens the gate itself, after it.
#pragma once

#include <thread>

#include "check_cuda.h"
#include "new_stream.h"

constexpr std::size_t kMiB = 1 << 20;

__global__ void hold(volatile int* open) {
    while (*open == 0) {
    }
}
__global__ void work() {}
__global__ void other_work() {}

namespace {

// One gate at a time; each closing has a word of its own, since the one before may still be read.
class Gate {
  public:
    Gate() { CHECK(cudaHostAlloc(reinterpret_cast<void**>(&words_), sizeof(int) * 1024, cudaHostAllocMapped)); }
    SITE void close_in(cudaStream_t stream) {
        int* word = &words_[++last_];
        *word = 0;
        int* on_device = nullptr;
        CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&on_device), word, 0));
        hold<<<1, 1, 0, stream>>>(on_device);
        CHECK(cudaGetLastError());
    }
    void open() { *static_cast<volatile int*>(&words_[last_]) = 1; }

  private:
    int* words_ = nullptr;
    int last_ = 0;
};

// Never destroyed: releasing its memory would be one more wait.
Gate& gate() {
    static Gate& instance = *new Gate;
    return instance;
}

void read_line() {
    int c = 0;
    while ((c = std::getchar()) != '\n' && c != EOF) {
    }
}
void say_inside() {
    std::puts("inside");
    std::fflush(stdout);
}

// Runs `call`, which waits for the gate, and opens that when a line comes on stdin.
template <class Call>
void opened_from_outside(Call&& call) {
    say_inside();
    std::thread opener([] {
        read_line();
        gate().open();
    });
    call();
    opener.join();
}

char* on_device(std::size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes));
    return static_cast<char*>(memory);
}
char* pinned(std::size_t bytes) {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, bytes));
    return static_cast<char*>(memory);
}
char* pageable(std::size_t bytes) {
    return static_cast<char*>(std::calloc(bytes, 1));
}

SITE void upload(char* device, const char* host, std::size_t bytes, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
}
SITE void download(char* host, const char* device, std::size_t bytes, cudaStream_t stream) {
    CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}
SITE void wait_for(cudaStream_t stream) {
    CHECK(cudaStreamSynchronize(stream));
}
SITE void launch_work(cudaStream_t stream) {
    work<<<1, 1, 0, stream>>>();
    CHECK(cudaGetLastError());
}
SITE void launch_other_work(cudaStream_t stream) {
    other_work<<<1, 1, 0, stream>>>();
    CHECK(cudaGetLastError());
}

}  // namespace
