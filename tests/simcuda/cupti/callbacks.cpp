#include "callbacks.h"

#include "activity_buffers.h"
#include "external_ids.h"
#include "kinds.h"
#include "names.h"
#include "records.h"

namespace simcupti {
namespace {

CUpti_CallbackDomain domain_of(const SimcudaCall& call) {
    return static_cast<CUpti_CallbackDomain>(call.domain);
}

CUpti_ActivityKind kind_of(const SimcudaCall& call) {
    return call.domain == kSimcudaDriver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
}

// The arguments are not told: their structures are those of headers that the stand-ins do without.
void tell(SimcudaCall& call, CUpti_ApiCallbackSite site, std::uint32_t id, int* result) {
    const CUpti_CallbackData data{.callbackSite = site,
                                  .functionName = call.symbol,
                                  .functionParams = nullptr,
                                  .functionReturnValue = result,
                                  .symbolName = nullptr,
                                  .context = static_cast<CUcontext>(call.context.handle),
                                  .contextUid = call.context.id,
                                  .correlationData = &call.data,
                                  .correlationId = call.correlation};
    call_back(domain_of(call), id, &data);
}

}  // namespace

void call_begins(SimcudaCall* call) {
    call->started = now();
    const std::uint32_t id = id_of(domain_of(*call), call->symbol);
    if (callback_enabled(domain_of(*call), id))
        tell(*call, CUPTI_API_ENTER, id, nullptr);
}

void call_ends(SimcudaCall* call, int result) {
    const std::uint32_t id = id_of(domain_of(*call), call->symbol);
    if (callback_enabled(domain_of(*call), id))
        tell(*call, CUPTI_API_EXIT, id, &result);
    if (id == 0 || !wanted(kind_of(*call)) || InsideProgram::here())
        return;
    Queue& queue = this_threads_queue();
    append_external_ids(queue, call->correlation);
    append(queue, Record(*call, id, now(), result).bytes());
}

}  // namespace simcupti
