#include "waits.h"

#include "kinds.h"
#include "records.h"
#include "subscriber.h"

namespace simcupti {
namespace {

void overhead(const SimcudaWait& wait, CUpti_ActivityOverheadKind kind) {
    if (wanted(CUPTI_ACTIVITY_KIND_OVERHEAD))
        append(this_threads_queue(), Record(kind, wait.correlation, wait.start, wait.end).bytes());
}

void synchronisation(const SimcudaWait& wait, CUpti_ActivitySynchronizationType type) {
    if (wanted(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, wait.context.id))
        append(this_threads_queue(), Record(wait, type).bytes());
}

// Measured: H200, CUPTI 13.0: for the synchronisation of streams and contexts only.
void synchronised(const SimcudaWait& wait, CUpti_CallbackIdSync id) {
    const CUpti_SynchronizeData data{static_cast<CUcontext>(wait.context.handle),
                                     static_cast<CUstream>(wait.stream.handle)};
    call_back(CUPTI_CB_DOMAIN_SYNCHRONIZE, id, &data);
}

}  // namespace

void waited(const SimcudaWait* wait) {
    switch (wait->kind) {
        case SimcudaWaitKind::queue_full:
            return overhead(*wait, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
        case SimcudaWaitKind::module_loading:
            return overhead(*wait, CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
        case SimcudaWaitKind::event:
            return synchronisation(*wait, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
        case SimcudaWaitKind::stream_event:
            return synchronisation(*wait, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
        case SimcudaWaitKind::stream:
            synchronisation(*wait, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
            return synchronised(*wait, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
        case SimcudaWaitKind::context:
            synchronisation(*wait, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
            return synchronised(*wait, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
    }
}

// The library's own time, which a tool must tell from waits.
void report_buffer_request(Queue& queue, std::uint64_t start, std::uint64_t end) {
    if (wanted(CUPTI_ACTIVITY_KIND_OVERHEAD))
        append(queue, Record(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, 0, start, end).bytes());
}

}  // namespace simcupti
