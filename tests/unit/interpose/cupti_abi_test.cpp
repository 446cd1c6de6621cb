// What interpose/cupti_abi.h declares by itself against the toolkit's CUPTI headers.
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <type_traits>

#include "interpose/cupti_abi.h"

namespace {

namespace cupti = pincheck::cupti;

TEST(CuptiAbi, numbersAreThoseOfTheHeaders) {
    EXPECT_EQ(cupti::kSuccess, CUPTI_SUCCESS);
    EXPECT_EQ(cupti::kNotInitialized, CUPTI_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cupti::kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cupti::kKindMemcpy, std::uint32_t{CUPTI_ACTIVITY_KIND_MEMCPY});
    EXPECT_EQ(cupti::kKindMemset, std::uint32_t{CUPTI_ACTIVITY_KIND_MEMSET});
    EXPECT_EQ(cupti::kKindConcurrentKernel, std::uint32_t{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
    EXPECT_EQ(cupti::kKindOverhead, std::uint32_t{CUPTI_ACTIVITY_KIND_OVERHEAD});
    EXPECT_EQ(cupti::kKindMemcpyPeer, std::uint32_t{CUPTI_ACTIVITY_KIND_MEMCPY2});
    EXPECT_EQ(cupti::kDeviceBufferSize, std::uint32_t{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE});
    EXPECT_EQ(cupti::kDeviceBufferPoolLimit, std::uint32_t{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT});
    EXPECT_EQ(cupti::kDeviceBufferPreallocate, std::uint32_t{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE});
    EXPECT_EQ(cupti::kCommandBufferFull, std::uint32_t{CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL});
    EXPECT_EQ(cupti::kFlushForced, std::uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED});
    EXPECT_EQ(cupti::kDomainDriver, std::uint32_t{CUPTI_CB_DOMAIN_DRIVER_API});
    EXPECT_EQ(cupti::kSiteEnter, std::uint32_t{CUPTI_API_ENTER});
}

#define SAME(ours, theirs, field, their_field)                                                    \
    static_assert(offsetof(cupti::ours, field) == offsetof(theirs, their_field), #theirs #field); \
    static_assert(sizeof(cupti::ours::field) == sizeof(theirs::their_field), #theirs #field)

// Every version of a record, the oldest that CUPTI 12 delivers and the newest.
#define SAME_COPY(theirs)                                  \
    SAME(MemcpyRecord, theirs, kind, kind);                \
    SAME(MemcpyRecord, theirs, copy_kind, copyKind);       \
    SAME(MemcpyRecord, theirs, source_kind, srcKind);      \
    SAME(MemcpyRecord, theirs, destination_kind, dstKind); \
    SAME(MemcpyRecord, theirs, flags, flags);              \
    SAME(MemcpyRecord, theirs, bytes, bytes);              \
    SAME(MemcpyRecord, theirs, start, start);              \
    SAME(MemcpyRecord, theirs, end, end);                  \
    SAME(MemcpyRecord, theirs, device, deviceId);          \
    SAME(MemcpyRecord, theirs, context, contextId);        \
    SAME(MemcpyRecord, theirs, stream, streamId);          \
    SAME(MemcpyRecord, theirs, correlation, correlationId)
SAME_COPY(CUpti_ActivityMemcpy4);
SAME_COPY(CUpti_ActivityMemcpy5);

#define SAME_PEER(theirs)                                       \
    SAME(MemcpyPeerRecord, theirs, copy_kind, copyKind);        \
    SAME(MemcpyPeerRecord, theirs, source_kind, srcKind);       \
    SAME(MemcpyPeerRecord, theirs, destination_kind, dstKind);  \
    SAME(MemcpyPeerRecord, theirs, bytes, bytes);               \
    SAME(MemcpyPeerRecord, theirs, start, start);               \
    SAME(MemcpyPeerRecord, theirs, end, end);                   \
    SAME(MemcpyPeerRecord, theirs, context, contextId);         \
    SAME(MemcpyPeerRecord, theirs, stream, streamId);           \
    SAME(MemcpyPeerRecord, theirs, source_device, srcDeviceId); \
    SAME(MemcpyPeerRecord, theirs, correlation, correlationId)
SAME_PEER(CUpti_ActivityMemcpyPtoP3);
SAME_PEER(CUpti_ActivityMemcpyPtoP4);

#define SAME_FILL(theirs)                           \
    SAME(MemsetRecord, theirs, value, value);       \
    SAME(MemsetRecord, theirs, bytes, bytes);       \
    SAME(MemsetRecord, theirs, start, start);       \
    SAME(MemsetRecord, theirs, end, end);           \
    SAME(MemsetRecord, theirs, context, contextId); \
    SAME(MemsetRecord, theirs, stream, streamId);   \
    SAME(MemsetRecord, theirs, correlation, correlationId)
SAME_FILL(CUpti_ActivityMemset3);
SAME_FILL(CUpti_ActivityMemset4);

#define SAME_KERNEL(theirs)                                 \
    SAME(KernelRecord, theirs, start, start);               \
    SAME(KernelRecord, theirs, end, end);                   \
    SAME(KernelRecord, theirs, context, contextId);         \
    SAME(KernelRecord, theirs, stream, streamId);           \
    SAME(KernelRecord, theirs, correlation, correlationId); \
    SAME(KernelRecord, theirs, name, name)
SAME_KERNEL(CUpti_ActivityKernel4);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);

SAME(OverheadRecord, CUpti_ActivityOverhead, overhead_kind, overheadKind);
SAME(OverheadRecord, CUpti_ActivityOverhead, start, start);
SAME(OverheadRecord, CUpti_ActivityOverhead, end, end);
SAME(OverheadRecord, CUpti_ActivityOverhead2, correlation, correlationId);

SAME(CallbackData, CUpti_CallbackData, site, callbackSite);
SAME(CallbackData, CUpti_CallbackData, correlation, correlationId);

#if CUPTI_API_VERSION >= 130000
SAME_COPY(CUpti_ActivityMemcpy6);
SAME_KERNEL(CUpti_ActivityKernel10);
SAME(OverheadRecord, CUpti_ActivityOverhead3, start, start);
SAME(OverheadRecord, CUpti_ActivityOverhead3, end, end);
SAME(OverheadRecord, CUpti_ActivityOverhead3, correlation, correlationId);
#endif

template <class Ours, class Theirs>
constexpr bool same_callback = std::is_pointer_v<Ours> && sizeof(Ours) == sizeof(Theirs);
static_assert(same_callback<cupti::BufferRequested, CUpti_BuffersCallbackRequestFunc>);

const std::map<std::string, int>& header_ids() {
    static const std::map<std::string, int> ids = {
#define PINCHECK_CBID(name) {#name, CUPTI_DRIVER_TRACE_CBID_##name},
#include "cupti_ids.h"
#undef PINCHECK_CBID
    };
    return ids;
}

bool is_listed(int id) {
    for (const cupti::IdRange range : cupti::kCopyIds) {
        if (id >= range.first && id <= range.last) {
            return true;
        }
    }
    return false;
}

// A driver function that CUPTI knows has its callback enabled when it copies, fills or launches a graph, and otherwise
// costs nothing.
TEST(CuptiAbi, callbackIdsAreThoseOfTheFunctionsThatCopyFillOrLaunchAGraph) {
    ASSERT_GT(header_ids().size(), 600u);
    for (const auto& [name, id] : header_ids()) {
        const bool wanted = name.starts_with("cuMemcpy") || name.starts_with("cu64Memcpy") ||
                            name.starts_with("cuMemset") || name.starts_with("cu64Memset") ||
                            name.starts_with("cuGraphLaunch");
        EXPECT_EQ(is_listed(id), wanted) << name << " " << id;
    }
}

}  // namespace
