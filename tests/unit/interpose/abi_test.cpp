// The argument lists of interpose/shapes.h against the prototypes of the installed CUDA headers: the same number of
// arguments, each of the same size and nature. Checked when this file is compiled; the tests below check constants.

#define __CUDA_API_VERSION_INTERNAL  // every version and per-thread twin under its own name
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <type_traits>

#include "interpose/api.h"
#include "interpose/copy_shape.h"
#include "interpose/pointer_class.h"
#include "interpose/shapes.h"

namespace {

template <class A, class B>
constexpr bool same_argument = sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <class Header, class Ours>
struct Compatible : std::false_type {};
template <class R, class... H, class... O>
requires(sizeof...(H) == sizeof...(O)) struct Compatible<R(H...), int(O...)>
    : std::bool_constant<sizeof(R) == sizeof(int) && (true && ... && same_argument<H, O>)> {
};

static_assert(!Compatible<CUresult(CUdeviceptr), int(unsigned)>::value, "the check can fail");
static_assert(!Compatible<CUresult(CUdeviceptr), int(std::uint64_t, int)>::value, "the check can fail");

#define CHECK(symbol, shape)                                                            \
    namespace shape_of_##symbol {                                                       \
        using Ours = int PINCHECK_PARAMS_##shape;                                       \
        static_assert(Compatible<decltype(::symbol), Ours>::value, #symbol " " #shape); \
    }

// The rows of the list that the installed headers declare (made by CMakeLists.txt). Runtime twins (_ptds, _ptsz) are
// macros there; they share their shape with the plain function. So may newer functions of the driver be missing.
#define PINCHECK_ABI_ROW(symbol, shape) CHECK(symbol, shape)
#include "abi_rows.h"

using namespace pincheck;

TEST(Abi, numbersUsedByTheLibraryAreThoseOfTheHeaders) {
    EXPECT_EQ(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2);
    EXPECT_EQ(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3);
    EXPECT_EQ(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8);
    EXPECT_EQ(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11);
    EXPECT_EQ(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12);
    EXPECT_EQ(CU_MEMORYTYPE_HOST, 1);
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, 2);
    EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, 3);
    EXPECT_EQ(cudaErrorInitializationError, 3);
    EXPECT_EQ(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40);
    EXPECT_EQ(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 88);
    EXPECT_EQ(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100);
    EXPECT_EQ(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18);
    EXPECT_EQ(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, 2);
}

// A row that no header declares is checked by nobody: those must be few and known.
TEST(Abi, rowsThatWereNotCheckedAreTwinsOrNewerThanTheHeaders) {
    const std::set<std::string> checked = {
#undef PINCHECK_ABI_ROW
#define PINCHECK_ABI_ROW(symbol, shape) #symbol,
#include "abi_rows.h"
    };
    for (const ApiInfo& row : kApis) {
        const std::string symbol = row.symbol;
        const bool twin = symbol.ends_with("_ptds") || symbol.ends_with("_ptsz");
        // Removed from the runtime's header in CUDA 13, still in the library.
        const bool removed = row.side == Side::runtime && CUDART_VERSION >= 13000;
        EXPECT_TRUE(checked.contains(symbol) || twin || removed || row.since > CUDA_VERSION) << symbol;
    }
    EXPECT_GT(checked.size(), 100u);
}

TEST(Abi, structsLieAsInTheHeaders) {
#define SAME(ours, field, theirs, member)                                                      \
    EXPECT_EQ(offsetof(cuda_abi::ours, field), offsetof(theirs, member)) << #ours "::" #field; \
    EXPECT_EQ(sizeof(cuda_abi::ours::field), sizeof(theirs::member)) << #ours "::" #field
#define SAME_COPY_2D(ours, theirs)                       \
    EXPECT_EQ(sizeof(cuda_abi::ours), sizeof(theirs));   \
    SAME(ours, source_x, theirs, srcXInBytes);           \
    SAME(ours, source_y, theirs, srcY);                  \
    SAME(ours, source_type, theirs, srcMemoryType);      \
    SAME(ours, source_host, theirs, srcHost);            \
    SAME(ours, source_device, theirs, srcDevice);        \
    SAME(ours, source_array, theirs, srcArray);          \
    SAME(ours, source_pitch, theirs, srcPitch);          \
    SAME(ours, destination_x, theirs, dstXInBytes);      \
    SAME(ours, destination_y, theirs, dstY);             \
    SAME(ours, destination_type, theirs, dstMemoryType); \
    SAME(ours, destination_host, theirs, dstHost);       \
    SAME(ours, destination_device, theirs, dstDevice);   \
    SAME(ours, destination_array, theirs, dstArray);     \
    SAME(ours, destination_pitch, theirs, dstPitch);     \
    SAME(ours, width, theirs, WidthInBytes);             \
    SAME(ours, height, theirs, Height)
#define SAME_COPY_3D(ours, theirs)                     \
    SAME_COPY_2D(ours, theirs);                        \
    SAME(ours, source_z, theirs, srcZ);                \
    SAME(ours, source_level, theirs, srcLOD);          \
    SAME(ours, source_height, theirs, srcHeight);      \
    SAME(ours, destination_z, theirs, dstZ);           \
    SAME(ours, destination_level, theirs, dstLOD);     \
    SAME(ours, destination_height, theirs, dstHeight); \
    SAME(ours, depth, theirs, Depth)
    SAME_COPY_2D(Copy2DV1, CUDA_MEMCPY2D_v1);
    SAME_COPY_2D(Copy2DV2, CUDA_MEMCPY2D_v2);
    SAME_COPY_3D(Copy3DV1, CUDA_MEMCPY3D_v1);
    SAME_COPY_3D(Copy3DV2, CUDA_MEMCPY3D_v2);
    SAME_COPY_3D(Copy3DV2, CUDA_MEMCPY3D_PEER_v1);
    SAME(Copy3DV2, source_context, CUDA_MEMCPY3D_PEER_v1, srcContext);
    SAME(MemsetNode, destination, CUDA_MEMSET_NODE_PARAMS, dst);
    SAME(MemsetNode, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
    SAME(MemsetNode, element_bytes, CUDA_MEMSET_NODE_PARAMS, elementSize);
    SAME(MemsetNode, width, CUDA_MEMSET_NODE_PARAMS, width);
    SAME(MemsetNode, height, CUDA_MEMSET_NODE_PARAMS, height);
    SAME(ArrayDescriptor, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
    SAME(ArrayDescriptor, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
    EXPECT_EQ(sizeof(cuda_abi::LaunchConfig), sizeof(CUlaunchConfig));
    EXPECT_EQ(offsetof(cuda_abi::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
    EXPECT_EQ(sizeof(cuda_abi::ArrayDescriptor), sizeof(CUDA_ARRAY3D_DESCRIPTOR));
    EXPECT_EQ(sizeof(cuda_abi::Location), sizeof(CUmemLocation));
    EXPECT_EQ(sizeof(cuda_abi::PitchedPointer), sizeof(cudaPitchedPtr));
    EXPECT_EQ(sizeof(cuda_abi::Extent), sizeof(cudaExtent));
    EXPECT_EQ(CU_MEM_LOCATION_TYPE_DEVICE, cuda_abi::kLocationDevice);
#if CUDA_VERSION >= 12020
    EXPECT_EQ(sizeof(cuda_abi::GraphNode), sizeof(CUgraphNodeParams));
    SAME(GraphNode, memcpy, CUgraphNodeParams, memcpy);
    EXPECT_EQ(offsetof(cuda_abi::GraphNode, memcpy.copy), offsetof(CUgraphNodeParams, memcpy.copyParams));
    EXPECT_EQ(offsetof(cuda_abi::GraphNode, memset), offsetof(CUgraphNodeParams, memset));
    EXPECT_EQ(offsetof(cuda_abi::GraphNode, child_graph), offsetof(CUgraphNodeParams, graph.graph));
#endif
#if CUDA_VERSION >= 12080
    EXPECT_EQ(sizeof(cuda_abi::CopyAttributes), sizeof(CUmemcpyAttributes));
    SAME(CopyAttributes, source_access_order, CUmemcpyAttributes, srcAccessOrder);
    EXPECT_EQ(sizeof(cuda_abi::BatchCopy3D), sizeof(CUDA_MEMCPY3D_BATCH_OP));
    SAME(BatchCopy3D, destination, CUDA_MEMCPY3D_BATCH_OP, dst);
    SAME(BatchCopy3D, extent, CUDA_MEMCPY3D_BATCH_OP, extent);
    SAME(BatchCopy3D, source_access_order, CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder);
    EXPECT_EQ(offsetof(cuda_abi::BatchOperand, pointer.row_length), offsetof(CUmemcpy3DOperand, op.ptr.rowLength));
    EXPECT_EQ(offsetof(cuda_abi::BatchOperand, array.x), offsetof(CUmemcpy3DOperand, op.array.offset));
    EXPECT_EQ(CU_MEMCPY_OPERAND_TYPE_POINTER, cuda_abi::kOperandPointer);
    EXPECT_EQ(CU_MEMCPY_OPERAND_TYPE_ARRAY, cuda_abi::kOperandArray);
    EXPECT_EQ(report::source_order(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM), report::SourceOrder::stream);
    EXPECT_EQ(report::source_order(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL), report::SourceOrder::during_call);
    EXPECT_EQ(report::source_order(CU_MEMCPY_SRC_ACCESS_ORDER_ANY), report::SourceOrder::any);
#endif
    EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEMCPY, cuda_abi::kNodeMemcpy);
    EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEMSET, cuda_abi::kNodeMemset);
    EXPECT_EQ(CU_GRAPH_NODE_TYPE_GRAPH, cuda_abi::kNodeChildGraph);
    EXPECT_EQ(CU_MEMORYTYPE_ARRAY, cuda_abi::kArray);
    EXPECT_EQ(CU_MEMORYTYPE_UNIFIED, cuda_abi::kUnified);
    EXPECT_EQ(element_bytes({0, 0, 0, CU_AD_FORMAT_FLOAT, 4, 0}), 16u);
    EXPECT_EQ(element_bytes({0, 0, 0, CU_AD_FORMAT_HALF, 2, 0}), 4u);
    EXPECT_EQ(element_bytes({0, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}), 1u);
    EXPECT_EQ(element_bytes({0, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, 0}), 4u);
    EXPECT_EQ(element_bytes({0, 0, 0, CU_AD_FORMAT_SIGNED_INT16, 1, 0}), 2u);
}

TEST(Abi, requestedFlagsMeanTheSameInRuntimeAndDriver) {
    using namespace pincheck::report;
    for (const unsigned portable : {unsigned{CU_MEMHOSTALLOC_PORTABLE}, unsigned{cudaHostAllocPortable}}) {
        EXPECT_EQ(allocation_flags(portable), kMemoryFlagsKnown | kMemoryPortable);
    }
    for (const unsigned mapped : {unsigned{CU_MEMHOSTALLOC_DEVICEMAP}, unsigned{cudaHostAllocMapped}}) {
        EXPECT_EQ(allocation_flags(mapped), kMemoryFlagsKnown | kMemoryMapped);
    }
    for (const unsigned combined : {unsigned{CU_MEMHOSTALLOC_WRITECOMBINED}, unsigned{cudaHostAllocWriteCombined}}) {
        EXPECT_EQ(allocation_flags(combined), kMemoryFlagsKnown | kMemoryWriteCombined);
    }
    for (const unsigned read_only : {unsigned{CU_MEMHOSTREGISTER_READ_ONLY}, unsigned{cudaHostRegisterReadOnly}}) {
        EXPECT_EQ(registration_flags(read_only), kMemoryFlagsKnown | kMemoryReadOnly);
    }
    for (const unsigned io : {unsigned{CU_MEMHOSTREGISTER_IOMEMORY}, unsigned{cudaHostRegisterIoMemory}}) {
        EXPECT_EQ(registration_flags(io), kMemoryFlagsKnown | kMemoryIoMemory);
    }
}

TEST(Abi, streamHandlesOneAndTwoAreTheDefaultStreams) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(CU_STREAM_LEGACY), 1u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(CU_STREAM_PER_THREAD), 2u);
}

}  // namespace
