#include "device_memory.h"

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "activity_buffers.h"
#include "kinds.h"
#include "subscriber.h"

namespace simcupti {
namespace {

struct Attribute {
    CUpti_ActivityAttribute which;
    std::size_t size;  // of its value
    std::size_t value;
};

struct Taken {
    int device = 0;
    std::size_t bytes = 0;  // 0: there was no room
};

struct State {
    std::mutex mutex;
    std::map<std::uint32_t, Taken> contexts;
    // The defaults are those of cupti_activity.h.
    Attribute attributes[11] = {
        {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(size_t), 3200000},
        {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, sizeof(size_t), 8388608},
        {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(size_t), 250},
        {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, sizeof(size_t), 25000},
        {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, sizeof(size_t), 250},
        {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(uint8_t), 0},
        {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, sizeof(size_t), 3},
        {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, sizeof(size_t), 3},
        {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, sizeof(uint8_t), 0},
        {CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof(uint8_t), 1},
        {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS, sizeof(size_t), 16777216},
    };

    Attribute* find(CUpti_ActivityAttribute which) {
        for (Attribute& attribute : attributes)
            if (attribute.which == which)
                return &attribute;
        return nullptr;
    }
    // On the device, a context.
    std::size_t share() {
        if (find(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED)->value)
            return 0;
        return find(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE)->value *
               find(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE)->value;
    }
};
State& state() {
    static State& instance = *new State;
    return instance;
}

void take(const SimcudaContextName* context, void*) {
    State& s = state();
    const SimcudaDriver* driver = connected();
    std::lock_guard lock(s.mutex);
    if (!driver || s.contexts.count(context->id))
        return;
    const std::size_t bytes = s.share();
    const bool fits = driver->take_memory(context->device, bytes);
    s.contexts[context->id] = {context->device, fits ? bytes : 0};
}

void tell(CUpti_CallbackIdResource id, const SimcudaContextName* context) {
    const CUpti_ResourceData data{static_cast<CUcontext>(context->handle), {}, nullptr};
    call_back(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

}  // namespace

void take_memory_everywhere() {
    if (const SimcudaDriver* driver = connected())
        driver->contexts(take, nullptr);
}

void give_back_memory() {
    State& s = state();
    const SimcudaDriver* driver = connect();
    std::lock_guard lock(s.mutex);
    for (const auto& [id, taken] : std::exchange(s.contexts, {}))
        if (driver)
            driver->give_memory(taken.device, taken.bytes);
}

bool has_memory(std::uint32_t context) {
    State& s = state();
    std::lock_guard lock(s.mutex);
    const auto it = s.contexts.find(context);
    return it == s.contexts.end() || it->second.bytes > 0 || s.share() == 0;
}

void context_created(const SimcudaContextName* context) {
    if (device_kinds_wanted())
        take(context, nullptr);
    tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
}

void context_destroyed(const SimcudaContextName* context) {
    tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
    State& s = state();
    const SimcudaDriver* driver = connected();
    std::lock_guard lock(s.mutex);
    const auto it = s.contexts.find(context->id);
    if (it == s.contexts.end())
        return;
    if (driver)
        driver->give_memory(it->second.device, it->second.bytes);
    s.contexts.erase(it);
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
    if (!size || !value)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    State& s = state();
    std::lock_guard lock(s.mutex);
    const Attribute* attribute = s.find(which);
    if (!attribute)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    if (*size < attribute->size)
        return finish(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    std::memcpy(value, &attribute->value, attribute->size);
    *size = attribute->size;
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute which, size_t* size, void* value) {
    if (!size || !value)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    State& s = state();
    {
        std::lock_guard lock(s.mutex);
        Attribute* attribute = s.find(which);
        if (!attribute)
            return finish(CUPTI_ERROR_INVALID_PARAMETER);
        if (*size < attribute->size)
            return finish(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
        attribute->value = 0;
        std::memcpy(&attribute->value, value, attribute->size);
    }
    if (which == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
        set_buffer_per_thread(*static_cast<const uint8_t*>(value) != 0);
    return CUPTI_SUCCESS;
}
