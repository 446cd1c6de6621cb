// Copies at moments when the tool must not ask the driver anything, or cannot come back from the call. Its argument
// says:
//   hang           a pageable download behind a host function that never returns: prints "hanging", then hangs in the
//   call capture        three pinned and two pageable uploads into a stream capture (nothing is copied), then the same
//                  executed; the capture is launched twice
//   host-function  a host function (on a thread of the driver's) that calls cudaStreamQuery and tries an upload, which
//   CUDA
//                  refuses; then one upload by the program
// Must be recorded: see tests/preload/special_moments_test.cpp.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "small.h"

namespace {

void never_returns(void*) {
    for (;;) {
        pause();
    }
}

int hang(const Small& small, cudaStream_t stream) {
    cudaLaunchHostFunc(stream, never_returns, nullptr);
    std::puts("hanging");
    std::fflush(stdout);
    return cudaMemcpyAsync(small.pageable, small.device, kSmallBytes, cudaMemcpyDeviceToHost, stream) ? 1 : 0;
}

int uploads(const Small& small, cudaStream_t stream) {
    int failed = 0;
    for (int i = 0; i < 3; ++i) {
        failed += cudaMemcpyAsync(small.device, small.pinned, kSmallBytes, cudaMemcpyHostToDevice, stream) ? 1 : 0;
    }
    for (int i = 0; i < 2; ++i) {
        failed += cudaMemcpyAsync(small.device, small.pageable, kSmallBytes, cudaMemcpyHostToDevice, stream) ? 1 : 0;
    }
    return failed;
}

int capture(const Small& small, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    int failed = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) ? 1 : 0;
    failed += uploads(small, stream);
    failed += cudaStreamEndCapture(stream, &graph) ? 1 : 0;
    failed += cudaGraphInstantiateWithFlags(&exec, graph, 0) ? 1 : 0;
    failed += cudaGraphLaunch(exec, stream) ? 1 : 0;
    failed += cudaGraphLaunch(exec, stream) ? 1 : 0;
    failed += uploads(small, stream);
    failed += cudaStreamSynchronize(stream) ? 1 : 0;
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return failed;
}

struct Tried {
    const Small* small;
    cudaStream_t stream;
    int result;
};

void tries_an_upload(void* data) {
    Tried& tried = *static_cast<Tried*>(data);
    tried.result =
        cudaMemcpyAsync(tried.small->device, tried.small->pinned, kSmallBytes, cudaMemcpyHostToDevice, tried.stream);
}

int host_function(const Small& small, cudaStream_t stream) {
    Tried tried{&small, stream, 0};
    int failed = cudaLaunchHostFunc(stream, tries_an_upload, &tried) ? 1 : 0;
    failed += cudaStreamSynchronize(stream) ? 1 : 0;
    failed += cudaMemcpyAsync(small.device, small.pinned, kSmallBytes, cudaMemcpyHostToDevice, stream) ? 1 : 0;
    failed += cudaStreamSynchronize(stream) ? 1 : 0;
    std::printf("in the host function %d\n", tried.result);
    return failed;
}

}  // namespace

int main(int argc, char** argv) {
    const char* const moment = argc > 1 ? argv[1] : "";
    const Small small = small_start();
    cudaStream_t stream = nullptr;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) {
        return 2;
    }
    int failed = 100;
    if (std::strcmp(moment, "hang") == 0) {
        failed = hang(small, stream);
    } else if (std::strcmp(moment, "capture") == 0) {
        failed = capture(small, stream);
    } else if (std::strcmp(moment, "host-function") == 0) {
        failed = host_function(small, stream);
    }
    std::printf("failed %d, last error %d\n", failed, static_cast<int>(cudaGetLastError()));
    cudaStreamDestroy(stream);
    small_end(small);
    return failed;
}
