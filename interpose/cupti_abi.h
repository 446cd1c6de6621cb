// The part of CUPTI's interface that the tool uses, declared here so that building it needs no CUPTI. Only fields that
// lie at the same place in every version of a record are named: a record of CUPTI 12 is read as one of CUPTI 13.
// Source: cupti_activity.h, cupti_activity_deprecated.h, cupti_callbacks.h and cupti_driver_cbid.h of CUDA 13.0,
// against which tests/unit/interpose/cupti_abi_test.cpp holds every number here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pincheck::cupti {

// CUptiResult
inline constexpr int kSuccess = 0;
inline constexpr int kNotInitialized = 15;
inline constexpr int kInsufficientPrivileges = 35;
inline constexpr int kMultipleSubscribers = 39;
inline constexpr int kVirtualizedPrivileges = 40;

// CUpti_ActivityKind
inline constexpr std::uint32_t kKindMemcpy = 1;
inline constexpr std::uint32_t kKindMemset = 2;
inline constexpr std::uint32_t kKindConcurrentKernel = 10;
inline constexpr std::uint32_t kKindOverhead = 17;
inline constexpr std::uint32_t kKindMemcpyPeer = 22;  // MEMCPY2: between two devices

// CUpti_ActivityAttribute; each value is a size_t.
inline constexpr std::uint32_t kDeviceBufferSize = 0;
inline constexpr std::uint32_t kDeviceBufferPoolLimit = 2;
inline constexpr std::uint32_t kDeviceBufferPreallocate = 6;

// CUpti_ActivityOverheadKind
inline constexpr std::uint32_t kCommandBufferFull = 0x60000;
// API version of CUDA 12.2, since which overhead records have a correlation id (CUpti_ActivityOverhead2).
inline constexpr std::uint32_t kOverheadHasCorrelation = 20;

// CUpti_ActivityFlag
inline constexpr std::uint32_t kFlushForced = 1;

// CUpti_CallbackDomain, CUpti_ApiCallbackSite
inline constexpr std::uint32_t kDomainDriver = 1;
inline constexpr std::uint32_t kSiteEnter = 0;

// First field of every record: its kind. All may alias: CUPTI writes them into bytes.
struct __attribute__((may_alias)) Record {
    std::uint32_t kind;
};

struct __attribute__((packed, aligned(8), may_alias)) MemcpyRecord {
    std::uint32_t kind;
    std::uint8_t copy_kind;         // CUpti_ActivityMemcpyKind
    std::uint8_t source_kind;       // CUpti_ActivityMemoryKind
    std::uint8_t destination_kind;  // CUpti_ActivityMemoryKind
    std::uint8_t flags;             // bit 0: asynchronous
    std::uint64_t bytes;
    std::uint64_t start;  // CLOCK_REALTIME; start and end 0: no time could be collected
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
};

struct __attribute__((packed, aligned(8), may_alias)) MemcpyPeerRecord {
    std::uint32_t kind;
    std::uint8_t copy_kind;
    std::uint8_t source_kind;
    std::uint8_t destination_kind;
    std::uint8_t flags;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t source_device;
    std::uint32_t source_context;
    std::uint32_t destination_device;
    std::uint32_t destination_context;
    std::uint32_t correlation;
};

struct __attribute__((packed, aligned(8), may_alias)) MemsetRecord {
    std::uint32_t kind;
    std::uint32_t value;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
};

// Since CUpti_ActivityKernel4 (CUDA 9.0).
struct __attribute__((packed, aligned(8), may_alias)) KernelRecord {
    std::uint32_t kind;
    std::uint8_t settings[12];
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t completed;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::int32_t shape[10];
    std::uint32_t correlation;
    std::int64_t grid;
    const char* name;  // mangled; lives until CUPTI is detached
};

struct __attribute__((packed, aligned(8), may_alias)) OverheadRecord {
    std::uint32_t kind;
    std::uint32_t overhead_kind;
    std::uint32_t object_kind;
    std::uint32_t object[3];
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t correlation;  // see kOverheadHasCorrelation
};

struct CallbackData {
    std::uint32_t site;  // CUpti_ApiCallbackSite
    const char* function;
    const void* parameters;
    void* result;
    const char* symbol;
    void* context;
    std::uint32_t context_id;
    std::uint64_t* data;
    std::uint32_t correlation;
};

using Callback = void (*)(void* data, std::uint32_t domain, std::uint32_t id, const CallbackData* call);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                 std::size_t valid);

// CUPTI_DRIVER_TRACE_CBID_*, which never change: the functions that copy, fill or launch a graph, as ranges [first,
// last]. What lies between two of one kind and is another's is left out.
struct IdRange {
    std::uint16_t first;
    std::uint16_t last;
};
inline constexpr IdRange kCopyIds[] = {
    {43, 82},    // cuMemcpyHtoD … cu64MemsetD2D32
    {216, 227},  // cuMemsetD8Async … cu64MemsetD2D32Async
    {232, 234},  // cu64Memcpy2D …
    {248, 254},  // cuMemcpy_v2, cuMemsetD8_v2 …
    {276, 293},  // cuMemcpyHtoD_v2 … cuMemcpyHtoAAsync_v2
    {305, 306},  // cuMemcpy, cuMemcpyAsync
    {318, 321},  // cuMemcpyPeer … cuMemcpy3DPeerAsync
    {397, 416},  // cuMemcpyHtoD_v2_ptds … cuMemsetD2D32_v2_ptds
    {418, 433},  // cuMemcpyAsync_ptsz … cuMemsetD2D32Async_ptsz
    {514, 515},  // cuGraphLaunch, cuGraphLaunch_ptsz
    {776, 779},  // cuMemcpyBatchAsync … (CUDA 12.8)
    {796, 799},  // cuMemcpyBatchAsync_v2 … (CUDA 13.0)
};

}  // namespace pincheck::cupti
