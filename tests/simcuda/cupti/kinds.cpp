#include "kinds.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "device_memory.h"

namespace simcupti {
namespace {

std::atomic<bool> g_wanted[CUPTI_ACTIVITY_KIND_COUNT];

std::mutex g_mutex;  // guards what follows
using ForContext = std::map<std::pair<std::uint32_t, CUpti_ActivityKind>, bool>;
ForContext& for_context() {
    static ForContext& all = *new ForContext;
    return all;
}
std::atomic<bool> g_any_for_context{false};

constexpr CUpti_ActivityKind kDeviceKinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_KERNEL,
                                               CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

bool known(CUpti_ActivityKind kind) {
    return kind > CUPTI_ACTIVITY_KIND_INVALID && kind < CUPTI_ACTIVITY_KIND_COUNT;
}

// Kinds that this library has no records of are accepted and stay silent.
CUptiResult set(CUpti_ActivityKind kind, bool value) {
    if (!known(kind))
        return finish(CUPTI_ERROR_INVALID_KIND);
    if (!connect())
        return finish(CUPTI_ERROR_UNKNOWN);
    g_wanted[kind] = value;
    if (device_kinds_wanted())
        take_memory_everywhere();
    return CUPTI_SUCCESS;
}

CUptiResult set(CUcontext context, CUpti_ActivityKind kind, bool value) {
    if (!known(kind))
        return finish(CUPTI_ERROR_INVALID_KIND);
    const SimcudaDriver* driver = connect();
    if (!driver)
        return finish(CUPTI_ERROR_UNKNOWN);
    const std::uint32_t id = context ? driver->context_id(context) : 0;
    if (id == 0)
        return finish(CUPTI_ERROR_INVALID_CONTEXT);
    {
        std::lock_guard lock(g_mutex);
        for_context()[{id, kind}] = value;
        g_any_for_context = true;
    }
    if (device_kinds_wanted())
        take_memory_everywhere();
    return CUPTI_SUCCESS;
}

}  // namespace

bool wanted(CUpti_ActivityKind kind, std::uint32_t context) {
    if (context != 0 && g_any_for_context) {
        std::lock_guard lock(g_mutex);
        const auto it = for_context().find({context, kind});
        if (it != for_context().end())
            return it->second;
    }
    return g_wanted[kind];
}

bool device_kinds_wanted() {
    std::lock_guard lock(g_mutex);
    for (const CUpti_ActivityKind kind : kDeviceKinds) {
        if (g_wanted[kind])
            return true;
        for (const auto& [place, value] : for_context())
            if (place.second == kind && value)
                return true;
    }
    return false;
}

void forget_kinds() {
    for (auto& kind : g_wanted)
        kind = false;
    std::lock_guard lock(g_mutex);
    for_context().clear();
    g_any_for_context = false;
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
    return set(kind, true);
}
SIM_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    return set(kind, false);
}
SIM_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
    return set(context, kind, true);
}
SIM_EXPORT CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
    return set(context, kind, false);
}
