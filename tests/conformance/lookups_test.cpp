// cuGetProcAddress: which function a name, a version and flags give, and whether it is the exported one.
#include "driver_library.h"
#include "gate.h"

using namespace conformance;

namespace {

struct Found {
    CUresult result;
    void* address;
    CUdriverProcAddressQueryResult status;
};

Found look_up(const char* name, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
    Found found{CUDA_SUCCESS, reinterpret_cast<void*>(1), CU_GET_PROC_ADDRESS_SUCCESS};
    found.result = DRIVER(cuGetProcAddress_v2)(name, &found.address, version, flags, &found.status);
    return found;
}

constexpr cuuint64_t kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct Expected {
    const char* name;
    int version;
    cuuint64_t flags;
    const char* symbol;
};

// The address that a look-up gives is the exported one, so a tool can tell the function by its address.
class LookUp : public testing::TestWithParam<Expected> {};

TEST_P(LookUp, GivesTheExportedFunctionOfThatVersion) {
    const Expected& expected = GetParam();
    const Found found = look_up(expected.name, expected.version, expected.flags);
    EXPECT_EQ(found.result, CUDA_SUCCESS);
    EXPECT_NE(exported(expected.symbol), nullptr) << expected.symbol;
    EXPECT_EQ(found.address, exported(expected.symbol))
        << expected.name << ' ' << expected.version << " flags " << expected.flags << " is not " << expected.symbol;
}

const Expected kExpected[] = {
    {"cuMemcpyHtoDAsync", 3020, kLegacy, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyHtoDAsync", 12000, kLegacy, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyHtoDAsync", 2000, kLegacy, "cuMemcpyHtoDAsync"},
    {"cuMemcpyHtoDAsync", 7000, kPerThread, "cuMemcpyHtoDAsync_v2_ptsz"},
    {"cuMemcpyDtoHAsync", 3020, kLegacy, "cuMemcpyDtoHAsync_v2"},
    {"cuMemcpyDtoHAsync", 7000, kPerThread, "cuMemcpyDtoHAsync_v2_ptsz"},
    {"cuMemcpyAsync", 4000, kLegacy, "cuMemcpyAsync"},
    {"cuMemcpyAsync", 7000, kPerThread, "cuMemcpyAsync_ptsz"},
    {"cuMemcpyHtoD", 3020, kLegacy, "cuMemcpyHtoD_v2"},
    {"cuMemcpyHtoD", 7000, kPerThread, "cuMemcpyHtoD_v2_ptds"},
    {"cuMemHostAlloc", 2020, kLegacy, "cuMemHostAlloc"},
    {"cuMemHostAlloc", 12000, kPerThread, "cuMemHostAlloc"},
    {"cuMemFreeHost", 2000, kLegacy, "cuMemFreeHost"},
    {"cuMemFreeHost", 12000, kPerThread, "cuMemFreeHost"},
    {"cuMemHostRegister", 6050, kLegacy, "cuMemHostRegister_v2"},
    {"cuStreamSynchronize", 2000, kLegacy, "cuStreamSynchronize"},
    {"cuStreamSynchronize", 7000, kPerThread, "cuStreamSynchronize_ptsz"},
    {"cuCtxSynchronize", 2000, kLegacy, "cuCtxSynchronize"},
    {"cuCtxSynchronize", 12000, kPerThread, "cuCtxSynchronize"},
    {"cuCtxSynchronize", 13000, kLegacy, "cuCtxSynchronize_v2"},
    {"cuEventSynchronize", 2000, kLegacy, "cuEventSynchronize"},
    {"cuEventSynchronize", 12000, kPerThread, "cuEventSynchronize"},
    {"cuGetProcAddress", 11030, kLegacy, "cuGetProcAddress"},
    {"cuGetProcAddress", 12000, kLegacy, "cuGetProcAddress_v2"},
    {"cuStreamBeginCapture", 10010, kLegacy, "cuStreamBeginCapture_v2"},
    {"cuStreamBeginCapture", 10000, kLegacy, "cuStreamBeginCapture"},
    {"cuGraphInstantiate", 12000, kLegacy, "cuGraphInstantiate_v2"},
    {"cuMemcpy2D", 3020, kLegacy, "cuMemcpy2D_v2"},
    {"cuMemcpy2DUnaligned", 3020, kLegacy, "cuMemcpy2DUnaligned_v2"},
    {"cuMemcpy2DUnaligned", 7000, kPerThread, "cuMemcpy2DUnaligned_v2_ptds"},
    {"cuMemcpy2DAsync", 3020, kLegacy, "cuMemcpy2DAsync_v2"},
    {"cuMemcpy2DAsync", 7000, kPerThread, "cuMemcpy2DAsync_v2_ptsz"},
    {"cuMemcpy3D", 3020, kLegacy, "cuMemcpy3D_v2"},
    {"cuMemcpy3DAsync", 7000, kPerThread, "cuMemcpy3DAsync_v2_ptsz"},
    {"cuMemcpy3DPeer", 4000, kLegacy, "cuMemcpy3DPeer"},
    {"cuMemcpyPeerAsync", 7000, kPerThread, "cuMemcpyPeerAsync_ptsz"},
    {"cuMemcpyHtoA", 3020, kLegacy, "cuMemcpyHtoA_v2"},
    {"cuMemcpyAtoHAsync", 7000, kPerThread, "cuMemcpyAtoHAsync_v2_ptsz"},
    {"cuMemcpyBatchAsync", 12080, kLegacy, "cuMemcpyBatchAsync"},
    {"cuMemcpyBatchAsync", 13000, kLegacy, "cuMemcpyBatchAsync_v2"},
    {"cuMemcpyBatchAsync", 13000, kPerThread, "cuMemcpyBatchAsync_v2_ptsz"},
    {"cuMemcpy3DBatchAsync", 13000, kLegacy, "cuMemcpy3DBatchAsync_v2"},
    {"cuMemsetD2D8", 3020, kLegacy, "cuMemsetD2D8_v2"},
    {"cuMemsetD2D8Async", 7000, kPerThread, "cuMemsetD2D8Async_ptsz"},
    {"cuMemPrefetchAsync", 8000, kLegacy, "cuMemPrefetchAsync"},
    {"cuMemPrefetchAsync", 12020, kLegacy, "cuMemPrefetchAsync_v2"},
    {"cuMemAdvise", 12020, kLegacy, "cuMemAdvise_v2"},
    {"cuArray3DCreate", 3020, kLegacy, "cuArray3DCreate_v2"},
};
INSTANTIATE_TEST_SUITE_P(Names, LookUp, testing::ValuesIn(kExpected));

TEST(LookUpFailure, GivesANullPointerAndSaysWhy) {
    const Found unknown = look_up("cuNoSuchFunction", 12000);
    const Found too_old = look_up("cuMemcpyHtoDAsync", 1000);
    const Found suffixed = look_up("cuMemcpyHtoDAsync_v2", 12000);
    const Found empty = look_up("", 0);
    const Found from_the_future = look_up("cuInit", 99000);
    EXPECT_EQ(unknown.result, CUDA_SUCCESS);
    EXPECT_EQ(unknown.address, nullptr);
    EXPECT_EQ(unknown.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_EQ(too_old.result, CUDA_SUCCESS);
    EXPECT_EQ(too_old.address, nullptr);
    EXPECT_EQ(too_old.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT_EQ(suffixed.result, CUDA_SUCCESS);
    EXPECT_EQ(suffixed.address, nullptr);
    EXPECT_EQ(empty.address, nullptr);
    EXPECT_EQ(from_the_future.result, CUDA_ERROR_INVALID_VALUE);
    const Found no_twin_yet = look_up("cuMemcpyHtoDAsync", 3020, kPerThread);
    EXPECT_EQ(no_twin_yet.address, nullptr);
    EXPECT_EQ(no_twin_yet.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST(LookUpFailure, IsAnErrorOfTheFirstVersion) {
    void* address = &address;
    EXPECT_EQ(DRIVER(cuGetProcAddress)("cuNoSuchFunction", &address, 12000, 0), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(address, &address) << "left alone";
}

TEST(RuntimeEntryPoint, GivesTheSameFunctions) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult status{};
    CUDA_OK(cudaGetDriverEntryPointByVersion("cuMemcpyHtoDAsync", &address, 12000, cudaEnableLegacyStream, &status));
    EXPECT_EQ(status, cudaDriverEntryPointSuccess);
    EXPECT_EQ(address, exported("cuMemcpyHtoDAsync_v2"));
    CUDA_OK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &address, 12000, cudaEnableDefault, &status));
    EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
    EXPECT_EQ(address, nullptr);
}

}  // namespace
