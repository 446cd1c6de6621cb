// The argument lists of interpose/shapes.h against the prototypes of the installed CUDA headers: the same number of
// arguments, each of the same size and nature. Checked when this file is compiled; the tests below check constants.

#define __CUDA_API_VERSION_INTERNAL  // every version and per-thread twin under its own name
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "interpose/api.h"
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

// Runtime twins (_ptds, _ptsz) are macros in the headers; they share their shape with the plain function.
#define CHECK_runtime_legacy(symbol, shape) CHECK(symbol, shape)
#define CHECK_runtime_none(symbol, shape) CHECK(symbol, shape)
#define CHECK_runtime_per_thread(symbol, shape)
#define CHECK_driver_legacy(symbol, shape) CHECK(symbol, shape)
#define CHECK_driver_per_thread(symbol, shape) CHECK(symbol, shape)
#define CHECK_driver_none(symbol, shape) CHECK_SINCE_##symbol(symbol, shape)
#define PINCHECK_API(symbol, side, shape, lookup, since, variant) CHECK_##side##_##variant(symbol, shape)

#define CHECK_SINCE_cuMemHostAlloc CHECK
#define CHECK_SINCE_cuMemAllocHost CHECK
#define CHECK_SINCE_cuMemAllocHost_v2 CHECK
#define CHECK_SINCE_cuMemFreeHost CHECK
#define CHECK_SINCE_cuMemHostRegister CHECK
#define CHECK_SINCE_cuMemHostRegister_v2 CHECK
#define CHECK_SINCE_cuMemHostUnregister CHECK
#define CHECK_SINCE_cuMemAllocManaged CHECK
#define CHECK_SINCE_cuCtxSynchronize CHECK
#if CUDA_VERSION >= 13000
#define CHECK_SINCE_cuCtxSynchronize_v2 CHECK
#else
#define CHECK_SINCE_cuCtxSynchronize_v2(symbol, shape)
#endif
#define CHECK_SINCE_cuEventSynchronize CHECK
#define CHECK_SINCE_cuGetProcAddress CHECK
#define CHECK_SINCE_cuGetProcAddress_v2 CHECK

#include "report/cuda_api.def"

using namespace pincheck;

TEST(Abi, numbersUsedByTheLibraryAreThoseOfTheHeaders) {
    EXPECT_EQ(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2);
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
