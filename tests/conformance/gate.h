// A kernel that runs until the host opens it, and the question it answers: does this call wait for the device?
//
// The answer comes from an order of events, never from a duration. An opener thread opens the gate either because the
// call returned (so it did not wait) or after a deadline (so it had been waiting). The deadline only bounds how long a
// test of a waiting call takes; it is far above what any call costs that does not wait.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>

#define CUDA_OK(call) ASSERT_EQ(call, cudaSuccess) << #call

namespace conformance {

constexpr auto kDeadline = std::chrono::milliseconds(2000);
// For a call that is expected to wait: so short a deadline can only make such a test pass wrongly, on a machine where a
// call that does not wait (0.2 ms at most on an H200's host) takes longer than this.
constexpr auto kSoon = std::chrono::milliseconds(300);

class Gate {
  public:
    Gate();
    ~Gate();  // opens it and waits until the kernel is gone
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void close_in(cudaStream_t stream);
    void open();

  private:
    int* flag_ = nullptr;
    cudaStream_t stream_ = nullptr;
    bool closed_ = false;
};

// A __device__ variable, as the functions for symbols want it.
constexpr std::size_t kSymbolSize = 64;
const void* symbol();

// Launches a kernel that does nothing.
void launch_empty(cudaStream_t stream);

// Whether `call` waits while the gate is closed. The gate is open afterwards.
bool waits(Gate& gate, const std::function<void()>& call, std::chrono::milliseconds deadline = kDeadline);

// How many of at most `limit` calls return while the gate is closed: the number that had returned when no further one
// did for a second.
int calls_before_waiting(Gate& gate, int limit, const std::function<void(int)>& call);

}  // namespace conformance
