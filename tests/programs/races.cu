// Buffers that are used again before their copy is known to be complete, and the same where it is: `races NAME`, one
// name a half (scenario ids are those of the tests). What the device happens to have done by then plays no part.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "races.h"

namespace {

// ---- R1: the result of each step is overwritten by the next

void R1() {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    for (int step = 0; step < 5; ++step) {
        launch(stream);
        download(host, device, stream);
    }
    wait_for(stream);
    g_sink = sum(host);
}
void R1_waited() {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    for (int step = 0; step < 5; ++step) {
        launch(stream);
        download(host, device, stream);
        wait_for(stream);
        g_sink = sum(host);
    }
}
void R1_queried() {
    const cudaStream_t stream = other_stream();
    const cudaEvent_t event = new_event();
    char* device = on_device();
    char* host = pinned();
    for (int step = 0; step < 5; ++step) {
        download(host, device, stream);
        CHECK(cudaEventRecord(event, stream));
        cudaError_t status = cudaErrorNotReady;
        while ((status = cudaEventQuery(event)) == cudaErrorNotReady) {
        }
        CHECK(status);
        g_sink = sum(host);
    }
}
// Left at exit.
void R1_exit() {
    download(pinned(), on_device(), other_stream());
}
void R1_released() {
    char* host = pinned();
    download(host, on_device(), other_stream());
    release(host);
}
// Given back in flight; nothing is lost.
void released_upload() {
    char* host = pinned();
    upload(on_device(), host, other_stream());
    release(host);
}
void released_after_wait() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    upload(on_device(), host, stream);
    download(host, on_device(), stream);
    wait_for(stream);
    release(host);
}

// ---- E2: cudaFree is no wait that anybody promises

void E2() {
    char* host = pinned();
    char* unrelated = on_device();
    download(host, on_device(), other_stream());
    CHECK(cudaFree(unrelated));
    g_sink = sum(host);
}

// ---- S1: one device range in two streams

void S1() {
    const cudaStream_t side = side_stream();
    const cudaStream_t main_stream = other_stream();
    char* slab = on_device();
    char* host = pinned();
    download(host, slab, side);
    clear(slab, main_stream);
    CHECK(cudaDeviceSynchronize());
    g_sink = sum(host);
}
void S1_ordered() {
    const cudaStream_t side = side_stream();
    const cudaStream_t main_stream = other_stream();
    const cudaEvent_t event = new_event();
    char* slab = on_device();
    char* host = pinned();
    for (int step = 0; step < 3; ++step) {
        download(host, slab, side);
        CHECK(cudaEventRecord(event, side));
        CHECK(cudaStreamWaitEvent(main_stream, event, 0));
        clear(slab, main_stream);
        CHECK(cudaDeviceSynchronize());
        g_sink = sum(host);
    }
}
// Blocking streams are kept apart by the legacy default stream.
void S1_legacy() {
    cudaStream_t side = nullptr;
    CHECK(cudaStreamCreate(&side));
    char* slab = on_device();
    char* host = pinned();
    download(host, slab, side);
    clear(slab, nullptr);
    CHECK(cudaDeviceSynchronize());
    g_sink = sum(host);
}
// The pool gives the range to another stream, behind the first one's work.
void S1_pool() {
    const cudaStream_t side = side_stream();
    const cudaStream_t main_stream = other_stream();
    const cudaEvent_t event = new_event();
    void* first = nullptr;
    CHECK(cudaMallocAsync(&first, kBytes, side));
    clear(static_cast<char*>(first), side);
    CHECK(cudaFreeAsync(first, side));
    CHECK(cudaEventRecord(event, side));
    CHECK(cudaStreamWaitEvent(main_stream, event, 0));
    void* second = nullptr;
    CHECK(cudaMallocAsync(&second, kBytes, main_stream));
    clear(static_cast<char*>(second), main_stream);
    CHECK(cudaFreeAsync(second, main_stream));
    CHECK(cudaDeviceSynchronize());
}

// ---- Copies that use one host range

void overwritten_source() {
    const cudaStream_t first = side_stream();
    const cudaStream_t second = other_stream();
    char* host = pinned();
    upload(on_device(), host, first);
    download(host, on_device(), second);
    CHECK(cudaDeviceSynchronize());
}
void overwritten_source_ordered() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    upload(on_device(), host, stream);
    download(host, on_device(), stream);
    CHECK(cudaDeviceSynchronize());
}
void read_too_early() {
    const cudaStream_t first = side_stream();
    const cudaStream_t second = other_stream();
    char* host = pinned();
    download(host, on_device(), first);
    upload(on_device(), host, second);
    CHECK(cudaDeviceSynchronize());
}
// Through the host: what was downloaded is uploaded again, in order, and then overwritten.
void through_the_host() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    char* device = on_device();
    for (int step = 0; step < 4; ++step) {
        download(host, device, stream);
        upload(on_device(), host, stream);
    }
    CHECK(cudaDeviceSynchronize());
}

// ---- L1, L2, L4, L5, L6: legal

void L1() {
    const cudaStream_t stream = other_stream();
    static char* const host = pinned();
    char* device = on_device();
    for (int step = 0; step < 3; ++step) {
        CHECK(cudaLaunchHostFunc(
            stream, [](void*) { std::memset(host, 1, kBytes); }, nullptr));
        upload(device, host, stream);
    }
    wait_for(stream);
}
void L2() {
    const cudaStream_t stream = other_stream();
    static char* const host = pinned();
    char* device = on_device();
    for (int step = 0; step < 5; ++step) {
        download(host, device, stream);
        CHECK(cudaLaunchHostFunc(
            stream, [](void*) { g_sink = sum(host); }, nullptr));
    }
    wait_for(stream);
}
void L4() {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    void* flag_memory = nullptr;
    CHECK(cudaHostAlloc(&flag_memory, 4, cudaHostAllocMapped));
    volatile std::uint32_t* flag = static_cast<std::uint32_t*>(flag_memory);
    CUdeviceptr address = 0;
    void* mapped = nullptr;
    CHECK(cudaHostGetDevicePointer(&mapped, flag_memory, 0));
    address = reinterpret_cast<CUdeviceptr>(mapped);
    for (std::uint32_t step = 1; step < 5; ++step) {
        download(host, device, stream);
        if (cuStreamWriteValue32(reinterpret_cast<CUstream>(stream), address, step, 0) != CUDA_SUCCESS) {
            std::exit(1);
        }
        while (*flag != step) {
            std::this_thread::yield();
        }
        g_sink = sum(host);
    }
}
void L5() {
    const cudaStream_t streams[] = {other_stream(), other_stream()};
    char* device = on_device(8 * kBytes);
    char* slab = pinned(8 * kBytes);
    for (int step = 0; step < 4; ++step) {
        for (int block = 0; block < 8; ++block) {
            char* const slice = slab + static_cast<std::size_t>(block) * kBytes;
            std::memset(slice, step, kBytes);
            upload(device + static_cast<std::size_t>(block) * kBytes, slice, streams[block % 2]);
        }
        // One buffer in two streams at once: both only read it.
        upload(on_device(), slab, streams[1]);
        wait_for(streams[0]);
        wait_for(streams[1]);
    }
}
void L6() {
    const cudaStream_t stream = other_stream();
    char* device[] = {on_device(), on_device()};
    char* host[] = {pinned(), pinned()};
    const cudaEvent_t free[] = {new_event(), new_event()};
    for (int step = 0; step < 6; ++step) {
        CHECK(cudaEventSynchronize(free[step % 2]));
        std::memset(host[step % 2], step, kBytes);
        upload(device[step % 2], host[step % 2], stream);
        CHECK(cudaEventRecord(free[step % 2], stream));
        launch(stream);
    }
    wait_for(stream);
}

// ---- S2: staged before a host function fills it

struct Fill {
    char* memory;
    std::atomic<bool> go{false};
};
void fill(void* data) {
    Fill& filled = *static_cast<Fill*>(data);
    while (!filled.go.load()) {
        std::this_thread::yield();
    }
    std::memset(filled.memory, 1, 4096);
}
void staged(bool pins) {
    const cudaStream_t stream = other_stream();
    Fill filled;
    filled.memory = pins ? pinned(4096) : static_cast<char*>(std::calloc(4096, 1));
    char* device = on_device(4096);
    CHECK(cudaLaunchHostFunc(stream, &fill, &filled));
    upload(device, filled.memory, stream, 4096);
    filled.go.store(true);
    wait_for(stream);
}
void S2() {
    staged(false);
}
void S2_pinned() {
    staged(true);
}
void S2_other_memory() {
    const cudaStream_t stream = other_stream();
    Fill filled;
    filled.memory = static_cast<char*>(std::calloc(4096, 1));
    char* source = static_cast<char*>(std::calloc(4096, 1));
    CHECK(cudaLaunchHostFunc(stream, &fill, &filled));
    upload(on_device(4096), source, stream, 4096);
    filled.go.store(true);
    wait_for(stream);
}

// ---- M1, A7: safe only because pageable memory is staged

void M1() {
    const cudaStream_t stream = other_stream();
    std::vector<char> host(kBytes);
    char* device = on_device();
    download(host.data(), device, stream);
    g_sink = sum(host.data());
    next_download(host.data(), device, stream);
    g_sink = sum(host.data());
}
void M1_pinned() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    char* device = on_device();
    download(host, device, stream);
    g_sink = sum(host);
    next_download(host, device, stream);
    g_sink = sum(host);
}
void A7() {
    const cudaStream_t stream = other_stream();
    std::vector<char> host(kBytes);
    char* device = on_device();
    for (int step = 0; step < 5; ++step) {
        std::memset(host.data(), step + 1, kBytes);
        upload(device, host.data(), stream);
        launch(stream);
    }
    wait_for(stream);
}
void A7_waited() {
    const cudaStream_t stream = other_stream();
    std::vector<char> host(kBytes);
    char* device = on_device();
    for (int step = 0; step < 5; ++step) {
        std::memset(host.data(), step + 1, kBytes);
        upload(device, host.data(), stream);
        launch(stream);
        wait_for(stream);
    }
}

// ---- D4: a graph that reads a local array of a function that has returned

SITE void capture(cudaStream_t stream, const char* host, char* device) {
    CHECK(cudaMemcpyAsync(device, host, 256, cudaMemcpyHostToDevice, stream));
}
__attribute__((noinline)) cudaGraphExec_t graph_of(cudaStream_t stream, char* device, const char* host) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    capture(stream, host, device);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
}
__attribute__((noinline)) cudaGraphExec_t graph_of_local_array(cudaStream_t stream, char* device) {
    char local[256];
    std::memset(local, 7, sizeof local);
    asm volatile("" ::"r"(local) : "memory");
    return graph_of(stream, device, local);
}
SITE void launch_graph(cudaGraphExec_t executable, cudaStream_t stream) {
    CHECK(cudaGraphLaunch(executable, stream));
}
void D4() {
    const cudaStream_t stream = other_stream();
    const cudaGraphExec_t executable = graph_of_local_array(stream, on_device());
    static volatile int launches = 2;  // volatile: an unrolled loop would be two call sites
    for (int step = 0; step < launches; ++step) {
        launch_graph(executable, stream);
    }
    wait_for(stream);
}
void D4_alive() {
    const cudaStream_t stream = other_stream();
    char local[256];
    std::memset(local, 7, sizeof local);
    asm volatile("" ::"r"(local) : "memory");
    const cudaGraphExec_t executable = graph_of(stream, on_device(), local);
    launch_graph(executable, stream);
    launch_graph(executable, stream);
    wait_for(stream);
}

constexpr Half kHalves[] = {
    {"R1", R1},
    {"R1_waited", R1_waited},
    {"R1_queried", R1_queried},
    {"R1_exit", R1_exit},
    {"R1_released", R1_released},
    {"released_upload", released_upload},
    {"released_after_wait", released_after_wait},
    {"E2", E2},
    {"S1", S1},
    {"S1_ordered", S1_ordered},
    {"S1_legacy", S1_legacy},
    {"S1_pool", S1_pool},
    {"overwritten_source", overwritten_source},
    {"overwritten_source_ordered", overwritten_source_ordered},
    {"read_too_early", read_too_early},
    {"through_the_host", through_the_host},
    {"L1", L1},
    {"L2", L2},
    {"L4", L4},
    {"L5", L5},
    {"L6", L6},
    {"S2", S2},
    {"S2_pinned", S2_pinned},
    {"S2_other_memory", S2_other_memory},
    {"M1", M1},
    {"M1_pinned", M1_pinned},
    {"A7", A7},
    {"A7_waited", A7_waited},
    {"D4", D4},
    {"D4_alive", D4_alive},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
