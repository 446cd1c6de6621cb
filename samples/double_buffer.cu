// Double-buffered upload: two page-locked buffers, two streams and an event each, so that the host fills one buffer
// while the other one is copied and worked on. Before it fills a buffer again, the host waits for that buffer's event.
// The first wait of each is for an event that was never recorded, which returns at once.
//
//   double_buffer                       right: wait, fill, copy, kernel, record
//   double_buffer --event-before-copy   the event is recorded before the copy, and says nothing about it: the wait two
//                                       steps later is for the copy before that one
//   double_buffer --refill-before-wait  the buffer is filled first, and then waited for
//
// The device adds up what it was given in each step. In the wrong forms it may or may not have been what it should: how
// often is a matter of luck, and 0 proves nothing. The exit status is 1 when the right form is wrong.
//
// What pincheck reports:
//   double_buffer                       nothing.
//   double_buffer --event-before-copy   source-overwritten-in-flight: the copy at the line marked (2); the wait at (1)
//                                       came too late, or (4) for the last steps. It gates.
//   double_buffer --refill-before-wait  source-overwritten-in-flight: the copy at (2); the wait that came too late is
//   at
//                                       (3). It gates.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSteps = 16;
constexpr std::size_t kCount = 64 * 1024;
constexpr std::size_t kBytes = kCount * sizeof(int);

enum class Form { right, event_before_copy, refill_before_wait };

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "double_buffer: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

void fill(int* data, int value) {
    for (std::size_t i = 0; i < kCount; ++i) {
        data[i] = value;
    }
}

}  // namespace

__global__ void sum_up(const int* data, std::size_t count, unsigned long long* sum) {
    unsigned long long mine = 0;
    for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
        mine += data[i];
    }
    atomicAdd(sum, mine);
}

int main(int argc, char** argv) {
    Form form = Form::right;
    if (argc == 2 && std::strcmp(argv[1], "--event-before-copy") == 0) {
        form = Form::event_before_copy;
    } else if (argc == 2 && std::strcmp(argv[1], "--refill-before-wait") == 0) {
        form = Form::refill_before_wait;
    } else if (argc != 1) {
        std::fprintf(stderr, "usage: double_buffer [--event-before-copy | --refill-before-wait]\n");
        return 2;
    }
    int* host[2] = {};
    int* device[2] = {};
    cudaStream_t stream[2] = {};
    cudaEvent_t done[2] = {};
    for (int i = 0; i < 2; ++i) {
        check(cudaMallocHost(reinterpret_cast<void**>(&host[i]), kBytes), "cudaMallocHost");
        check(cudaMalloc(&device[i], kBytes), "cudaMalloc");
        check(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        check(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
    unsigned long long* sums = nullptr;
    check(cudaMalloc(&sums, kSteps * sizeof(*sums)), "cudaMalloc");
    check(cudaMemset(sums, 0, kSteps * sizeof(*sums)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    for (int step = 0; step < kSteps; ++step) {
        const int i = step % 2;
        if (form != Form::refill_before_wait) {
            check(cudaEventSynchronize(done[i]), "wait for the buffer");  // (1)
        }
        fill(host[i], step + 1);
        if (form == Form::refill_before_wait) {
            check(cudaEventSynchronize(done[i]), "wait for the buffer");  // (3)
        }
        if (form == Form::event_before_copy) {
            check(cudaEventRecord(done[i], stream[i]), "cudaEventRecord");
        }
        check(cudaMemcpyAsync(device[i], host[i], kBytes, cudaMemcpyHostToDevice, stream[i]), "upload");  // (2)
        sum_up<<<1, 256, 0, stream[i]>>>(device[i], kCount, sums + step);
        check(cudaGetLastError(), "launch");
        if (form != Form::event_before_copy) {
            check(cudaEventRecord(done[i], stream[i]), "cudaEventRecord");
        }
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // (4)

    unsigned long long result[kSteps] = {};
    check(cudaMemcpy(result, sums, sizeof(result), cudaMemcpyDeviceToHost), "cudaMemcpy");
    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
        wrong += result[step] == kCount * static_cast<unsigned long long>(step + 1) ? 0 : 1;
    }
    std::printf("double_buffer: %d of %d steps wrong\n", wrong, kSteps);
    for (int i = 0; i < 2; ++i) {
        check(cudaFreeHost(host[i]), "cudaFreeHost");
        check(cudaFree(device[i]), "cudaFree");
        check(cudaEventDestroy(done[i]), "cudaEventDestroy");
        check(cudaStreamDestroy(stream[i]), "cudaStreamDestroy");
    }
    check(cudaFree(sums), "cudaFree");
    return wrong != 0 && form == Form::right ? 1 : 0;
}
