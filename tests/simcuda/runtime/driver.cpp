#include "driver.h"

#include <dlfcn.h>

#include <cstring>
#include <vector>

namespace simcudart {
namespace {

struct LookUp {
    const char* name;
    int version;
    unsigned long long flags;
};

// The real runtime's look-ups, replayed in their order: what a tool between runtime and driver gets to see is then the
// same.
constexpr LookUp kTranscript[] = {
#include "cudart_lookups.inc"
};

void* find(const Driver& driver, const std::vector<void*>& answers, const LookUp& wanted) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const LookUp& asked = kTranscript[i];
        if (asked.version == wanted.version && asked.flags == wanted.flags && std::strcmp(asked.name, wanted.name) == 0)
            return answers[i];
    }
    void* function = nullptr;
    CUdriverProcAddressQueryResult status{};
    driver.look_up(wanted.name, &function, wanted.version, wanted.flags, &status);
    return function;
}

DriverState open_driver() {
    DriverState state;
    Driver& driver = state.functions;
    // Measured: H200, driver 580.159.04: one dlopen, one dlsym, then look-ups only.
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library)
        driver.look_up = reinterpret_cast<decltype(driver.look_up)>(dlsym(library, "cuGetProcAddress_v2"));
    state.error = cudaErrorInsufficientDriver;
    if (!driver.look_up)
        return state;

    std::vector<void*> answers;
    for (const LookUp& asked : kTranscript) {
        void* function = nullptr;
        CUdriverProcAddressQueryResult status{};
        driver.look_up(asked.name, &function, asked.version, asked.flags, &status);
        answers.push_back(function);
    }
#define DRIVER_FUNCTION(symbol, name, version, flags)                                                          \
    driver.symbol = reinterpret_cast<decltype(driver.symbol)>(find(driver, answers, {#name, version, flags})); \
    if (!driver.symbol)                                                                                        \
        return state;
#include "driver_functions.def"
#undef DRIVER_FUNCTION

    const auto table =
        reinterpret_cast<decltype(&cuGetExportTable)>(find(driver, answers, {"cuGetExportTable", 3000, 0}));
    CUuuid id;
    std::memcpy(id.bytes, kSimcudaRuntimeCallsId, sizeof id.bytes);
    const void* calls = nullptr;
    if (table && table(&calls, &id) == CUDA_SUCCESS)
        state.calls = static_cast<const SimcudaRuntimeCalls*>(calls);

    int version = 0;
    driver.cuDriverGetVersion(&version);
    if (version / 1000 < CUDART_VERSION / 1000)
        return state;
    state.error = static_cast<cudaError_t>(driver.cuInit(0));
    if (state.error == cudaSuccess)
        state.error = static_cast<cudaError_t>(driver.cuDeviceGetCount(&state.devices));
    return state;
}

}  // namespace

const DriverState& driver_state() {
    static const DriverState& state = *new DriverState(open_driver());
    return state;
}

}  // namespace simcudart
