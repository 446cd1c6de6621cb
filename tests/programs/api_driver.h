// The driver API under the names that copies.h uses. How its functions are found is the caller's choice, before the
// include:
//
//   COPIES_DRIVER_LINKED     the program is linked with -lcuda
//   COPIES_DRIVER_DLSYM      dlopen("libcuda.so.1") and dlsym with that handle, as JAX and Numba do
//   COPIES_DRIVER_LOOKUP_V2  one dlsym for cuGetProcAddress_v2, everything else through it
//   COPIES_DRIVER_LOOKUP_V1  the same with the function of CUDA 11.3
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define COPIES_TEXT_(x) #x
#define COPIES_TEXT(x) COPIES_TEXT_(x)
#define COPIES_INLINE inline __attribute__((always_inline))

// name as the look-up knows it; the header's macros turn it into the symbol
// clang-format off
#define COPIES_DRIVER_FUNCTIONS(X)                                                                                     \
    X(cuInit) X(cuDeviceGet) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuMemAlloc)          \
    X(cuMemFree) X(cuMemAllocHost) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister)      \
    X(cuMemAllocManaged) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuEventCreate)                  \
    X(cuEventDestroy) X(cuEventRecord) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpy) X(cuMemcpyHtoDAsync)                \
    X(cuMemcpyDtoHAsync) X(cuMemcpyAsync) X(cuMemcpyDtoDAsync)
// clang-format on

namespace api {

// `name` must stay unexpanded for the member and the look-up: #name does not expand its argument.
struct Functions {
#define COPIES_MEMBER(name) decltype(&::name) p_##name = nullptr;
    COPIES_DRIVER_FUNCTIONS(COPIES_MEMBER)
#undef COPIES_MEMBER
};
inline Functions functions;

inline void* open_driver() {
    void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(2);
    }
    return handle;
}

inline void require(void* found, const char* name) {
    if (found == nullptr) {
        std::fprintf(stderr, "%s not found\n", name);
        std::exit(2);
    }
}

inline void resolve() {
#if defined(COPIES_DRIVER_LINKED)
#define COPIES_RESOLVE(name) functions.p_##name = &::name;
#elif defined(COPIES_DRIVER_DLSYM)
    void* const driver = open_driver();
#define COPIES_RESOLVE(name)                                                                    \
    functions.p_##name = reinterpret_cast<decltype(&::name)>(dlsym(driver, COPIES_TEXT(name))); \
    require(reinterpret_cast<void*>(functions.p_##name), COPIES_TEXT(name));
#else
    constexpr int kVersion = 12000;  // cuCtxSynchronize has another signature from 13.0 on
#if defined(COPIES_DRIVER_LOOKUP_V2)
    const auto look_up =
        reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)>(
            dlsym(open_driver(), "cuGetProcAddress_v2"));
#define COPIES_LOOK_UP(name, out) look_up(name, out, kVersion, kLookupFlags, nullptr)
#else
    const auto look_up =
        reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(dlsym(open_driver(), "cuGetProcAddress"));
#define COPIES_LOOK_UP(name, out) look_up(name, out, kVersion, kLookupFlags)
#endif
    require(reinterpret_cast<void*>(look_up), "cuGetProcAddress");
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    constexpr cuuint64_t kLookupFlags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
#else
    constexpr cuuint64_t kLookupFlags = CU_GET_PROC_ADDRESS_DEFAULT;
#endif
#define COPIES_RESOLVE(name)                                             \
    {                                                                    \
        void* found = nullptr;                                           \
        if (COPIES_LOOK_UP(#name, &found) != CUDA_SUCCESS) {             \
            found = nullptr;                                             \
        }                                                                \
        require(found, #name);                                           \
        functions.p_##name = reinterpret_cast<decltype(&::name)>(found); \
    }
#endif
#define COPIES_RESOLVE_EACH(name) COPIES_RESOLVE(name)
    COPIES_DRIVER_FUNCTIONS(COPIES_RESOLVE)
}

using Status = int;
using Stream = CUstream;
using Event = CUevent;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
inline constexpr bool kPerThread = true;
#else
inline constexpr bool kPerThread = false;
#endif
inline constexpr const char* kDeviceCopyAsync = COPIES_TEXT(cuMemcpyDtoDAsync);
inline constexpr const char* kUploadAsync = COPIES_TEXT(cuMemcpyHtoDAsync);
inline constexpr const char* kDownloadAsync = COPIES_TEXT(cuMemcpyDtoHAsync);
inline constexpr const char* kCopyAsync = COPIES_TEXT(cuMemcpyAsync);
inline constexpr const char* kUpload = COPIES_TEXT(cuMemcpyHtoD);
inline constexpr const char* kDownload = COPIES_TEXT(cuMemcpyDtoH);
inline constexpr const char* kCopy = COPIES_TEXT(cuMemcpy);
inline constexpr const char* kPinDefault = "cuMemAllocHost_v2";
inline constexpr const char* kPin = "cuMemHostAlloc";
inline constexpr const char* kUnpin = "cuMemFreeHost";
inline constexpr const char* kRegister = "cuMemHostRegister_v2";
inline constexpr const char* kUnregister = "cuMemHostUnregister";
inline constexpr const char* kStreamSync = COPIES_TEXT(cuStreamSynchronize);
inline constexpr const char* kManaged = "cuMemAllocManaged";
inline constexpr unsigned kRegisterReadOnly = CU_MEMHOSTREGISTER_READ_ONLY;

inline const Stream kStreamLegacy = CU_STREAM_LEGACY;
inline const Stream kStreamPerThread = CU_STREAM_PER_THREAD;

inline CUcontext context = nullptr;

COPIES_INLINE CUdeviceptr device_pointer(const void* p) {
    return reinterpret_cast<CUdeviceptr>(p);
}

COPIES_INLINE Status start_thread() {
    return functions.p_cuCtxSetCurrent(context);
}
inline Status start() {
    resolve();
    CUdevice device = 0;
    Status status = functions.p_cuInit(0);
    status = status != 0 ? status : functions.p_cuDeviceGet(&device, 0);
    status = status != 0 ? status : functions.p_cuDevicePrimaryCtxRetain(&context, device);
    return status != 0 ? status : start_thread();
}
COPIES_INLINE Status device_alloc(void** out, std::size_t bytes) {
    return functions.p_cuMemAlloc(reinterpret_cast<CUdeviceptr*>(out), bytes);
}
COPIES_INLINE Status device_free(void* p) {
    return functions.p_cuMemFree(device_pointer(p));
}
COPIES_INLINE Status pin_default(void** out, std::size_t bytes) {
    return functions.p_cuMemAllocHost(out, bytes);
}
COPIES_INLINE Status pin(void** out, std::size_t bytes, unsigned flags) {
    return functions.p_cuMemHostAlloc(out, bytes, flags);
}
COPIES_INLINE Status unpin(void* p) {
    return functions.p_cuMemFreeHost(p);
}
COPIES_INLINE Status register_host(void* p, std::size_t bytes, unsigned flags) {
    return functions.p_cuMemHostRegister(p, bytes, flags);
}
COPIES_INLINE Status unregister_host(void* p) {
    return functions.p_cuMemHostUnregister(p);
}
COPIES_INLINE Status managed_alloc(void** out, std::size_t bytes) {
    return functions.p_cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(out), bytes, CU_MEM_ATTACH_GLOBAL);
}
COPIES_INLINE Status managed_free(void* p) {
    return functions.p_cuMemFree(device_pointer(p));
}
COPIES_INLINE Status stream_create(Stream* out) {
    return functions.p_cuStreamCreate(out, CU_STREAM_NON_BLOCKING);
}
COPIES_INLINE Status stream_destroy(Stream s) {
    return functions.p_cuStreamDestroy(s);
}
COPIES_INLINE Status stream_sync(Stream s) {
    return functions.p_cuStreamSynchronize(s);
}
COPIES_INLINE Status device_sync() {
    return functions.p_cuCtxSynchronize();
}
COPIES_INLINE Status event_create(Event* out) {
    return functions.p_cuEventCreate(out, CU_EVENT_DISABLE_TIMING);
}
COPIES_INLINE Status event_destroy(Event e) {
    return functions.p_cuEventDestroy(e);
}
COPIES_INLINE Status event_record(Event e, Stream s) {
    return functions.p_cuEventRecord(e, s);
}
COPIES_INLINE Status upload_async(void* device, const void* host, std::size_t bytes, Stream s) {
    return functions.p_cuMemcpyHtoDAsync(device_pointer(device), host, bytes, s);
}
COPIES_INLINE Status download_async(void* host, const void* device, std::size_t bytes, Stream s) {
    return functions.p_cuMemcpyDtoHAsync(host, device_pointer(device), bytes, s);
}
COPIES_INLINE Status copy_async(void* to, const void* from, std::size_t bytes, Stream s) {
    return functions.p_cuMemcpyAsync(device_pointer(to), device_pointer(from), bytes, s);
}
COPIES_INLINE Status device_copy_async(void* to, const void* from, std::size_t bytes, Stream s) {
    return functions.p_cuMemcpyDtoDAsync(device_pointer(to), device_pointer(from), bytes, s);
}
COPIES_INLINE Status upload(void* device, const void* host, std::size_t bytes) {
    return functions.p_cuMemcpyHtoD(device_pointer(device), host, bytes);
}
COPIES_INLINE Status download(void* host, const void* device, std::size_t bytes) {
    return functions.p_cuMemcpyDtoH(host, device_pointer(device), bytes);
}
COPIES_INLINE Status copy(void* to, const void* from, std::size_t bytes) {
    return functions.p_cuMemcpy(device_pointer(to), device_pointer(from), bytes);
}

}  // namespace api
