// The driver API's half of same_calls.h: the functions linked (SAME_CALLS_LINKED), found by dlsym (SAME_CALLS_DLSYM),
// or by cuGetProcAddress. The whole list of failing calls comes before cuInit, then without a context, then with one.
// With the argument "in-callback" also calls from a host function. cuda.h, cuLaunchHostFunc: such calls "may result in
// CUDA_ERROR_NOT_PERMITTED, but this is not required". They are for the simulated device, which always refuses them.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "same_calls.h"

using namespace same_calls;

namespace {

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
// clang-format off
#define FUNCTIONS(X)                                                                                                   \
    X(cuInit) X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuMemAlloc)           \
    X(cuMemAllocHost) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister)                   \
    X(cuMemHostGetFlags) X(cuStreamCreate) X(cuStreamSynchronize) X(cuEventCreate) X(cuEventSynchronize)               \
    X(cuEventRecord) X(cuStreamWaitEvent) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpy) X(cuMemcpyHtoDAsync)             \
    X(cuMemcpyDtoHAsync) X(cuMemcpyAsync) X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphDestroy)              \
    X(cuLaunchHostFunc) X(cuMemAllocManaged)
// clang-format on

struct Functions {
#define MEMBER(name) decltype(&::name) name##_p = nullptr;
    FUNCTIONS(MEMBER)
};
Functions f;
CUresult (*synchronize_context)() = nullptr;  // its signature changed in CUDA 13

constexpr std::size_t kBytes = 10'000;

#define CALL(function, ...)                                                     \
    do {                                                                        \
        errno = kErrnoBefore;                                                   \
        const int code = static_cast<int>(f.function##_p(__VA_ARGS__));         \
        print("%s(%s) -> %d errno %d\n", #function, #__VA_ARGS__, code, errno); \
    } while (false)

struct Memory {
    CUdeviceptr device = 0;
    void* pinned = nullptr;
    void* pageable = nullptr;
    void* back = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
};
Memory m;

// Calls that may be made at any time, and mostly fail.
void odd_calls(const char* when) {
    print("-- %s\n", when);
    void* p = untouched();
    unsigned flags = 0;
    CALL(cuMemcpyHtoD, 0, m.pageable, 64);
    CALL(cuMemcpyHtoDAsync, 0, m.pageable, 64, nullptr);
    CALL(cuMemcpyHtoDAsync, m.device, nullptr, 64, m.stream);
    CALL(cuMemcpyHtoDAsync, m.device, nullptr, 0, m.stream);
    CALL(cuMemcpyDtoH, m.pageable, 0, 64);
    CALL(cuMemcpyDtoHAsync, m.pageable, 0, 64, m.stream);
    CALL(cuMemcpyDtoHAsync, nullptr, m.device, 64, m.stream);
    CALL(cuMemcpy, 0, 0, 0);
    CALL(cuMemcpyAsync, 0, 0, 0, m.stream);
    CALL(cuMemHostAlloc, nullptr, 64, 0);
    CALL(cuMemHostAlloc, &p, 0, 0);
    CALL(cuMemHostAlloc, &p, 64, 0xff00);
    CALL(cuMemHostAlloc, &p, std::size_t{1} << 60, 0);
    CALL(cuMemAllocHost, nullptr, 64);
    CALL(cuMemAllocHost, &p, 0);
    CALL(cuMemAllocManaged, nullptr, 64, 1);
    print("out %s\n", given(p));
    CALL(cuMemFreeHost, nullptr);
    CALL(cuMemFreeHost, m.pageable);
    CALL(cuMemHostRegister, nullptr, 64, 0);
    CALL(cuMemHostRegister, m.pageable, 0, 0);
    CALL(cuMemHostUnregister, nullptr);
    CALL(cuMemHostUnregister, m.pageable);
    CALL(cuMemHostGetFlags, &flags, m.pageable);
    CALL(cuStreamSynchronize, nullptr);
    CALL(cuStreamSynchronize, m.stream);
    CALL(cuEventSynchronize, nullptr);
    CALL(cuStreamEndCapture, m.stream, nullptr);
    errno = kErrnoBefore;
    print("cuCtxSynchronize -> %d", static_cast<int>(synchronize_context()));
    print(" errno %d\n", errno);
    std::fflush(stdout);
}

struct CallsLate {
    ~CallsLate() { odd_calls("destructor of an object made before CUDA was used"); }
};
CallsLate calls_late;

void resolve() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        std::exit(2);
    }
    using LookUp = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
    [[maybe_unused]] const auto look_up = reinterpret_cast<LookUp>(dlsym(library, "cuGetProcAddress_v2"));
    [[maybe_unused]] void* found = nullptr;
#if defined(SAME_CALLS_LINKED)
#define RESOLVE(name) f.name##_p = &::name;
    synchronize_context = reinterpret_cast<CUresult (*)()>(dlsym(RTLD_DEFAULT, "cuCtxSynchronize"));
#elif defined(SAME_CALLS_DLSYM)
#define RESOLVE(name) f.name##_p = reinterpret_cast<decltype(&::name)>(dlsym(library, TEXT(name)));
    synchronize_context = reinterpret_cast<CUresult (*)()>(dlsym(library, "cuCtxSynchronize"));
#else
#define RESOLVE(name)                                                    \
    found = nullptr;                                                     \
    look_up(#name, &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr); \
    f.name##_p = reinterpret_cast<decltype(&::name)>(found);
    look_up("cuCtxSynchronize", reinterpret_cast<void**>(&synchronize_context), 12000, CU_GET_PROC_ADDRESS_DEFAULT,
            nullptr);
    // Odd look-ups: the driver's own answers.
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    print("no such function %d", static_cast<int>(look_up("cuNoSuchFunction", &found, 12000, 0, &status)));
    print(" %s %d\n", given(found), static_cast<int>(status));
    print("too old %d", static_cast<int>(look_up("cuMemcpyHtoDAsync", &found, 1000, 0, &status)));
    print(" %s %d\n", given(found), static_cast<int>(status));
#endif
    FUNCTIONS(RESOLVE)
#define REQUIRE(name)                         \
    if (f.name##_p == nullptr) {              \
        std::printf("%s not found\n", #name); \
        std::exit(2);                         \
    }
    FUNCTIONS(REQUIRE)
}

void good_calls() {
    print("-- good calls\n");
    std::fflush(stdout);
    fill(m.pinned, kBytes, 3);
    fill(m.pageable, kBytes, 5);
    unsigned flags = 0;
    for (void* const host : {m.pinned, m.pageable}) {
        std::memset(m.back, 0, kBytes);
        CALL(cuMemcpyHtoD, m.device, host, kBytes);
        CALL(cuMemcpyDtoH, m.back, m.device, kBytes);
        print("back %u\n", checksum(m.back, kBytes));
        CALL(cuMemcpyHtoDAsync, m.device, host, kBytes / 2, m.stream);
        CALL(cuMemcpyDtoHAsync, m.back, m.device, kBytes, m.stream);
        CALL(cuStreamSynchronize, m.stream);
        print("back %u\n", checksum(m.back, kBytes));
        CALL(cuMemcpyAsync, m.device, reinterpret_cast<CUdeviceptr>(host), kBytes, m.stream);
        CALL(cuMemcpy, reinterpret_cast<CUdeviceptr>(m.back), m.device, kBytes);
        CALL(cuMemcpyHtoDAsync, m.device, host, 16, CU_STREAM_LEGACY);
        CALL(cuMemcpyHtoDAsync, m.device, host, 16, CU_STREAM_PER_THREAD);
    }
    CALL(cuMemHostRegister, m.pageable, kBytes, 0);
    CALL(cuMemHostRegister, m.pageable, kBytes, 0);
    CALL(cuMemHostGetFlags, &flags, m.pageable);
    print("flags %u\n", flags);
    CALL(cuMemHostUnregister, m.pageable);
    CALL(cuEventRecord, m.event, m.stream);
    CALL(cuStreamWaitEvent, m.stream, m.event, 0);
    CALL(cuEventSynchronize, m.event);
    CUgraph graph = nullptr;
    CALL(cuStreamBeginCapture, m.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CALL(cuMemcpyHtoDAsync, m.device, m.pinned, kBytes, m.stream);
    CALL(cuStreamSynchronize, m.stream);
    CALL(cuMemcpyHtoDAsync, m.device, m.pinned, kBytes, m.stream);
    CALL(cuStreamEndCapture, m.stream, &graph);
    print("graph %s\n", given(graph));
    CALL(cuStreamBeginCapture, m.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CALL(cuMemcpyHtoDAsync, m.device, m.pinned, kBytes, m.stream);
    CALL(cuStreamEndCapture, m.stream, &graph);
    print("graph %s\n", given(graph));
    if (graph != nullptr) {
        CALL(cuGraphDestroy, graph);
    }
    std::fflush(stdout);
}

std::atomic<bool> callback_done = false;

void in_callback(void*) {
    CALL(cuMemcpyHtoDAsync, m.device, m.pinned, kBytes, m.stream);
    CALL(cuStreamSynchronize, m.stream);
    CALL(cuMemFreeHost, m.pageable);
    callback_done = true;
    callback_done.notify_one();
}

void callback() {
    std::string written;
    lines = &written;
    const int launched = f.cuLaunchHostFunc_p(m.stream, in_callback, nullptr);
    if (launched == CUDA_SUCCESS) {
        callback_done.wait(false);  // the stream's own wait may fail
    }
    const int waited = f.cuStreamSynchronize_p(m.stream);
    lines = nullptr;
    print("-- host function %d %d\n%s", launched, waited, written.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    m.pageable = std::malloc(kBytes);
    m.back = std::malloc(kBytes);
    resolve();
    odd_calls("before cuInit");
    CUdevice device = 0;
    CUcontext context = nullptr;
    CALL(cuInit, 0);
    odd_calls("without a context");
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc, &m.device, kBytes);
    CALL(cuMemAllocHost, &m.pinned, kBytes);
    CALL(cuStreamCreate, &m.stream, CU_STREAM_NON_BLOCKING);
    CALL(cuEventCreate, &m.event, CU_EVENT_DISABLE_TIMING);
    if (m.device == 0 || m.pinned == nullptr || m.stream == nullptr) {
        return 2;
    }
    odd_calls("with a context");
    good_calls();
    if (argc > 1 && std::strcmp(argv[1], "in-callback") == 0) {
        callback();
    }
    std::fflush(stdout);
    return 0;
}
