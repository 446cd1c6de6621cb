// Pools, virtual memory, managed and page-locked memory: what is documented about them is asserted. What the driver
// says about pointers into them beyond that is printed as a table, so that a run on a device tells it; rows marked "not
// documented" assert nothing.
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "driver_library.h"
#include "gate.h"
#include "host_memory.h"

using namespace conformance;

namespace {

CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

// One value of the plural call as text, or the error; "-" when it succeeded without writing.
template <typename T>
std::string answer(CUpointer_attribute which, CUdeviceptr pointer) {
    T value;
    std::memset(&value, 0xA5, sizeof value);
    const T unwritten = value;
    void* where = &value;
    CUresult result = DRIVER(cuPointerGetAttributes)(1, &which, &where, pointer);
    if (result != CUDA_SUCCESS)
        return "error " + std::to_string(result);
    if (std::memcmp(&value, &unwritten, sizeof value) == 0)
        return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
    return text;
}

// A boolean, of which the driver may write the first byte only.
std::string truth(CUpointer_attribute which, CUdeviceptr pointer) {
    unsigned value = 0xA5;
    void* where = &value;
    const CUresult result = DRIVER(cuPointerGetAttributes)(1, &which, &where, pointer);
    if (result != CUDA_SUCCESS)
        return "error " + std::to_string(result);
    return (value & 0xFF) == 0xA5 ? "-" : std::to_string(value & 0xFF);
}

struct Column {
    const char* name;
    std::string (*ask)(CUpointer_attribute, CUdeviceptr);
    CUpointer_attribute which;
};
constexpr Column kColumns[] = {
    {"type", answer<unsigned>, CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
    {"managed", truth, CU_POINTER_ATTRIBUTE_IS_MANAGED},
    {"ordinal", answer<unsigned>, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
    {"context", answer<unsigned long long>, CU_POINTER_ATTRIBUTE_CONTEXT},
    {"device ptr", answer<unsigned long long>, CU_POINTER_ATTRIBUTE_DEVICE_POINTER},
    {"host ptr", answer<unsigned long long>, CU_POINTER_ATTRIBUTE_HOST_POINTER},
    {"start", answer<unsigned long long>, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR},
    {"size", answer<unsigned long long>, CU_POINTER_ATTRIBUTE_RANGE_SIZE},
    {"mapped", truth, CU_POINTER_ATTRIBUTE_MAPPED},
    {"access", answer<unsigned>, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS},
    {"pool", answer<unsigned long long>, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE},
};

// Not documented; asserts nothing.
void print_answers(const char* kind, const void* pointer) {
    std::printf("[ not documented ] %-28s %llx:", kind, static_cast<unsigned long long>(address(pointer)));
    for (const Column& column : kColumns)
        std::printf(" %s=%s", column.name, column.ask(column.which, address(pointer)).c_str());
    cudaPointerAttributes attributes{};
    const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
    std::printf(" runtime type=%d (error %d)", static_cast<int>(attributes.type), static_cast<int>(error));
    unsigned flags = 0;
    const CUresult on_flags = DRIVER(cuMemHostGetFlags)(&flags, const_cast<void*>(pointer));
    std::printf(" host flags=%x (error %d)\n", flags, static_cast<int>(on_flags));
    cudaGetLastError();
}

cudaMemPool_t pool_of(const void* pointer) {
    CUmemoryPool pool = nullptr;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    void* where = &pool;
    EXPECT_EQ(DRIVER(cuPointerGetAttributes)(1, &which, &where, address(pointer)), CUDA_SUCCESS);
    return pool;
}

// What the driver says of host memory that it did not allocate as page-locked. Measured: H200, driver 580.159.04.
void expect_host_memory(const void* pointer) {
    unsigned type = 0, mapped = 0;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)), CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, address(pointer)), CUDA_SUCCESS);
    EXPECT_EQ(mapped & 1, 1u);
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

// Host memory of a pool that the device was allowed to use: the driver knows it without a range or a device pointer,
// and copies it as pageable memory. Measured: H200, driver 580.159.04.
void use_host_pool(cudaMemPool_t pool, const char* kind, cudaStream_t stream) {
    constexpr std::size_t size = 1 << 20;
    const cudaMemAccessDesc device{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    CUDA_OK(cudaMemPoolSetAccess(pool, &device, 1));
    char* memory = nullptr;
    CUDA_OK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&memory), size, pool, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    print_answers(kind, memory);
    EXPECT_EQ(pool_of(memory), pool);
    expect_host_memory(memory);
    for (const auto which : {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_DEVICE_POINTER}) {
        CUdeviceptr null = 0;  // written or left alone
        void* where = &null;
        CUpointer_attribute asked = which;
        EXPECT_EQ(DRIVER(cuPointerGetAttributes)(1, &asked, &where, address(memory)), CUDA_SUCCESS);
        EXPECT_EQ(null, 0u) << which;
    }
    unsigned flags = 0;
    EXPECT_EQ(DRIVER(cuMemHostGetFlags)(&flags, memory), CUDA_ERROR_INVALID_VALUE);
    std::memset(memory, 7, size);
    DeviceMemory target(size);
    EXPECT_FALSE(upload_waits(target, memory, size, stream)) << "staged";
    CUDA_OK(cudaStreamSynchronize(stream));
    std::memset(memory, 1, size);
    EXPECT_TRUE(download_waits(memory, target, size, stream));
    EXPECT_EQ(memory[size - 1], 7);
    CUDA_OK(cudaFreeAsync(memory, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaMemPoolDestroy(pool));
}

TEST_F(Pools, HostLocatedPoolsServeBothSides) {
    cudaMemPool_t on_host = create(cudaMemLocationTypeHost, 0);
    if (on_host)
        use_host_pool(on_host, "pool on the host", stream_);
    else
        std::printf("[ not documented ] a pool on the host: error %d\n", static_cast<int>(error_));
    cudaGetLastError();
    int node = 0;
    CUDA_OK(cudaDeviceGetAttribute(&node, cudaDevAttrHostNumaId, 0));
    cudaMemPool_t on_node = create(cudaMemLocationTypeHostNuma, node < 0 ? 0 : node);
    if (on_node)
        use_host_pool(on_node, "pool on a host NUMA node", stream_);
    else
        std::printf("[ not documented ] a pool on a host NUMA node: error %d\n", static_cast<int>(error_));
    cudaGetLastError();
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
    print_answers("virtual, device", reinterpret_cast<void*>(base));
    print_answers("virtual, reserved only", reinterpret_cast<void*>(base + 3 * size));

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
    print_answers(kind, reinterpret_cast<void*>(base));
    auto* memory = reinterpret_cast<char*>(base);
    std::memset(memory, 8, size);
    DeviceMemory target(size);
    ASSERT_EQ(cudaMemcpy(target, memory, size, cudaMemcpyDefault), cudaSuccess);
    ASSERT_EQ(cudaMemset(target, 5, size), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(memory, target, size, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(memory[size - 1], 5);
    Stream stream;
    if (type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {  // measured: H200, driver 580.159.04
        EXPECT_EQ(size, 2u << 20);
        expect_host_memory(memory);
        CUdeviceptr start = 0;
        std::size_t length = 0;
        EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + 5), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&length, CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + 5), CUDA_SUCCESS);
        EXPECT_EQ(start, base);
        EXPECT_EQ(length, size);
        unsigned flags = 0;
        EXPECT_EQ(DRIVER(cuMemHostGetFlags)(&flags, memory), CUDA_SUCCESS);
        EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP});
        EXPECT_FALSE(upload_waits(target, memory, size, stream));
        EXPECT_FALSE(download_waits(memory, target, size, stream));
    } else {
        std::printf("[ not documented ] %s: an upload %s for its stream\n", kind,
                    upload_waits(target, memory, size, stream) ? "waits" : "does not wait");
    }
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

// Nothing is asserted here: the table is the result.
TEST(PointerAnswers, OfEveryKindOfMemory) {
    for (const Kind kind :
         {Kind::pageable, Kind::pinned, Kind::mapped, Kind::write_combined, Kind::registered, Kind::managed}) {
        HostMemory memory(kind, 8192);
        std::ostringstream name;
        name << kind;
        print_answers(name.str().c_str(), memory.data() + 100);
    }
    DeviceMemory device(8192);
    print_answers("device", device + 100);
    Stream stream;
    char* pooled = nullptr;
    if (cudaMallocAsync(reinterpret_cast<void**>(&pooled), 8192, stream) == cudaSuccess) {
        print_answers("pool on the device", pooled + 100);
        cudaFreeAsync(pooled, stream);
        cudaStreamSynchronize(stream);
    }
    cudaGetLastError();
}

}  // namespace
