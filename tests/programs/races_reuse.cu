// Buffers that are used again before their copy is known to be complete, and the same where it is: `races_reuse NAME`.
// Order that is only thought to be there, and handles and memory that are used again.
#include <sys/wait.h>
#include <unistd.h>

#include "races.h"

namespace {

// ---- Events that cover the copy, and others

struct Slab {
    cudaStream_t side = side_stream();
    cudaStream_t main_stream = other_stream();
    cudaEvent_t event = new_event();
    char* slab = on_device();
    char* host = pinned();

    void end() {
        CHECK(cudaDeviceSynchronize());
        g_sink = sum(host);
    }
};
void event_before() {
    Slab one;
    CHECK(cudaEventRecord(one.event, one.side));
    download(one.host, one.slab, one.side);
    CHECK(cudaStreamWaitEvent(one.main_stream, one.event, 0));
    clear(one.slab, one.main_stream);
    one.end();
}
void event_after() {
    Slab one;
    download(one.host, one.slab, one.side);
    CHECK(cudaEventRecord(one.event, one.side));
    CHECK(cudaStreamWaitEvent(one.main_stream, one.event, 0));
    clear(one.slab, one.main_stream);
    one.end();
}
void event_never_recorded() {
    Slab one;
    download(one.host, one.slab, one.side);
    CHECK(cudaStreamWaitEvent(one.main_stream, one.event, 0));
    clear(one.slab, one.main_stream);
    one.end();
}
void event_made_again() {
    Slab one;
    download(one.host, one.slab, one.side);
    CHECK(cudaEventRecord(one.event, one.side));
    CHECK(cudaEventDestroy(one.event));
    const cudaEvent_t again = new_event();  // of the same handle, perhaps: it stands for nothing
    CHECK(cudaStreamWaitEvent(one.main_stream, again, 0));
    clear(one.slab, one.main_stream);
    one.end();
}
void awaited_event_before() {
    Slab one;
    CHECK(cudaEventRecord(one.event, one.side));
    download(one.host, one.slab, one.side);
    CHECK(cudaEventSynchronize(one.event));
    next_download(one.host, one.slab, one.side);
    one.end();
}
void awaited_event_after() {
    Slab one;
    download(one.host, one.slab, one.side);
    CHECK(cudaEventRecord(one.event, one.side));
    CHECK(cudaEventSynchronize(one.event));
    next_download(one.host, one.slab, one.side);
    one.end();
}
void stream_made_again() {
    Slab one;
    download(one.host, one.slab, one.side);
    CHECK(cudaStreamDestroy(one.side));
    clear(one.slab, side_stream());  // of the same handle, perhaps
    one.end();
}
void stream_made_again_after_wait() {
    Slab one;
    for (int step = 0; step < 3; ++step) {
        const cudaStream_t stream = other_stream();
        download(one.host, one.slab, stream);
        wait_for(stream);
        CHECK(cudaStreamDestroy(stream));
        clear(one.slab, one.main_stream);
        wait_for(one.main_stream);
    }
}

// ---- Graphs

template <class Body>
cudaGraphExec_t graph_of(cudaStream_t stream, Body&& body) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}
void graph_again() {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    const cudaGraphExec_t executable = graph_of(stream, [&] { download(host, device, stream); });
    for (int step = 0; step < 5; ++step) {
        CHECK(cudaGraphLaunch(executable, stream));
    }
    wait_for(stream);
    g_sink = sum(host);
}
void graphs_in_two_streams() {
    const cudaStream_t first = side_stream();
    const cudaStream_t second = other_stream();
    char* device = on_device();
    char* host = pinned();
    const cudaGraphExec_t fills = graph_of(first, [&] { clear(device, first); });
    const cudaGraphExec_t uploads = graph_of(second, [&] { upload(device, host, second); });
    CHECK(cudaGraphLaunch(fills, first));
    CHECK(cudaGraphLaunch(uploads, second));
    CHECK(cudaDeviceSynchronize());
}

// ---- Memory that is given back and comes again

void pool_reuse() {
    const cudaStream_t streams[] = {other_stream(), other_stream()};
    void* before = nullptr;
    cudaMemPool_t pool = nullptr;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (int step = 0; step < 6; ++step) {
        const cudaStream_t stream = streams[step % 2];
        void* memory = nullptr;
        // Seen from outside the streams: the pool has back what it gave, so that it may give it again.
        for (unsigned long long used = 1; used != 0;) {
            CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        }
        CHECK(cudaMallocAsync(&memory, kBytes, stream));
        clear(static_cast<char*>(memory), stream);
        CHECK(cudaFreeAsync(memory, stream));
        if (memory == before) {
            std::puts("the same address");
        }
        before = memory;
    }
    CHECK(cudaDeviceSynchronize());
}
void freed_and_made_again() {
    const cudaStream_t streams[] = {other_stream(), other_stream()};
    char* host = pinned();
    void* before = nullptr;
    for (int step = 0; step < 6; ++step) {
        char* device = on_device();
        clear(device, streams[step % 2]);
        upload(device, host, streams[step % 2]);
        CHECK(cudaFree(device));
        if (device == before) {
            std::puts("the same address");
        }
        before = device;
    }
    CHECK(cudaDeviceSynchronize());
}
void after_reset() {
    for (int step = 0; step < 3; ++step) {
        const cudaStream_t stream = other_stream();
        upload(on_device(), pinned(), stream);
        clear(on_device(), stream);
        CHECK(cudaDeviceReset());
    }
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    download(host, on_device(), stream);
    wait_for(stream);
    g_sink = sum(host);
}

// The primary context ends with its last user, and what is made in the next one is where the first one's was.
void after_release() {
    CUdevice device = 0;
    CUdeviceptr before = 0;
    check(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS, "cuInit");
    for (int step = 0; step < 3; ++step) {
        CUcontext context = nullptr;
        CUstream stream = nullptr;
        CUdeviceptr memory = 0;
        void* host = nullptr;
        check(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS, "retain");
        check(cuCtxSetCurrent(context) == CUDA_SUCCESS, "set current");
        check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "stream");
        check(cuMemAlloc(&memory, kBytes) == CUDA_SUCCESS, "device memory");
        check(cuMemHostAlloc(&host, kBytes, 0) == CUDA_SUCCESS, "host memory");
        check(cuMemcpyHtoDAsync(memory, host, kBytes, stream) == CUDA_SUCCESS, "upload");
        if (memory == before) {
            std::puts("the same address");
        }
        before = memory;
        check(cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS, "release");
    }
}

// ---- A fork's child, and copies that fail

void forked() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    download(host, on_device(), stream);
    const pid_t child = fork();
    if (child == 0) {
        std::exit(0);  // with handlers and destructors
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child");
    wait_for(stream);
    g_sink = sum(host);
}
void failed() {
    const cudaStream_t first = other_stream();
    const cudaStream_t second = other_stream();
    char* host = pinned();
    char* device = on_device();
    check(cudaMemcpyAsync(host, device, kBytes, static_cast<cudaMemcpyKind>(77), first) != cudaSuccess, "refused");
    check(cudaMemcpyAsync(host, device, 64 * kBytes, cudaMemcpyDeviceToHost, first) != cudaSuccess, "too long");
    (void)cudaGetLastError();
    upload(device, host, second);
    download(host, device, second);
    wait_for(second);
}

constexpr Half kHalves[] = {
    {"event_before", event_before},
    {"event_after", event_after},
    {"event_never_recorded", event_never_recorded},
    {"event_made_again", event_made_again},
    {"awaited_event_before", awaited_event_before},
    {"awaited_event_after", awaited_event_after},
    {"stream_made_again", stream_made_again},
    {"stream_made_again_after_wait", stream_made_again_after_wait},
    {"graph_again", graph_again},
    {"graphs_in_two_streams", graphs_in_two_streams},
    {"pool_reuse", pool_reuse},
    {"freed_and_made_again", freed_and_made_again},
    {"after_reset", after_reset},
    {"after_release", after_release},
    {"forked", forked},
    {"failed", failed},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
