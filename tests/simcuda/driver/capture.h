// Stream capture: commands of a capturing stream become graph nodes and are not executed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "graph.h"
#include "stream.h"

namespace simcuda {

struct Capture {
    Graph* graph = nullptr;
    bool own_graph = false;          // false: the program gave it (cuStreamBeginCaptureToGraph)
    const Stream* origin = nullptr;  // to compare with only: it may be destroyed
    Context* context = nullptr;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    unsigned long long id = 0;
    bool invalidated = false;
    bool ended = false;
    std::vector<GraphNode*> released;  // taken out of a stream's dependencies by the program: need not be joined

    CUstreamCaptureStatus status() const {
        return invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
};

// Adds a node to the graph that the stream is capturing into, after what the stream depends on. No value when the
// stream is not capturing: the command is then to be executed.
std::optional<CUresult> capture_node(const StreamPtr& stream, NodeParams params);

// Executes the work in stream order, or records it as a node without parameters when the stream is capturing. `done`
// gets the completion of a command that was really submitted and stays null for a captured one.
CUresult issue(const StreamPtr& stream, Engine engine, std::function<void()> work, CompletionPtr* done = nullptr);

// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for work in the legacy stream while a blocking stream of the context is capturing;
// invalidates.
CUresult check_issue(const StreamPtr& stream);

// Whether the stream is capturing, by a thread-safe look.
bool capturing(const StreamPtr& stream);

// Whether a call that is unsafe during capture must fail now (CUDA Runtime API, cudaStreamCaptureMode); it then also
// invalidates the capture.
bool capture_forbids(Context* context);

// The calling thread's mode (cuThreadExchangeStreamCaptureMode).
CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode);

// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for the legacy stream while a blocking stream of the context is capturing, and
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for waiting on a capturing stream. Both invalidate.
CUresult check_wait(const StreamPtr& stream);
// The same question without consequences, for queries (cuda.h, cuStreamIsCapturing). The caller holds machine().mutex.
bool implicit_capture(const Stream& stream);

// The first node depends on `dependencies`, which are nodes of `into`.
CUresult begin_capture(const StreamPtr& stream, CUstreamCaptureMode mode, Graph* into,
                       std::vector<GraphNode*> dependencies);
CUresult end_capture(const StreamPtr& stream, Graph** out);

}  // namespace simcuda
