// What the driver says about pointers.
#include <cstdlib>
#include <cstring>
#include <thread>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

template <typename T>
CUresult query(CUpointer_attribute which, const void* pointer, T* out) {
    return DRIVER(cuPointerGetAttribute)(out, which, address(pointer));
}

// The plural call, for one attribute.
template <typename T>
CUresult query_plural(CUpointer_attribute which, const void* pointer, T* out) {
    void* where = out;
    return DRIVER(cuPointerGetAttributes)(1, &which, &where, address(pointer));
}

class Pointers : public testing::Test {
  protected:
    static void SetUpTestSuite() { ASSERT_EQ(cudaFree(nullptr), cudaSuccess); }
};

TEST_F(Pointers, UnknownMemoryIsAnErrorForOneAndTypeZeroForMany) {
    HostMemory host(Kind::pageable, 4096);
    unsigned type = 77;
    EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host.data(), &type), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(query_plural(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host.data(), &type), CUDA_SUCCESS);
    EXPECT_EQ(type, 0u);
}

TEST_F(Pointers, TypesOfKnownMemory) {
    unsigned type = 0;
    for (const Kind kind : {Kind::pinned, Kind::mapped, Kind::write_combined, Kind::registered}) {
        HostMemory host(kind, 4096);
        EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host.data(), &type), CUDA_SUCCESS) << kind;
        EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST}) << kind;
    }
    DeviceMemory device(4096);
    EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});

    HostMemory managed(Kind::managed, 4096);
    unsigned is_managed = 0;
    EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed.data(), &is_managed), CUDA_SUCCESS);
    EXPECT_EQ(is_managed & 1, 1u);
    cudaPointerAttributes attributes{};
    CUDA_OK(cudaPointerGetAttributes(&attributes, managed.data()));
    EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
}

TEST_F(Pointers, RuntimeQueryOfUnknownMemorySucceeds) {
    HostMemory host(Kind::pageable, 4096);
    cudaPointerAttributes attributes{};
    CUDA_OK(cudaPointerGetAttributes(&attributes, host.data()));
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributes.device, cudaInvalidDeviceId);
    EXPECT_EQ(attributes.devicePointer, nullptr);
    EXPECT_EQ(attributes.hostPointer, host.data());
}

TEST_F(Pointers, PinnedMemoryReadsBackAsMapped) {
    const auto flags_of = [](void* pointer) {
        unsigned flags = 77;
        EXPECT_EQ(cudaHostGetFlags(&flags, pointer), cudaSuccess);
        return flags;
    };
    EXPECT_EQ(flags_of(HostMemory(Kind::pinned, 4096).data()), 0x2u);
    EXPECT_EQ(flags_of(HostMemory(Kind::mapped, 4096).data()), 0x2u);
    EXPECT_EQ(flags_of(HostMemory(Kind::write_combined, 4096).data()), 0x6u);
    EXPECT_EQ(flags_of(HostMemory(Kind::registered, 4096).data()), 0x2u);
    EXPECT_EQ(flags_of(HostMemory(Kind::managed, 4096).data()), 0x2u);
    void* large = nullptr;  // a mapping of its own; small ones read back as the slab that they are cut from
    CUDA_OK(cudaHostAlloc(&large, 4 << 20, cudaHostAllocPortable));
    EXPECT_EQ(flags_of(large), 0x3u);
    CUDA_OK(cudaFreeHost(large));
}

TEST_F(Pointers, SmallPinnedAllocationsSharePages) {
    HostMemory one(Kind::pinned, 100), two(Kind::pinned, 100);
    // A hole that an earlier test left may take one of them; of three neighbours two share a page.
    HostMemory three(Kind::pinned, 100);
    const auto page = [](const HostMemory& memory) { return address(memory.data()) / 4096; };
    EXPECT_TRUE(page(one) == page(two) || page(two) == page(three));
    EXPECT_EQ(address(one.data()) % 512, 0u);
    std::size_t size = 0;
    EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_RANGE_SIZE, one.data(), &size), CUDA_SUCCESS);
    EXPECT_EQ(size, 100u);
}

TEST_F(Pointers, UnknownMemoryLeavesTheRangeUnwritten) {
    HostMemory host(Kind::pageable, 4096);
    std::size_t size = 77;
    EXPECT_EQ(query_plural(CU_POINTER_ATTRIBUTE_RANGE_SIZE, host.data(), &size), CUDA_SUCCESS);
    EXPECT_EQ(size, 77u);
    void* pointer = nullptr;
    EXPECT_EQ(query_plural(CU_POINTER_ATTRIBUTE_HOST_POINTER, host.data(), &pointer), CUDA_SUCCESS);
    EXPECT_EQ(pointer, host.data());
}

TEST_F(Pointers, RangeOfAnUnalignedRegistrationIsExact) {
    HostMemory host(Kind::pageable, 8192);
    char* begin = host.data() + 100;
    CUDA_OK(cudaHostRegister(begin, 1000, cudaHostRegisterDefault));
    CUdeviceptr start = 0;
    std::size_t size = 0;
    EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, begin + 500, &start), CUDA_SUCCESS);
    EXPECT_EQ(query(CU_POINTER_ATTRIBUTE_RANGE_SIZE, begin + 500, &size), CUDA_SUCCESS);
    EXPECT_EQ(start, address(begin));
    EXPECT_EQ(size, 1000u);
    unsigned type = 77;
    EXPECT_EQ(query_plural(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, begin + 1000, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, 0u) << "a byte after the range, on the same page";
    EXPECT_EQ(query_plural(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, begin - 1, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, 0u) << "a byte before the range";
    CUDA_OK(cudaHostUnregister(begin));
}

TEST_F(Pointers, RegisteringTwiceAndUnregisteringNothingFail) {
    HostMemory host(Kind::registered, 8192);
    EXPECT_EQ(cudaHostRegister(host.data(), 4096, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    HostMemory other(Kind::pageable, 4096);
    EXPECT_EQ(cudaHostUnregister(other.data()), cudaErrorHostMemoryNotRegistered);
    cudaGetLastError();
}

TEST_F(Pointers, QueriesNeedNoCurrentContext) {
    HostMemory pinned(Kind::pinned, 4096);
    HostMemory pageable(Kind::pageable, 4096);
    CUresult on_pinned{}, on_pageable{};
    unsigned type = 77, other_type = 77, flags = 77;
    CUresult on_flags{};
    // A thread that never called the runtime has no current context.
    std::thread([&] {
        CUcontext current = nullptr;
        EXPECT_EQ(DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
        EXPECT_EQ(current, nullptr);
        on_pinned = query_plural(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pinned.data(), &type);
        on_pageable = query_plural(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pageable.data(), &other_type);
        on_flags = DRIVER(cuMemHostGetFlags)(&flags, pinned.data());
    }).join();
    EXPECT_EQ(on_pinned, CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
    EXPECT_EQ(on_pageable, CUDA_SUCCESS);
    EXPECT_EQ(other_type, 0u);
    EXPECT_EQ(on_flags, CUDA_ERROR_INVALID_CONTEXT) << "cuMemHostGetFlags does need one";
}

TEST_F(Pointers, ReleasingTheWrongWayFails) {
    HostMemory pinned(Kind::pinned, 8192), registered(Kind::registered, 8192);
    EXPECT_EQ(DRIVER(cuMemFreeHost)(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemFreeHost)(registered.data()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemFreeHost)(pinned.data() + 4096), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemHostUnregister)(pinned.data()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemHostUnregister)(registered.data() + 4096), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
