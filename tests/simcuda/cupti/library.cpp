#include "library.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "activity_buffers.h"
#include "callbacks.h"
#include "device_memory.h"
#include "kinds.h"
#include "waits.h"
#include "works.h"

namespace simcupti {
namespace {

std::mutex g_mutex;  // of connecting
std::atomic<const SimcudaDriver*> g_driver{nullptr};
std::atomic<CUpti_TimestampCallbackFunc> g_clock{nullptr};
thread_local CUptiResult t_last_error = CUPTI_SUCCESS;

constexpr SimcudaObserver kObserver{
    now, call_begins, call_ends, work_issued, work_done, waited, context_created, context_destroyed,
};

// Records that nobody asked for are delivered when the library goes, as long as its client is still there. Not in a
// child made by fork: another of the parent's threads may have held a lock, which nobody would release there.
struct AtExit {
    const pid_t process = getpid();
    ~AtExit() {
        if (getpid() != process)
            return;
        if (connected())
            flush(Flush::forced);
        disconnect();
    }
};

}  // namespace

thread_local int InsideProgram::depth_ = 0;

const SimcudaDriver* connect() {
    static AtExit at_exit;
    std::lock_guard lock(g_mutex);
    if (const SimcudaDriver* driver = g_driver)
        return driver;
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    auto* table = library ? reinterpret_cast<decltype(&simcuda_driver)>(dlsym(library, "simcuda_driver")) : nullptr;
    const SimcudaDriver* driver = table ? table(kSimcudaObserverVersion) : nullptr;
    if (driver)
        driver->observe(&kObserver);
    g_driver = driver;
    return driver;
}

const SimcudaDriver* connected() {
    return g_driver;
}

void disconnect() {
    std::lock_guard lock(g_mutex);
    if (const SimcudaDriver* driver = g_driver)
        driver->observe(nullptr);
    g_driver = nullptr;
}

std::uint32_t version() {
    static const std::uint32_t chosen = [] {
        const char* text = std::getenv("SIMCUDA_CUPTI_VERSION");
        return text && *text ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : CUPTI_API_VERSION;
    }();
    return chosen;
}

std::uint64_t now() {
    if (const CUpti_TimestampCallbackFunc clock = g_clock) {
        InsideProgram inside;
        return clock();
    }
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

CUptiResult finish(CUptiResult result) {
    if (result != CUPTI_SUCCESS)
        t_last_error = result;
    return result;
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiGetVersion(uint32_t* out) {
    if (!out)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    *out = version();
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetLastError() {
    const CUptiResult last = t_last_error;
    t_last_error = CUPTI_SUCCESS;
    return last;
}

SIM_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* out) {
    if (!out)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    *out = now();
    return CUPTI_SUCCESS;
}

// Measured: H200, CUPTI 13.0: a null function is refused, so that a clock once registered stays.
SIM_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
    if (!clock)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    g_clock = clock;
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiFinalize() {
    disconnect();
    unsubscribe_all();
    forget_kinds();
    forget_works();
    forget_buffers();
    give_back_memory();
    return CUPTI_SUCCESS;
}
