// cuGetProcAddress: name without suffix, version and flags choose the symbol (CUDA Driver API, "Driver Entry Point
// Access").
#include <cstring>
#include <string_view>

#include "context.h"
#include "settings.h"

using namespace simcuda;

namespace simcuda {
namespace {

enum class Variant { none, legacy, per_thread };

struct Row {
    std::string_view name;
    void* address;
    int since;
    Variant variant;
};

template <typename F>
void* address_of(F* function) {
    return reinterpret_cast<void*>(function);
}

// Not constexpr: the addresses are known to the dynamic linker only.
const Row kRows[] = {
#define SIM_API(name, symbol, since, variant) {#name, address_of(&symbol), since, Variant::variant},
#include "driver_api.def"
#undef SIM_API
};

// The highest version not above the asked one. A function that has a per-thread twin is then that twin or nothing
// (measured: H200, driver 580.159.04: cuMemcpyHtoDAsync with the per-thread flag and a version below 7000 gives "not
// sufficient").
const Row* choose(std::string_view name, int version, bool per_thread, bool* known) {
    const Row* best = nullptr;
    *known = false;
    for (const Row& row : kRows) {
        if (row.name != name)
            continue;
        *known = true;
        const Variant unwanted = per_thread ? Variant::legacy : Variant::per_thread;
        if (row.since > version || row.variant == unwanted)
            continue;
        if (!best || row.since > best->since)
            best = &row;
    }
    return best;
}

// Null with a status when there is no such function.
CUresult look_up(const char* name, int version, cuuint64_t flags, const Row** row,
                 CUdriverProcAddressQueryResult* status) {
    constexpr cuuint64_t known_flags =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!name || (flags & ~known_flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (version > settings().driver_version)
        return CUDA_ERROR_INVALID_VALUE;  // cuda.h, cuGetProcAddress
    bool known = false;
    *row = choose(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
    *status = *row    ? CU_GET_PROC_ADDRESS_SUCCESS
              : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace simcuda

// The first version reports an unknown name as an error and leaves the pointer alone; the second one succeeds with a
// null pointer, also when no status was asked for (measured: H200, driver 580.159.04).
SIM_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
    if (const CUresult ordered = count_call(Api::cuGetProcAddress); ordered != CUDA_SUCCESS)
        return ordered;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    const Row* row = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (const CUresult result = look_up(symbol, version, flags, &row, &status); result != CUDA_SUCCESS)
        return result;
    if (!row)
        return CUDA_ERROR_NOT_FOUND;
    *function = row->address;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
    if (const CUresult ordered = count_call(Api::cuGetProcAddress_v2); ordered != CUDA_SUCCESS)
        return ordered;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    const Row* row = nullptr;
    CUdriverProcAddressQueryResult found{};
    if (const CUresult result = look_up(symbol, version, flags, &row, &found); result != CUDA_SUCCESS)
        return result;
    *function = row ? row->address : nullptr;
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}
