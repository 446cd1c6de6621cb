// Pools, virtual memory, managed and page-locked memory: what is documented about them, and what the driver says about
// pointers into them beyond that, as measured (pointer_answers.h). Rows marked "not documented" assert nothing.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"
#include "pointer_answers.h"

using namespace conformance;

namespace {

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

cudaMemPool_t pool_of(const void* pointer) {
    CUmemoryPool pool = nullptr;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    void* where = &pool;
    EXPECT_EQ(DRIVER(cuPointerGetAttributes)(1, &which, &where, address(pointer)), CUDA_SUCCESS);
    return pool;
}

// Whether a copy between the host's and the device's memory waits behind a gate, in either direction.
bool upload_waits(char* device, const char* host, std::size_t size, cudaStream_t stream) {
    Gate gate;
    gate.close_in(stream);
    return waits(gate,
                 [&] { EXPECT_EQ(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, stream), cudaSuccess); });
}
bool download_waits(char* host, const char* device, std::size_t size, cudaStream_t stream) {
    Gate gate;
    gate.close_in(stream);
    return waits(gate,
                 [&] { EXPECT_EQ(cudaMemcpyAsync(host, device, size, cudaMemcpyDeviceToHost, stream), cudaSuccess); });
}

class Pools : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
        int supported = 0;
        CUDA_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
        if (!supported)
            GTEST_SKIP() << "no memory pools";
    }
    static cudaMemPool_t create(cudaMemLocationType type, int id) {
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location = {type, id};
        cudaMemPool_t pool = nullptr;
        error_ = cudaMemPoolCreate(&pool, &properties);
        return error_ == cudaSuccess ? pool : nullptr;
    }
    static inline cudaError_t error_ = cudaSuccess;
    Stream stream_;
};

TEST_F(Pools, AsynchronousMemoryComesFromTheDevicesPool) {
    char* memory = nullptr;
    cudaMemPool_t standard = nullptr, current = nullptr;
    CUDA_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    CUDA_OK(cudaDeviceGetMemPool(&current, 0));
    EXPECT_EQ(current, standard) << "until another one is set";
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&memory), 4096, stream_));
    EXPECT_EQ(pool_of(memory), standard);
    unsigned type = 0;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(memory)), CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
    CUDA_OK(cudaFreeAsync(memory, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    DeviceMemory plain(4096);
    EXPECT_EQ(pool_of(plain), nullptr);
}

TEST_F(Pools, AllocatingAndFreeingDoNotWait) {
    HostMemory host(Kind::pinned, 4096);
    char* warm = nullptr;
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&warm), 4096, stream_));
    CUDA_OK(cudaFreeAsync(warm, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    Gate gate;
    gate.close_in(stream_);
    char* memory = nullptr;
    EXPECT_FALSE(waits(gate, [&] {
        EXPECT_EQ(cudaMallocAsync(reinterpret_cast<void**>(&memory), 4096, stream_), cudaSuccess);
        EXPECT_EQ(cudaMemcpyAsync(memory, host.data(), 4096, cudaMemcpyHostToDevice, stream_), cudaSuccess);
        EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaSuccess);
    }));
    CUDA_OK(cudaStreamSynchronize(stream_));
}

TEST_F(Pools, APoolThatIsSetTakesOverAndGivesBackWhenDestroyed) {
    cudaMemPool_t standard = nullptr, current = nullptr;
    CUDA_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    EXPECT_EQ(cudaMemPoolDestroy(standard), cudaErrorInvalidValue) << "a default pool cannot be destroyed";
    cudaGetLastError();
    cudaMemPool_t pool = create(cudaMemLocationTypeDevice, 0);
    ASSERT_NE(pool, nullptr);
    CUDA_OK(cudaDeviceSetMemPool(0, pool));
    char *first = nullptr, *second = nullptr;
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&first), 4096, stream_));
    EXPECT_EQ(pool_of(first), pool);
    CUDA_OK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&second), 4096, standard, stream_));
    EXPECT_EQ(pool_of(second), standard);
    std::uint64_t used = 0;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT_GE(used, 4096u);
    CUDA_OK(cudaFreeAsync(first, stream_));
    CUDA_OK(cudaFreeAsync(second, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT_EQ(used, 0u);
    CUDA_OK(cudaMemPoolDestroy(pool));
    CUDA_OK(cudaDeviceGetMemPool(&current, 0));
    EXPECT_EQ(current, standard);
}

TEST_F(Pools, PoolMemoryMayGoByCudaFree) {
    char* memory = nullptr;
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&memory), 4096, stream_));
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(Pools, AttributesAreKept) {
    cudaMemPool_t pool = create(cudaMemLocationTypeDevice, 0);
    ASSERT_NE(pool, nullptr);
    std::uint64_t threshold = 1;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    EXPECT_EQ(threshold, 0u) << "the default";
    threshold = 64 << 20;
    CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    EXPECT_EQ(threshold, 64u << 20);
    int reuse = 0;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse));
    EXPECT_EQ(reuse, 1) << "the default";
    CUDA_OK(cudaMemPoolDestroy(pool));
}

// Host memory of a pool: the driver knows it without the begin of its range. Where the device was given access to the
// pool it is copied as page-locked memory, else as pageable memory. Measured: H200, driver 580.159.04.
void use_host_pool(cudaMemPool_t pool, const char* kind, bool access, cudaStream_t stream) {
    constexpr std::size_t size = 1 << 20;
    if (access) {
        const cudaMemAccessDesc device{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
        CUDA_OK(cudaMemPoolSetAccess(pool, &device, 1));
    }
    char* memory = nullptr;
    CUDA_OK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&memory), size, pool, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(pool_of(memory), pool) << kind;
    if (access) {
        EXPECT_EQ(said_of(memory),
                  "type=1 managed=0 ordinal=0 context=0 device=pointer host=pointer start=0 size=100000 mapped=1 "
                  "access=3 pool=some runtime=1 flags=error 1");
    } else {
        CUdeviceptr device = 1;
        const auto address = reinterpret_cast<CUdeviceptr>(memory);
        EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address),
                  CUDA_ERROR_INVALID_VALUE);
        CUpointer_attribute which = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
        void* where = &device;
        device = 1;
        EXPECT_EQ(DRIVER(cuPointerGetAttributes)(1, &which, &where, address), CUDA_SUCCESS);
        EXPECT_EQ(device, 0u);
    }
    std::memset(memory, 7, size);
    DeviceMemory target(size);
    EXPECT_FALSE(upload_waits(target, memory, size, stream)) << "staged";
    CUDA_OK(cudaStreamSynchronize(stream));
    std::memset(memory, 1, size);
    EXPECT_EQ(download_waits(memory, target, size, stream), !access);
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(memory[size - 1], 7);
    CUDA_OK(cudaFreeAsync(memory, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaMemPoolDestroy(pool));
}

TEST_F(Pools, HostLocatedPoolsServeBothSides) {
    int node = 0;
    CUDA_OK(cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, 0));
    for (const bool access : {true, false}) {
        cudaMemPool_t on_host = create(cudaMemLocationTypeHost, 0);
        if (on_host)
            use_host_pool(on_host, "pool on the host", access, stream_);
        else
            std::printf("[ not documented ] a pool on the host: error %d\n", static_cast<int>(error_));
        cudaGetLastError();
        cudaMemPool_t on_node = create(cudaMemLocationTypeHostNuma, node < 0 ? 0 : node);
        if (on_node)
            use_host_pool(on_node, "pool on a host NUMA node", access, stream_);
        else
            std::printf("[ not documented ] a pool on a host NUMA node: error %d\n", static_cast<int>(error_));
        cudaGetLastError();
    }
    EXPECT_EQ(create(cudaMemLocationTypeHostNumaCurrent, 0), nullptr);
    EXPECT_EQ(error_, cudaErrorInvalidValue);
    cudaGetLastError();
}

class VirtualMemory : public testing::Test {
  protected:
    static void SetUpTestSuite() { ASSERT_EQ(cudaFree(nullptr), cudaSuccess); }
    void SetUp() override { properties_ = at(CU_MEM_LOCATION_TYPE_DEVICE, 0); }

    static CUmemAllocationProp at(CUmemLocationType type, int id) {
        CUmemAllocationProp properties{};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {type, id};
        return properties;
    }
    static std::size_t granularity(const CUmemAllocationProp& properties) {
        std::size_t size = 0;
        EXPECT_EQ(DRIVER(cuMemGetAllocationGranularity)(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  CUDA_SUCCESS);
        return size;
    }
    static CUresult allow(CUdeviceptr base, std::size_t size, CUmemLocationType type) {
        const CUmemAccessDesc entry{{type, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        return DRIVER(cuMemSetAccess)(base, size, &entry, 1);
    }

    CUmemAllocationProp properties_{};
};

TEST_F(VirtualMemory, TwoMappingsInARowAreOneStretchOfMemory) {
    const std::size_t size = granularity(properties_);
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle first = 0, second = 0, seen = 0;
    ASSERT_EQ(DRIVER(cuMemAddressReserve)(&base, 4 * size, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemCreate)(&first, size, &properties_, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemCreate)(&second, size, &properties_, 0), CUDA_SUCCESS);
    EXPECT_NE(DRIVER(cuMemCreate)(&seen, size / 2, &properties_, 0), CUDA_SUCCESS) << "not a multiple";
    ASSERT_EQ(DRIVER(cuMemMap)(base, size, 0, first, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemMap)(base + size, size, 0, second, 0), CUDA_SUCCESS);
    EXPECT_NE(DRIVER(cuMemMap)(base, size, 0, second, 0), CUDA_SUCCESS) << "mapped already";
    ASSERT_EQ(allow(base, 2 * size, CU_MEM_LOCATION_TYPE_DEVICE), CUDA_SUCCESS);

    HostMemory host(Kind::pinned, 2 * size);
    std::vector<char> back(2 * size);
    std::memset(host.data(), 6, 2 * size);
    ASSERT_EQ(DRIVER(cuMemcpyHtoD_v2)(base, host.data(), 2 * size), CUDA_SUCCESS) << "across the border";
    ASSERT_EQ(DRIVER(cuMemcpyDtoH_v2)(back.data(), base, 2 * size), CUDA_SUCCESS);
    EXPECT_EQ(back, std::vector<char>(2 * size, 6));

    // cuda.h: the range attributes tell of the reservation, cuMemGetAddressRange of the mapping.
    CUdeviceptr start = 0;
    std::size_t length = 0;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + size), CUDA_SUCCESS);
    EXPECT_EQ(start, base);
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&length, CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + size), CUDA_SUCCESS);
    EXPECT_EQ(length, 4 * size);
    unsigned type = 0, mapped = 0;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base), CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, base), CUDA_SUCCESS);
    EXPECT_EQ(mapped & 1, 1u);
    EXPECT_EQ(said_of(reinterpret_cast<void*>(base)),
              "type=2 managed=0 ordinal=0 context=0 device=pointer host=0 start=pointer size=800000 mapped=1 access=3 "
              "pool=0 runtime=2 flags=3");
    EXPECT_EQ(said_of(reinterpret_cast<void*>(base + 3 * size), 3 * size),
              "type=0 managed=0 ordinal=fffffffe context=0 device=0 host=pointer start=base size=800000 mapped=0 "
              "access=0 pool=0 runtime=0 flags=error 1")
        << "reserved only";

    // A handle may go before its mapping; the address still leads to it.
    ASSERT_EQ(DRIVER(cuMemRetainAllocationHandle)(&seen, reinterpret_cast<void*>(base + size + 5)), CUDA_SUCCESS);
    EXPECT_EQ(seen, second);
    EXPECT_EQ(DRIVER(cuMemRelease)(seen), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemRelease)(first), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemRelease)(second), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(back.data(), base, size), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemUnmap)(base, 2 * size), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemAddressFree)(base, 4 * size), CUDA_SUCCESS);
}

// Informational where the driver refuses: host memory of this kind is newer than the functions.
void use_host_memory(CUmemLocationType type, const char* kind) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {type, 0};
    std::size_t size = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = DRIVER(cuMemGetAllocationGranularity)(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result == CUDA_SUCCESS)
        result = DRIVER(cuMemCreate)(&handle, size, &properties, 0);
    if (result != CUDA_SUCCESS) {
        std::printf("[ not documented ] %s: error %d\n", kind, static_cast<int>(result));
        return;
    }
    CUdeviceptr base = 0;
    ASSERT_EQ(DRIVER(cuMemAddressReserve)(&base, size, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuMemMap)(base, size, 0, handle, 0), CUDA_SUCCESS);
    const CUmemAccessDesc both[] = {{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                                    {{type, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    ASSERT_EQ(DRIVER(cuMemSetAccess)(base, size, both, 2), CUDA_SUCCESS);
    EXPECT_EQ(size, 2u << 20) << kind;
    EXPECT_EQ(
        said_of(reinterpret_cast<void*>(base + 5), 5),
        "type=1 managed=0 ordinal=0 context=0 device=pointer host=pointer start=base size=200000 mapped=1 access=3 "
        "pool=0 runtime=1 flags=3")
        << kind;
    auto* memory = reinterpret_cast<char*>(base);
    std::memset(memory, 8, size);
    DeviceMemory target(size);
    ASSERT_EQ(cudaMemcpy(target, memory, size, cudaMemcpyDefault), cudaSuccess);
    ASSERT_EQ(cudaMemset(target, 5, size), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(memory, target, size, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(memory[size - 1], 5);
    Stream stream;
    EXPECT_FALSE(upload_waits(target, memory, size, stream)) << kind;
    EXPECT_FALSE(download_waits(memory, target, size, stream)) << kind;
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(DRIVER(cuMemUnmap)(base, size), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemAddressFree)(base, size), CUDA_SUCCESS);
}

TEST_F(VirtualMemory, HostMemoryServesBothSides) {
    use_host_memory(CU_MEM_LOCATION_TYPE_HOST_NUMA, "virtual, host NUMA node");
    use_host_memory(CU_MEM_LOCATION_TYPE_HOST, "virtual, host");
    cudaGetLastError();
}

TEST_F(VirtualMemory, PropertiesComeBack) {
    const std::size_t size = granularity(properties_);
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(DRIVER(cuMemCreate)(&handle, size, &properties_, 0), CUDA_SUCCESS);
    CUmemAllocationProp seen{};
    EXPECT_EQ(DRIVER(cuMemGetAllocationPropertiesFromHandle)(&seen, handle), CUDA_SUCCESS);
    EXPECT_EQ(seen.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQ(seen.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    EXPECT_EQ(DRIVER(cuMemRelease)(handle), CUDA_SUCCESS);
}

TEST(PointerAnswers, OfPageableMemory) {
    HostMemory memory(Kind::pageable, 8192);
    EXPECT_EQ(said_of(memory.data() + 100, 100),
              "type=0 managed=0 ordinal=fffffffe context=0 device=0 host=pointer start=- size=- mapped=0 access=0 "
              "pool=0 runtime=0 flags=error 1");
}

TEST(PointerAnswers, OfPageLockedMemory) {
    const std::string common =
        "type=1 managed=0 ordinal=0 context=some device=pointer host=pointer start=base size=2000 mapped=1 access=3 "
        "pool=0 runtime=1 flags=";
    for (const Kind kind : {Kind::pinned, Kind::mapped, Kind::registered}) {
        HostMemory memory(kind, 8192);
        EXPECT_EQ(said_of(memory.data() + 100, 100), common + "2") << kind;
    }
    HostMemory write_combined(Kind::write_combined, 8192);
    EXPECT_EQ(said_of(write_combined.data() + 100, 100), common + "6");
}

TEST(PointerAnswers, OfManagedMemory) {
    HostMemory memory(Kind::managed, 8192);
    EXPECT_EQ(said_of(memory.data() + 100, 100),
              "type=2 managed=1 ordinal=0 context=some device=pointer host=pointer start=base size=2000 mapped=1 "
              "access=3 pool=0 runtime=3 flags=2");
}

TEST(PointerAnswers, OfDeviceMemory) {
    DeviceMemory device(8192);
    EXPECT_EQ(said_of(device + 100, 100),
              "type=2 managed=0 ordinal=0 context=some device=pointer host=0 start=base size=2000 mapped=1 access=3 "
              "pool=0 runtime=2 flags=error 1");
    Stream stream;
    char* pooled = nullptr;
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&pooled), 8192, stream));
    EXPECT_EQ(said_of(pooled + 100, 100),
              "type=2 managed=0 ordinal=0 context=0 device=pointer host=0 start=base size=2000 mapped=1 access=3 "
              "pool=some runtime=2 flags=error 1");
    CUDA_OK(cudaFreeAsync(pooled, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
}

}  // namespace
