// Copies that executable graphs make, driver API: captured, added as nodes, changed between launches, in child graphs,
// switched off. Prints one line for each place that put a copy or fill into a graph: function, kind, direction, memory
// of the host's side, how often launches made it, bytes.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

constexpr std::size_t kBytes = 4096;
#define SITE __attribute__((noinline, noclone))

CUcontext g_context;
CUstream g_stream;
CUstream g_other;
CUdeviceptr g_device;
char* g_pageable;
char* g_pageable2;
char* g_pinned;
char* g_pinned2;
bool g_failed = false;

struct Counts {
    unsigned long long calls = 0;
    unsigned long long bytes = 0;
};
std::map<std::string, Counts> g_expected;

void expect(const std::string& what, unsigned long long calls, std::size_t bytes = kBytes) {
    g_expected[what].calls += calls;
    g_expected[what].bytes += calls * bytes;
}
void check(CUresult status, const char* what) {
    if (status != CUDA_SUCCESS) {
        std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(status));
        g_failed = true;
    }
}
#define CHECK(call) check(call, #call)

CUDA_MEMCPY3D upload_of(const char* source) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = source;
    copy.srcPitch = kBytes;
    copy.srcHeight = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = g_device;
    copy.dstPitch = kBytes;
    copy.dstHeight = 1;
    copy.WidthInBytes = kBytes;
    copy.Height = 1;
    copy.Depth = 1;
    return copy;
}

void launch(CUgraphExec graph, int times) {
    for (int i = 0; i < times; ++i) {
        CHECK(cuGraphLaunch(graph, g_stream));
    }
    CHECK(cuStreamSynchronize(g_stream));
}

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec executable = nullptr;
    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    return executable;
}

// ---- Captured

SITE void captured_upload() {
    CHECK(cuMemcpyHtoDAsync(g_device, g_pageable, kBytes, g_stream));
}
SITE void captured_download(CUstream stream) {
    CHECK(cuMemcpyDtoHAsync(g_pinned, g_device, kBytes, stream));
}
SITE void captured_fill() {
    CHECK(cuMemsetD8Async(g_device, 1, kBytes, g_stream));
}

// The second copy goes into a stream that joined the capture by an event.
CUgraph capture() {
    CUgraph graph = nullptr;
    CUevent fork = nullptr;
    CUevent join = nullptr;
    CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    CHECK(cuStreamBeginCapture(g_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    captured_fill();
    captured_upload();
    CHECK(cuEventRecord(fork, g_stream));
    CHECK(cuStreamWaitEvent(g_other, fork, 0));
    captured_download(g_other);
    CHECK(cuEventRecord(join, g_other));
    CHECK(cuStreamWaitEvent(g_stream, join, 0));
    CHECK(cuStreamEndCapture(g_stream, &graph));
    CHECK(cuEventDestroy(fork));
    CHECK(cuEventDestroy(join));
    return graph;
}

void captured() {
    CUgraph graph = capture();
    CUgraphExec executable = instantiate(graph);
    launch(executable, 5);
    expect("captured_upload copy host-to-device pageable", 5);
    expect("captured_download copy device-to-host pinned", 5);
    expect("captured_fill fill none none", 5);
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
}

// ---- Nodes

SITE CUgraphNode added_upload(CUgraph graph, const char* source) {
    CUgraphNode node = nullptr;
    const CUDA_MEMCPY3D copy = upload_of(source);
    CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, g_context));
    return node;
}
SITE CUgraphNode added_fill(CUgraph graph) {
    CUgraphNode node = nullptr;
    CUDA_MEMSET_NODE_PARAMS fill{};
    fill.dst = g_device;
    fill.elementSize = 4;
    fill.width = kBytes / 4;
    fill.height = 1;
    CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, g_context));
    return node;
}
SITE void changed_to_pageable(CUgraphExec executable, CUgraphNode node) {
    const CUDA_MEMCPY3D copy = upload_of(g_pageable2);
    CHECK(cuGraphExecMemcpyNodeSetParams(executable, node, &copy, g_context));
}
SITE void changed_before_instantiation(CUgraphNode node) {
    const CUDA_MEMCPY3D copy = upload_of(g_pageable);
    CHECK(cuGraphMemcpyNodeSetParams(node, &copy));
}

void nodes() {
    CUgraph graph = nullptr;
    CHECK(cuGraphCreate(&graph, 0));
    const CUgraphNode upload = added_upload(graph, g_pinned);
    added_fill(graph);
    CUgraphExec executable = instantiate(graph);
    launch(executable, 3);
    // Another buffer of the same kind: the node's place stays.
    const CUDA_MEMCPY3D same_kind = upload_of(g_pinned2);
    CHECK(cuGraphExecMemcpyNodeSetParams(executable, upload, &same_kind, g_context));
    launch(executable, 2);
    expect("added_upload copy host-to-device pinned", 5);
    // Another kind of memory: whoever changed it.
    changed_to_pageable(executable, upload);
    launch(executable, 4);
    expect("changed_to_pageable copy host-to-device pageable", 4);
    CHECK(cuGraphNodeSetEnabled(executable, upload, 0));
    launch(executable, 6);
    CHECK(cuGraphNodeSetEnabled(executable, upload, 1));
    launch(executable, 1);
    expect("changed_to_pageable copy host-to-device pageable", 1);
    expect("added_fill fill none none", 3 + 2 + 4 + 6 + 1);
    CHECK(cuGraphExecDestroy(executable));

    changed_before_instantiation(upload);
    executable = instantiate(graph);
    launch(executable, 2);
    expect("changed_before_instantiation copy host-to-device pageable", 2);
    expect("added_fill fill none none", 2);
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(graph));
}

// ---- Whole-graph updates and child graphs

SITE CUgraphNode updated_upload(CUgraph graph, const char* source) {
    CUgraphNode node = nullptr;
    const CUDA_MEMCPY3D copy = upload_of(source);
    CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, g_context));
    return node;
}

void update() {
    CUgraph first = nullptr;
    CUgraph second = nullptr;
    CHECK(cuGraphCreate(&first, 0));
    CHECK(cuGraphCreate(&second, 0));
    const CUgraphNode node = added_upload(first, g_pinned);
    updated_upload(second, g_pageable2);
    CUgraphExec executable = instantiate(first);
    launch(executable, 1);
    expect("added_upload copy host-to-device pinned", 1);
    CUgraphExecUpdateResultInfo result{};
    CHECK(cuGraphExecUpdate(executable, second, &result));
    launch(executable, 7);
    expect("updated_upload copy host-to-device pageable", 7);
    // Nodes are named as in the graph that was instantiated.
    const CUDA_MEMCPY3D pinned = upload_of(g_pinned2);
    CHECK(cuGraphExecMemcpyNodeSetParams(executable, node, &pinned, g_context));
    launch(executable, 2);
    expect("update copy host-to-device pinned", 2);
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(first));
    CHECK(cuGraphDestroy(second));
}

SITE void in_a_child(CUgraph child) {
    CUgraphNode node = nullptr;
    const CUDA_MEMCPY3D copy = upload_of(g_pageable);
    CHECK(cuGraphAddMemcpyNode(&node, child, nullptr, 0, &copy, g_context));
}

void child() {
    CUgraph child = nullptr;
    CUgraph parent = nullptr;
    CUgraph grandparent = nullptr;
    CHECK(cuGraphCreate(&child, 0));
    CHECK(cuGraphCreate(&parent, 0));
    CHECK(cuGraphCreate(&grandparent, 0));
    in_a_child(child);
    CUgraphNode node = nullptr;
    CHECK(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
    CHECK(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, child));
    CHECK(cuGraphAddChildGraphNode(&node, grandparent, nullptr, 0, parent));
    CUgraphExec executable = instantiate(grandparent);
    launch(executable, 3);
    expect("in_a_child copy host-to-device pageable", 6);
    CHECK(cuGraphExecDestroy(executable));
    CHECK(cuGraphDestroy(grandparent));
    CHECK(cuGraphDestroy(parent));
    CHECK(cuGraphDestroy(child));
}

}  // namespace

int main() {
    CUdevice device = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&g_context, device));
    CHECK(cuCtxSetCurrent(g_context));
    CHECK(cuStreamCreate(&g_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&g_other, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&g_device, kBytes));
    CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&g_pinned), kBytes, 0));
    CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&g_pinned2), kBytes, 0));
    g_pageable = static_cast<char*>(std::calloc(kBytes, 1));
    g_pageable2 = static_cast<char*>(std::calloc(kBytes, 1));
    if (!g_failed) {
        captured();
        nodes();
        update();
        child();
    }
    for (const auto& [what, counts] : g_expected) {
        std::printf("%s %llu %llu\n", what.c_str(), counts.calls, counts.bytes);
    }
    return g_failed ? 1 : 0;
}
