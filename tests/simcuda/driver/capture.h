// Stream capture: commands of a capturing stream become graph nodes and are not executed. A graph replays its nodes one
// after the other in the order in which they were captured; the parallelism of a real graph is not modelled.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "stream.h"

namespace simcuda {

struct Node {
    Engine engine;
    std::function<void()> work;
};

struct Graph {
    std::vector<Node> nodes;
};

struct Capture {
    Graph* graph = nullptr;
    Stream* origin = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    unsigned long long id = 0;
    bool invalidated = false;
};

// Executes the work in stream order, or records it when the stream is capturing. `done` gets the completion of a
// command that was really submitted and stays null for a captured one.
CUresult issue(const StreamPtr& stream, Engine engine, std::function<void()> work, CompletionPtr* done = nullptr);

// Whether the stream is capturing, by a thread-safe look.
bool capturing(const StreamPtr& stream);

// Whether a call that is unsafe during capture must fail now (CUDA Runtime API, cudaStreamCaptureMode); it then also
// invalidates the capture.
bool capture_forbids(Context* context);

// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for the legacy stream while a blocking stream of the context is capturing, and
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for waiting on a capturing stream. Both invalidate.
CUresult check_wait(const StreamPtr& stream);

CUresult begin_capture(const StreamPtr& stream, CUstreamCaptureMode mode, Graph* into);
CUresult end_capture(const StreamPtr& stream, Graph** out);

}  // namespace simcuda
