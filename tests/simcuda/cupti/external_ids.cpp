#include "external_ids.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "kinds.h"
#include "records.h"

namespace simcupti {
namespace {

using Stacks = std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>>;

// Never destroyed, and found by one that looks for leaks.
Stacks& this_threads_stacks() {
    static std::mutex& mutex = *new std::mutex;
    static std::deque<Stacks>& all = *new std::deque<Stacks>;
    thread_local Stacks* own = nullptr;
    if (!own) {
        std::lock_guard lock(mutex);
        own = &all.emplace_back();
    }
    return *own;
}

bool known(CUpti_ExternalCorrelationKind kind) {
    return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

}  // namespace

void append_external_ids(Queue& queue, std::uint32_t correlation) {
    if (!wanted(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        return;
    for (const auto& [kind, ids] : this_threads_stacks())
        if (!ids.empty())
            append(queue, Record(kind, ids.back(), correlation).bytes());
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    if (!known(kind))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    this_threads_stacks()[kind].push_back(id);
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
    if (!known(kind))
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    if (last)
        *last = 0;
    auto& ids = this_threads_stacks()[kind];
    if (ids.empty())
        return finish(CUPTI_ERROR_QUEUE_EMPTY);
    if (last)
        *last = ids.back();
    ids.pop_back();
    return CUPTI_SUCCESS;
}
