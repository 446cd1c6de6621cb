#include "records.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace simcupti {
namespace {

static_assert(sizeof(CUpti_ActivityMemcpy6) <= kLargestRecord && sizeof(CUpti_ActivityMemcpyPtoP4) <= kLargestRecord);
static_assert(sizeof(CUpti_ActivityMemset4) <= kLargestRecord && sizeof(CUpti_ActivityAPI) <= kLargestRecord);

// What a full queue's record points to; its length is that of the queue, the channels are not simulated.
CUpti_ActivityOverheadCommandBufferFullData g_command_buffer{1024, CUPTI_INVALID_CHANNEL_ID,
                                                             CUPTI_CHANNEL_TYPE_INVALID};

std::uint32_t thread_id() {
    return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

// By the ends' memory kinds. Managed memory counts as the device's, so that a copy from it to the device is one inside
// the device (measured: H200, CUPTI 13.0: copy kind 8).
CUpti_ActivityMemcpyKind copy_kind(const SimcudaWork& work) {
    enum Place { host, device, array };
    const auto place = [](SimcudaMemory memory) {
        return memory == kSimcudaArray ? array : memory == kSimcudaDevice || memory == kSimcudaManaged ? device : host;
    };
    static constexpr CUpti_ActivityMemcpyKind kinds[3][3] = {
        {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA},
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA},
        {CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA}};
    return kinds[place(work.from)][place(work.to)];
}

template <typename Struct>
void fill_place(Struct& record, const SimcudaWork& work) {
    record.start = work.start;
    record.end = work.end;
    record.deviceId = static_cast<std::uint32_t>(work.context.device);
    record.contextId = work.context.id;
    record.streamId = work.stream.id;
    record.correlationId = work.correlation;
    record.channelID = CUPTI_INVALID_CHANNEL_ID;
    record.channelType = CUPTI_CHANNEL_TYPE_INVALID;
}

template <typename Struct>
void fill_copy(Struct& record, const SimcudaWork& work) {
    fill_place(record, work);
    record.copyKind = static_cast<std::uint8_t>(copy_kind(work));
    record.srcKind = work.from;
    record.dstKind = work.to;
    record.flags = work.asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
    record.bytes = work.bytes;
}

void fill_kernel(CUpti_ActivityKernel10& record, const SimcudaWork& work) {
    fill_place(record, work);
    record.name = work.kernel;
    record.gridX = static_cast<std::int32_t>(work.grid[0]);
    record.gridY = static_cast<std::int32_t>(work.grid[1]);
    record.gridZ = static_cast<std::int32_t>(work.grid[2]);
    record.blockX = static_cast<std::int32_t>(work.block[0]);
    record.blockY = static_cast<std::int32_t>(work.block[1]);
    record.blockZ = static_cast<std::int32_t>(work.block[2]);
    record.dynamicSharedMemory = static_cast<std::int32_t>(work.shared_bytes);
    record.completed = work.end;
    record.gridId = work.correlation;
}

}  // namespace

std::size_t size_of(CUpti_ActivityKind kind) {
    const bool old = version() < 130000;
    switch (kind) {
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return old ? sizeof(CUpti_ActivityMemcpy5) : sizeof(CUpti_ActivityMemcpy6);
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return sizeof(CUpti_ActivityMemcpyPtoP4);
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return sizeof(CUpti_ActivityMemset4);
        case CUPTI_ACTIVITY_KIND_KERNEL:
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            return old ? sizeof(CUpti_ActivityKernel9) : sizeof(CUpti_ActivityKernel10);
        case CUPTI_ACTIVITY_KIND_DRIVER:
        case CUPTI_ACTIVITY_KIND_RUNTIME:
            return sizeof(CUpti_ActivityAPI);
        case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
            return old ? sizeof(CUpti_ActivitySynchronization) : sizeof(CUpti_ActivitySynchronization2);
        case CUPTI_ACTIVITY_KIND_OVERHEAD:
            return old ? sizeof(CUpti_ActivityOverhead2) : sizeof(CUpti_ActivityOverhead3);
        case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
            return sizeof(CUpti_ActivityExternalCorrelation);
        default:
            return 0;
    }
}

template <typename Struct>
Struct& Record::as(CUpti_ActivityKind kind) {
    size_ = size_of(kind);
    Struct& record = *new (data_) Struct{};
    record.kind = kind;
    return record;
}

Record::Record(const SimcudaWork& work, CUpti_ActivityKind kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_KIND_MEMCPY: {
            auto& record = as<CUpti_ActivityMemcpy6>(kind);
            fill_copy(record, work);
            if (version() >= 130000)
                record.copyCount = 1;
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY2: {
            auto& record = as<CUpti_ActivityMemcpyPtoP4>(kind);
            fill_copy(record, work);
            record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
            record.srcDeviceId = static_cast<std::uint32_t>(work.from_context.device);
            record.srcContextId = work.from_context.id;
            record.dstDeviceId = static_cast<std::uint32_t>(work.to_context.device);
            record.dstContextId = work.to_context.id;
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMSET: {
            auto& record = as<CUpti_ActivityMemset4>(kind);
            fill_place(record, work);
            record.value = work.value;
            record.bytes = work.bytes;
            record.flags = work.asynchronous ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
            record.memoryKind = work.to;
            break;
        }
        default:
            fill_kernel(as<CUpti_ActivityKernel10>(kind), work);
    }
}

Record::Record(const SimcudaCall& call, std::uint32_t cbid, std::uint64_t end, int result) {
    auto& record =
        as<CUpti_ActivityAPI>(call.domain == kSimcudaDriver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
    record.cbid = cbid;
    record.start = call.started;
    record.end = end;
    record.processId = static_cast<std::uint32_t>(getpid());
    record.threadId = thread_id();
    record.correlationId = call.correlation;
    record.returnValue = static_cast<std::uint32_t>(result);
}

Record::Record(const SimcudaWait& wait, CUpti_ActivitySynchronizationType type) {
    auto& record = as<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    record.type = type;
    record.start = wait.start;
    record.end = wait.end;
    record.correlationId = wait.correlation;
    record.contextId = wait.context.id;
    record.streamId = wait.stream.handle ? wait.stream.id : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    record.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    if (version() >= 130000)
        record.returnValue = static_cast<std::uint32_t>(wait.result);
}

Record::Record(CUpti_ActivityOverheadKind kind, std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
    auto& record = as<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
    record.overheadKind = kind;
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.objectId.pt = {static_cast<std::uint32_t>(getpid()), thread_id()};
    record.start = start;
    record.end = end;
    record.correlationId = correlation;
    if (kind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL && version() >= 130000)
        record.overheadData = &g_command_buffer;
}

Record::Record(CUpti_ExternalCorrelationKind kind, std::uint64_t id, std::uint32_t correlation) {
    auto& record = as<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    record.externalKind = kind;
    record.externalId = id;
    record.correlationId = correlation;
}

}  // namespace simcupti
