// The runtime API's half of same_calls.h. With an argument N the Nth call of first_calls() comes before everything
// else, so that each is seen before any context exists. Ends with calls from static destructors: of an object made
// before the first CUDA call (the runtime is unloading then), and of one made after it.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "same_calls.h"

using namespace same_calls;

namespace {

constexpr std::size_t kBytes = 10'000;
const auto kBadKind = static_cast<cudaMemcpyKind>(77);

// The call, then the last error without and with clearing it, then once more.
#define CALL(expression)                                                                    \
    do {                                                                                    \
        errno = kErrnoBefore;                                                               \
        const int code = static_cast<int>(expression);                                      \
        const int after = errno;                                                            \
        const int peeked = cudaPeekAtLastError();                                           \
        const int taken = cudaGetLastError();                                               \
        print("%s -> %d errno %d last %d %d %d\n", #expression, code, after, peeked, taken, \
              static_cast<int>(cudaPeekAtLastError()));                                     \
    } while (false)
// Leaves the last error alone.
#define QUIET(expression)                                       \
    do {                                                        \
        errno = kErrnoBefore;                                   \
        const int code = static_cast<int>(expression);          \
        print("%s -> %d errno %d\n", #expression, code, errno); \
    } while (false)

struct Memory {
    void* device = nullptr;
    void* device2 = nullptr;
    void* pinned = nullptr;
    void* pageable = nullptr;
    void* back = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
};
Memory m;

// In a destructor of a static object.
void last_calls(const char* when) {
    print("-- %s\n", when);
    void* p = untouched();
    CALL(cudaMemcpyAsync(m.device, m.pinned, kBytes, cudaMemcpyHostToDevice, nullptr));
    CALL(cudaMallocHost(&p, 64));
    CALL(cudaStreamSynchronize(nullptr));
    CALL(cudaHostUnregister(m.pageable));
    CALL(cudaFreeHost(nullptr));
    CALL(cudaDeviceSynchronize());
    std::fflush(stdout);
}
struct CallsLate {
    ~CallsLate() { last_calls("destructor of an object made before CUDA was used"); }
};
CallsLate calls_late;

int first_calls(int which) {
    int number = 0;
    void* p = untouched();
    char local[64] = {};
    void* const some = std::malloc(kBytes);
#define FIRST(expression)    \
    if (number++ == which) { \
        CALL(expression);    \
    }
    FIRST(cudaGetLastError())
    FIRST(cudaPeekAtLastError())
    FIRST(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyHostToDevice, nullptr))
    FIRST(cudaMemcpyAsync(local, some, 64, cudaMemcpyHostToHost, nullptr))
    FIRST(cudaMemcpyAsync(local, some, 64, kBadKind, nullptr))
    FIRST(cudaMemcpy(local, some, 64, cudaMemcpyDefault))
    FIRST(cudaMemcpy(nullptr, some, 64, cudaMemcpyHostToDevice))
    FIRST(cudaMallocHost(&p, kBytes))
    FIRST(cudaMallocHost(nullptr, kBytes))
    FIRST(cudaHostAlloc(&p, kBytes, 0xffffu))
    FIRST(cudaFreeHost(nullptr))
    FIRST(cudaFreeHost(local))
    FIRST(cudaHostRegister(some, kBytes, 0))
    FIRST(cudaHostUnregister(some))
    FIRST(cudaStreamSynchronize(nullptr))
    FIRST(cudaDeviceSynchronize())
    FIRST(cudaEventSynchronize(nullptr))
#undef FIRST
    print("first calls %d, out %s, local %u\n", number, given(p), checksum(local, sizeof local));
    return number;
}

void copies() {
    print("-- copies\n");
    fill(m.pinned, kBytes, 3);
    fill(m.pageable, kBytes, 5);
    for (void* const host : {m.pinned, m.pageable}) {
        std::memset(m.back, 0, kBytes);
        CALL(cudaMemcpy(m.device, host, kBytes, cudaMemcpyHostToDevice));
        CALL(cudaMemcpy(m.back, m.device, kBytes, cudaMemcpyDeviceToHost));
        print("back %u\n", checksum(m.back, kBytes));
        CALL(cudaMemcpyAsync(m.device2, host, kBytes / 2, cudaMemcpyHostToDevice, m.stream));
        CALL(cudaMemcpyAsync(m.device, m.device2, kBytes / 2, cudaMemcpyDeviceToDevice, m.stream));
        CALL(cudaMemcpyAsync(m.back, m.device, kBytes, cudaMemcpyDefault, m.stream));
        CALL(cudaStreamSynchronize(m.stream));
        print("back %u\n", checksum(m.back, kBytes));
        CALL(cudaMemcpyAsync(m.device, host, 0, cudaMemcpyHostToDevice, m.stream));
        CALL(cudaMemcpyAsync(m.device, host, kBytes, kBadKind, m.stream));
        CALL(cudaMemcpyAsync(nullptr, host, kBytes, cudaMemcpyHostToDevice, m.stream));
        CALL(cudaMemcpyAsync(m.device, nullptr, kBytes, cudaMemcpyHostToDevice, m.stream));
        CALL(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, m.stream));
        CALL(cudaMemcpy(host, nullptr, kBytes, cudaMemcpyDeviceToHost));
        CALL(cudaMemcpy(m.back, host, kBytes, cudaMemcpyHostToHost));
        CALL(cudaMemcpyAsync(m.device, host, 16, cudaMemcpyHostToDevice, cudaStreamLegacy));
        CALL(cudaMemcpyAsync(m.device, host, 16, cudaMemcpyHostToDevice, cudaStreamPerThread));
    }
}

void page_locked() {
    print("-- page-locked memory\n");
    void* p = untouched();
    unsigned flags = 0;
    CALL(cudaMallocHost(nullptr, 64));
    CALL(cudaMallocHost(&p, 0));
    print("out %s\n", given(p));
    p = untouched();
    CALL(cudaMallocHost(&p, std::size_t{1} << 60));
    print("out %s\n", given(p));
    for (const unsigned asked : {0u, 1u, 2u, 4u, 7u, 8u, 0x100u}) {
        p = untouched();
        CALL(cudaHostAlloc(&p, 4096, asked));
        print("flags %u out %s\n", asked, given(p));
        if (p != untouched() && p != nullptr) {
            CALL(cudaHostGetFlags(&flags, p));
            print("flags %u\n", flags);
            CALL(cudaFreeHost(p));
        }
    }
    CALL(cudaHostAlloc(&p, std::size_t{1} << 60, 0));
    CALL(cudaHostAlloc(nullptr, 64, 0));
    CALL(cudaFreeHost(nullptr));
    CALL(cudaFreeHost(m.pageable));
    CALL(cudaFreeHost(static_cast<char*>(m.pinned) + 8));
    CALL(cudaHostRegister(nullptr, 4096, 0));
    CALL(cudaHostRegister(m.pageable, 0, 0));
    CALL(cudaHostRegister(m.pageable, kBytes, 0xffff0000u));
    CALL(cudaHostRegister(m.pageable, kBytes, 0));
    CALL(cudaHostRegister(m.pageable, kBytes, 0));
    CALL(cudaHostRegister(m.pinned, kBytes, 0));
    CALL(cudaHostGetFlags(&flags, m.pageable));
    print("flags %u\n", flags);
    cudaPointerAttributes attributes{};
    CALL(cudaPointerGetAttributes(&attributes, m.pageable));
    print("type %d\n", static_cast<int>(attributes.type));
    CALL(cudaMemcpyAsync(m.device, m.pageable, kBytes, cudaMemcpyHostToDevice, m.stream));
    CALL(cudaStreamSynchronize(m.stream));
    CALL(cudaHostUnregister(m.pageable));
    CALL(cudaHostUnregister(m.pageable));
    CALL(cudaHostUnregister(nullptr));
    CALL(cudaPointerGetAttributes(&attributes, m.pageable));
    print("type %d\n", static_cast<int>(attributes.type));
}

void waits() {
    print("-- waits\n");
    CALL(cudaStreamSynchronize(nullptr));
    CALL(cudaStreamSynchronize(cudaStreamLegacy));
    CALL(cudaStreamSynchronize(cudaStreamPerThread));
    CALL(cudaStreamSynchronize(m.stream));
    CALL(cudaStreamQuery(m.stream));
    CALL(cudaEventSynchronize(nullptr));
    CALL(cudaEventSynchronize(m.event));
    CALL(cudaEventRecord(m.event, m.stream));
    CALL(cudaStreamWaitEvent(m.stream, m.event, 0));
    CALL(cudaEventSynchronize(m.event));
    CALL(cudaEventQuery(m.event));
    CALL(cudaDeviceSynchronize());
}

// An error stays the last one until it is read, whatever good calls follow.
void last_error() {
    print("-- last error\n");
    QUIET(cudaMemcpyAsync(m.device, m.pinned, kBytes, kBadKind, m.stream));
    QUIET(cudaMemcpyAsync(m.device, m.pinned, kBytes, cudaMemcpyHostToDevice, m.stream));
    QUIET(cudaMemcpyAsync(m.device, m.pageable, kBytes, cudaMemcpyHostToDevice, m.stream));
    QUIET(cudaStreamSynchronize(m.stream));
    QUIET(cudaPeekAtLastError());
    QUIET(cudaFreeHost(m.pageable));
    QUIET(cudaDeviceSynchronize());
    QUIET(cudaPeekAtLastError());
    std::thread([] { QUIET(cudaPeekAtLastError()); }).join();
    QUIET(cudaGetLastError());
    QUIET(cudaGetLastError());
}

void captures() {
    print("-- stream capture\n");
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStreamCaptureStatus status{};
    void* p = untouched();
    fill(m.pinned, kBytes, 11);
    CALL(cudaStreamEndCapture(m.stream, &graph));
    CALL(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeThreadLocal));
    CALL(cudaMemcpyAsync(m.device, m.pinned, kBytes, cudaMemcpyHostToDevice, m.stream));
    CALL(cudaMemcpyAsync(m.back, m.device, kBytes, cudaMemcpyDeviceToHost, m.stream));
    CALL(cudaMemcpyAsync(m.device, m.pinned, kBytes, kBadKind, m.stream));
    CALL(cudaStreamIsCapturing(m.stream, &status));
    print("status %d\n", static_cast<int>(status));
    CALL(cudaStreamEndCapture(m.stream, &graph));
    print("graph %s\n", given(graph));
    if (graph != nullptr) {
        CALL(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    }
    std::memset(m.back, 0, kBytes);
    if (exec != nullptr) {
        CALL(cudaGraphLaunch(exec, m.stream));
        CALL(cudaStreamSynchronize(m.stream));
        print("back %u\n", checksum(m.back, kBytes));
        CALL(cudaGraphExecDestroy(exec));
    }
    if (graph != nullptr) {
        CALL(cudaGraphDestroy(graph));
    }
    // What is not allowed meanwhile, and ends the capture.
    for (int what = 0; what < 4; ++what) {
        graph = nullptr;
        CALL(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
        if (what == 0) {
            CALL(cudaStreamSynchronize(m.stream));
        } else if (what == 1) {
            CALL(cudaDeviceSynchronize());
        } else if (what == 2) {
            CALL(cudaMemcpy(m.device, m.pinned, kBytes, cudaMemcpyHostToDevice));
        } else {
            CALL(cudaMallocHost(&p, 4096));
        }
        CALL(cudaMemcpyAsync(m.device, m.pinned, kBytes, cudaMemcpyHostToDevice, m.stream));
        CALL(cudaStreamEndCapture(m.stream, &graph));
        print("graph %s\n", given(graph));
        if (graph != nullptr) {
            CALL(cudaGraphDestroy(graph));
        }
    }
}

std::atomic<bool> callback_done = false;

void in_callback() {
    CALL(cudaMemcpyAsync(m.device, m.pinned, kBytes, cudaMemcpyHostToDevice, m.stream));
    CALL(cudaMemcpyAsync(m.device, m.pageable, kBytes, kBadKind, m.stream));
    CALL(cudaStreamQuery(m.stream));
    CALL(cudaFreeHost(m.pageable));
    CALL(cudaStreamSynchronize(m.stream));
    callback_done = true;
    callback_done.notify_one();
}

// The stream's own wait may fail; nobody prints while a callback does.
void wait_for_callback(int accepted) {
    if (accepted == cudaSuccess) {
        callback_done.wait(false);
    }
    callback_done = false;
}

void callbacks() {
    std::string written;
    lines = &written;
    const int launched = cudaLaunchHostFunc(
        m.stream, [](void*) { in_callback(); }, nullptr);
    wait_for_callback(launched);
    const int waited = cudaStreamSynchronize(m.stream);
    lines = nullptr;
    print("-- host function %d %d\n%s", launched, waited, written.c_str());
    written.clear();
    lines = &written;
    const int added = cudaStreamAddCallback(
        m.stream, [](cudaStream_t, cudaError_t, void*) { in_callback(); }, nullptr, 0);
    wait_for_callback(added);
    const int waited_again = cudaStreamSynchronize(m.stream);
    lines = nullptr;
    print("-- stream callback %d %d\n%s", added, waited_again, written.c_str());
    CALL(cudaGetLastError());
}

}  // namespace

int main(int argc, char** argv) {
    first_calls(argc > 1 ? std::atoi(argv[1]) : -1);
    m.pageable = std::malloc(kBytes);
    m.back = std::malloc(kBytes);
    CALL(cudaSetDevice(0));
    CALL(cudaMalloc(&m.device, kBytes));
    CALL(cudaMalloc(&m.device2, kBytes));
    CALL(cudaMallocHost(&m.pinned, kBytes));
    CALL(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
    CALL(cudaEventCreateWithFlags(&m.event, cudaEventDisableTiming));
    if (m.device == nullptr || m.device2 == nullptr || m.pinned == nullptr || m.stream == nullptr) {
        return 2;
    }
    copies();
    page_locked();
    waits();
    last_error();
    captures();
    callbacks();
    std::atexit([] { last_calls("exit handler made after CUDA was used"); });
    std::fflush(stdout);
    return 0;
}
