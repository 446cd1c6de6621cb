// The private tables for the stand-in profiler library and the stand-in runtime (../observer.h).
#include <cstring>

#include "context.h"
#include "memory.h"

using namespace simcuda;

namespace {

void observe(const SimcudaObserver* wanted) {
    g_observer.store(wanted, std::memory_order_release);
}

void contexts(void (*each)(const SimcudaContextName* context, void* data), void* data) {
    for (const Context* context : living_contexts()) {
        const SimcudaContextName name = name_of(context);
        each(&name, data);
    }
}

std::uint32_t context_id(void* handle) {
    const Context* context = handle ? find_context(static_cast<CUcontext>(handle)) : current_context();
    return context ? context->id : 0;
}

std::uint32_t stream_id(void* handle, void* stream, bool per_thread) {
    Context* context = handle ? find_context(static_cast<CUcontext>(handle)) : current_context();
    if (!context)
        return 0;
    const StreamPtr found = find_stream(context, static_cast<CUstream>(stream),
                                        per_thread ? DefaultStream::per_thread : DefaultStream::legacy);
    return found ? static_cast<std::uint32_t>(found->id) : 0;
}

const SimcudaDriver kDriver{observe, contexts, context_id, stream_id, take_device_bytes, give_device_bytes};

const SimcudaRuntimeCalls kRuntimeCalls{
    sizeof(SimcudaRuntimeCalls),
    [](SimcudaCall* call, const char* symbol) { return begin_call(call, kSimcudaRuntime, symbol); },
    [](SimcudaCall* call, int result) { end_call(call, static_cast<CUresult>(result)); },
};

}  // namespace

SIM_EXPORT const SimcudaDriver* simcuda_driver(std::uint32_t version) {
    return version == kSimcudaObserverVersion ? &kDriver : nullptr;
}

// Real drivers hand out tables to the runtime and to tools; the ids of those are not public.
SIM_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* id) {
    if (const CUresult ordered = count_call(Api::cuGetExportTable); ordered != CUDA_SUCCESS)
        return ordered;
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    const bool known = std::memcmp(id->bytes, kSimcudaRuntimeCallsId, sizeof id->bytes) == 0;
    *table = known ? &kRuntimeCalls : nullptr;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
