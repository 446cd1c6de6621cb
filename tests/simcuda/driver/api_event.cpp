// Events: record, wait, query, elapsed time.
#include <algorithm>
#include <unordered_map>

#include "context.h"
#include "event.h"

using namespace simcuda;

namespace {

std::unordered_map<CUevent, EventPtr>& events() {  // guarded by machine().mutex
    static auto& all = *new std::unordered_map<CUevent, EventPtr>;
    return all;
}

// cuda.h, CU_EVENT_RECORD_EXTERNAL and CU_EVENT_WAIT_EXTERNAL: in a capturing stream they make nodes; without the flags
// the event carries dependencies from stream to stream and leaves no node.
CUresult record(const StreamPtr& stream, const EventPtr& event, CUevent handle, bool external) {
    if (!stream || !event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (external)
        if (const auto captured = capture_node(stream, EventRecordNode{handle, event}))
            return *captured;
    {
        std::lock_guard lock(machine().mutex);
        if (stream->capture) {
            event->capture = stream->capture;
            event->captured_tail = stream->capture_tail;
            return CUDA_SUCCESS;
        }
    }
    CompletionPtr done;
    const CUresult result = issue(stream, Engine::none, nullptr, &done);
    if (result != CUDA_SUCCESS)
        return result;
    std::lock_guard lock(machine().mutex);
    event->recorded = done;
    event->capture = nullptr;
    return CUDA_SUCCESS;
}

// The stream joins the event's capture. The caller holds machine().mutex.
CUresult join(const StreamPtr& stream, const EventPtr& event) {
    if (event->capture->ended)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (stream->capture && stream->capture != event->capture)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!stream->capture)
        stream->capture_tail.clear();
    stream->capture = event->capture;
    for (GraphNode* node : event->captured_tail)
        if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) == stream->capture_tail.end())
            stream->capture_tail.push_back(node);
    return CUDA_SUCCESS;
}

CUresult wait_event(const StreamPtr& stream, const EventPtr& event, CUevent handle, bool external) {
    if (!stream || !event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (external)
        if (const auto captured = capture_node(stream, EventWaitNode{handle, event}))
            return *captured;
    CompletionPtr recorded;
    {
        std::lock_guard lock(machine().mutex);
        if (event->capture)
            return join(stream, event);
        if (stream->capture) {
            stream->capture->invalidated = true;
            return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        }
        recorded = event->recorded;
    }
    TimedWait timed(SimcudaWaitKind::stream_event, stream->context, stream.get());
    if (recorded)
        machine().submit(stream, Engine::none, nullptr, {recorded});
    timed.stop(CUDA_SUCCESS);
    return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, const EventPtr& start, const EventPtr& end) {
    if (!milliseconds)
        return CUDA_ERROR_INVALID_VALUE;
    if (!start || !end)
        return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard lock(machine().mutex);
    if (!start->recorded || !end->recorded)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->recorded->done || !end->recorded->done)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(end->recorded->when - start->recorded->when).count();
    return CUDA_SUCCESS;
}

CUresult destroy(CUevent handle) {
    std::lock_guard lock(machine().mutex);
    return events().erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

EventPtr simcuda::find_event(CUevent handle) {
    std::lock_guard lock(machine().mutex);
    const auto it = events().find(handle);
    return it == events().end() ? nullptr : it->second;
}

SIM_ONE(cuEventCreate, (CUevent * out, unsigned flags), {
    constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!out || (flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;
    auto event = std::make_shared<Event>();
    event->context = context;
    event->flags = flags;
    *out = reinterpret_cast<CUevent>(event.get());
    std::lock_guard lock(machine().mutex);
    events()[*out] = event;
    return CUDA_SUCCESS;
})

SIM_ONE(cuEventDestroy_v2, (CUevent handle), { return destroy(handle); })
SIM_ONE(cuEventDestroy, (CUevent handle), { return destroy(handle); })

SIM_ONE(cuEventQuery, (CUevent handle), {
    const EventPtr event = find_event(handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard lock(machine().mutex);
    if (event->capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    return !event->recorded || event->recorded->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
})

SIM_ONE(cuEventSynchronize, (CUevent handle), {
    const EventPtr event = find_event(handle);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    CompletionPtr recorded;
    {
        std::lock_guard lock(machine().mutex);
        if (event->capture)
            return CUDA_ERROR_CAPTURED_EVENT;
        recorded = event->recorded;
    }
    TimedWait timed(SimcudaWaitKind::event, context, nullptr);
    if (recorded)
        machine().wait(recorded);
    timed.stop(context->sticky);
    return context->sticky;
})

SIM_ONE(cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end),
        { return elapsed(milliseconds, find_event(start), find_event(end)); })

#if CUDA_VERSION >= 12080
SIM_ONE(cuEventElapsedTime_v2, (float* milliseconds, CUevent start, CUevent end),
        { return elapsed(milliseconds, find_event(start), find_event(end)); })
#endif

SIM_TWINS(cuEventRecord, _ptsz, (CUevent event, CUstream stream),
          { return record(find_stream(context, stream, meaning), find_event(event), event, false); })
SIM_TWINS(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), {
    if (flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL})
        return CUDA_ERROR_INVALID_VALUE;
    return record(find_stream(context, stream, meaning), find_event(event), event, flags & CU_EVENT_RECORD_EXTERNAL);
})
SIM_TWINS(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), {
    if (flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL})
        return CUDA_ERROR_INVALID_VALUE;
    return wait_event(find_stream(context, stream, meaning), find_event(event), event, flags & CU_EVENT_WAIT_EXTERNAL);
})
