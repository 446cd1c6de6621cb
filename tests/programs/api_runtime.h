// The runtime API under the names that copies.h uses. Everything is inlined, so that the call instruction lies in the
// function of copies.h that makes the copy.
//
// COPIES_RUNTIME_HIDDEN: the calls do not go through exported runtime symbols (static runtime, or one found by dlsym
// with a handle), so the report names the driver functions below them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define COPIES_PTSZ "_ptsz"
#define COPIES_PTDS "_ptds"
#else
#define COPIES_PTSZ ""
#define COPIES_PTDS ""
#endif

namespace api {

using Status = int;
using Stream = cudaStream_t;
using Event = cudaEvent_t;

inline constexpr bool kPerThread = sizeof(COPIES_PTSZ) > 1;
#ifdef COPIES_RUNTIME_HIDDEN
inline constexpr const char* kDeviceCopyAsync = "cuMemcpyDtoDAsync_v2" COPIES_PTSZ;
inline constexpr const char* kManaged = "cuMemAllocManaged";
inline constexpr const char* kUploadAsync = "cuMemcpyHtoDAsync_v2" COPIES_PTSZ;
inline constexpr const char* kDownloadAsync = "cuMemcpyDtoHAsync_v2" COPIES_PTSZ;
inline constexpr const char* kCopyAsync = "cuMemcpyAsync" COPIES_PTSZ;
inline constexpr const char* kUpload = "cuMemcpyHtoD_v2" COPIES_PTDS;
inline constexpr const char* kDownload = "cuMemcpyDtoH_v2" COPIES_PTDS;
inline constexpr const char* kCopy = "cuMemcpy" COPIES_PTDS;
inline constexpr const char* kPinDefault = "cuMemHostAlloc";
inline constexpr const char* kPin = "cuMemHostAlloc";
inline constexpr const char* kUnpin = "cuMemFreeHost";
inline constexpr const char* kRegister = "cuMemHostRegister_v2";
inline constexpr const char* kUnregister = "cuMemHostUnregister";
inline constexpr const char* kStreamSync = "cuStreamSynchronize" COPIES_PTSZ;
#else
inline constexpr const char* kUploadAsync = "cudaMemcpyAsync" COPIES_PTSZ;
inline constexpr const char* kDownloadAsync = kUploadAsync;
inline constexpr const char* kDeviceCopyAsync = kUploadAsync;
inline constexpr const char* kManaged = "cudaMallocManaged";
inline constexpr const char* kCopyAsync = kUploadAsync;
inline constexpr const char* kUpload = "cudaMemcpy" COPIES_PTDS;
inline constexpr const char* kDownload = kUpload;
inline constexpr const char* kCopy = kUpload;
inline constexpr const char* kPinDefault = "cudaMallocHost";
inline constexpr const char* kPin = "cudaHostAlloc";
inline constexpr const char* kUnpin = "cudaFreeHost";
inline constexpr const char* kRegister = "cudaHostRegister";
inline constexpr const char* kUnregister = "cudaHostUnregister";
inline constexpr const char* kStreamSync = "cudaStreamSynchronize" COPIES_PTSZ;
#endif
inline constexpr unsigned kRegisterReadOnly = cudaHostRegisterReadOnly;

inline const Stream kStreamLegacy = cudaStreamLegacy;
inline const Stream kStreamPerThread = cudaStreamPerThread;

#define COPIES_INLINE inline __attribute__((always_inline))

COPIES_INLINE Status start() {
    return cudaSetDevice(0);
}
COPIES_INLINE Status start_thread() {
    return cudaSetDevice(0);
}
COPIES_INLINE Status device_alloc(void** out, std::size_t bytes) {
    return cudaMalloc(out, bytes);
}
COPIES_INLINE Status device_free(void* p) {
    return cudaFree(p);
}
COPIES_INLINE Status pin_default(void** out, std::size_t bytes) {
    return cudaMallocHost(out, bytes);
}
COPIES_INLINE Status pin(void** out, std::size_t bytes, unsigned flags) {
    return cudaHostAlloc(out, bytes, flags);
}
COPIES_INLINE Status unpin(void* p) {
    return cudaFreeHost(p);
}
COPIES_INLINE Status register_host(void* p, std::size_t bytes, unsigned flags) {
    return cudaHostRegister(p, bytes, flags);
}
COPIES_INLINE Status unregister_host(void* p) {
    return cudaHostUnregister(p);
}
COPIES_INLINE Status managed_alloc(void** out, std::size_t bytes) {
    return cudaMallocManaged(out, bytes);
}
COPIES_INLINE Status managed_free(void* p) {
    return cudaFree(p);
}
COPIES_INLINE Status stream_create(Stream* out) {
    return cudaStreamCreateWithFlags(out, cudaStreamNonBlocking);
}
COPIES_INLINE Status stream_destroy(Stream s) {
    return cudaStreamDestroy(s);
}
COPIES_INLINE Status stream_sync(Stream s) {
    return cudaStreamSynchronize(s);
}
COPIES_INLINE Status device_sync() {
    return cudaDeviceSynchronize();
}
COPIES_INLINE Status event_create(Event* out) {
    return cudaEventCreateWithFlags(out, cudaEventDisableTiming);
}
COPIES_INLINE Status event_destroy(Event e) {
    return cudaEventDestroy(e);
}
COPIES_INLINE Status event_record(Event e, Stream s) {
    return cudaEventRecord(e, s);
}
COPIES_INLINE Status upload_async(void* device, const void* host, std::size_t bytes, Stream s) {
    return cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, s);
}
COPIES_INLINE Status download_async(void* host, const void* device, std::size_t bytes, Stream s) {
    return cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s);
}
COPIES_INLINE Status copy_async(void* to, const void* from, std::size_t bytes, Stream s) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s);
}
COPIES_INLINE Status device_copy_async(void* to, const void* from, std::size_t bytes, Stream s) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s);
}
COPIES_INLINE Status upload(void* device, const void* host, std::size_t bytes) {
    return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
}
COPIES_INLINE Status download(void* host, const void* device, std::size_t bytes) {
    return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
}
COPIES_INLINE Status copy(void* to, const void* from, std::size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}

}  // namespace api
