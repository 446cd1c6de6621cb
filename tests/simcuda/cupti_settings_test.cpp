// What lasts for the life of a process in the stand-in libcupti.so.N, and its SIMCUDA_* variables: every test is a
// process of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "../conformance/profiler.h"
#include "driver/cuda_symbols.h"

using conformance::cupti;
using conformance::Profiler;

namespace {

constexpr std::size_t kDefaultShare = 3 * 3200000;

// The test program itself makes no CUDA call: its children then are processes in which CUDA was never initialised.
int exit_code(int (*body)(), std::vector<std::pair<const char*, const char*>> settings = {}) {
    const pid_t child = fork();
    if (child == 0) {
        for (const auto& [name, value] : settings)
            setenv(name, value, 1);
        const int result = body();
        std::exit(testing::Test::HasFailure() ? 100 : result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool begin() {
    CUcontext context = nullptr;
    return cupti() && cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
           cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

std::size_t available() {
    std::size_t left = 0, total = 0;
    return cuMemGetInfo_v2(&left, &total) == CUDA_SUCCESS ? left : 0;
}

std::size_t in_pages(std::size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
}

CUresult copy_once() {
    CUdeviceptr device = 0;
    void* pinned = nullptr;
    CUresult result = cuMemAlloc_v2(&device, 4096);
    result = result ? result : cuMemHostAlloc(&pinned, 4096, 0);
    result = result ? result : cuMemcpyHtoDAsync_v2(device, pinned, 4096, nullptr);
    return result ? result : cuCtxSynchronize();
}

TEST(CuptiSettings, SubscribingCanBeRefused) {
    const auto body = [] {
        CUpti_SubscriberHandle subscriber = nullptr;
        return cupti() ? static_cast<int>(cupti()->cuptiSubscribe(&subscriber, nullptr, nullptr)) : 1;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_CUPTI_REFUSE", "39"}}), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(exit_code(body), 0);
}

TEST(CuptiSettings, AnOlderVersionHasShorterRecords) {
    const auto body = [] {
        std::uint32_t version = 0;
        if (!begin() || cupti()->cuptiGetVersion(&version) != CUPTI_SUCCESS || version != 26)
            return 1;
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        Profiler::give_buffers(2 * sizeof(CUpti_ActivityMemcpy5));
        if (copy_once() || copy_once())
            return 2;
        profiler.flush();
        const auto copies = profiler.copies();
        return copies.size() == 2 && copies[1].bytes == 4096 && copies[1].copyCount == 0 ? 0 : 3;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_CUPTI_VERSION", "26"}}), 0);
}

TEST(CuptiSettings, TakesDeviceMemoryInEveryContext) {
    const auto body = [] {
        if (!begin())
            return 1;
        const std::size_t before = available();
        CUcontext second = nullptr;
        {
            Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
            if (before - available() != in_pages(kDefaultShare))
                return 2;
            if (cuCtxCreate_v4(&second, nullptr, 0, 0) || before - available() != 2 * in_pages(kDefaultShare))
                return 3;
            if (cuCtxDestroy_v2(second) || before - available() != in_pages(kDefaultShare))
                return 4;
        }
        if (cupti()->cuptiFinalize() != CUPTI_SUCCESS || available() != before)
            return 5;
        return 0;
    };
    EXPECT_EQ(exit_code(body), 0);
}

TEST(CuptiSettings, OtherKindsAndAnOtherSizeTakeLess) {
    const auto body = [] {
        if (!begin())
            return 1;
        const std::size_t before = available();
        {
            Profiler profiler{CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_DRIVER};
            if (available() != before)
                return 2;
        }
        std::size_t bytes = 65536, count = 2, size = sizeof bytes;
        if (cupti()->cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes) ||
            cupti()->cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, &size, &count))
            return 3;
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        return before - available() == 2 * 65536 ? 0 : 4;
    };
    EXPECT_EQ(exit_code(body), 0);
}

TEST(CuptiSettings, RecordsHaveNoTimesWhereTheDeviceHadNoRoom) {
    const auto body = [] {
        if (!begin())
            return 1;
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        if (copy_once())
            return 2;
        profiler.flush();
        const auto copies = profiler.copies();
        return copies.size() == 1 && copies[0].start == 0 && copies[0].end == 0 ? 0 : 3;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_DEVICE_MEMORY", "8000000"}}), 0);
}

TEST(CuptiSettings, WhatWasSaidForOneContextGoesBeforeWhatIsSaidForAll) {
    const auto body = [] {
        CUcontext context = nullptr;
        if (!begin() || cuCtxGetCurrent(&context))
            return 1;
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        if (cupti()->cuptiActivityDisableContext(context, CUPTI_ACTIVITY_KIND_MEMCPY) || copy_once())
            return 2;
        profiler.flush();
        if (!profiler.copies().empty())
            return 3;
        if (cupti()->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY) ||
            cupti()->cuptiActivityEnableContext(context, CUPTI_ACTIVITY_KIND_MEMCPY) || copy_once())
            return 4;
        profiler.flush();
        return profiler.copies().size() == 1 ? 0 : 5;
    };
    EXPECT_EQ(exit_code(body), 0);
}

TEST(CuptiSettings, AttributesHaveTheHeadersDefaults) {
    const auto body = [] {
        std::size_t value = 0, size = sizeof value;
        std::uint8_t flag = 0;
        std::size_t small = sizeof flag;
        const auto get = cupti()->cuptiActivityGetAttribute;
        if (get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value) || value != 3200000 || size != sizeof value)
            return 1;
        if (get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &value) || value != 250)
            return 2;
        if (get(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &small, &flag) || flag != 1)
            return 3;
        if (get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &small, &value) != CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT)
            return 4;
        return get(static_cast<CUpti_ActivityAttribute>(99), &size, &value) == CUPTI_ERROR_INVALID_PARAMETER ? 0 : 5;
    };
    EXPECT_EQ(exit_code(body), 0);
}

TEST(CuptiSettings, ARegisteredClockStays) {
    const auto body = [] {
        if (!begin())
            return 1;
        static std::atomic<std::uint64_t> ticks{1};
        const CUpti_TimestampCallbackFunc clock = []() -> std::uint64_t { return ++ticks; };
        if (cupti()->cuptiActivityRegisterTimestampCallback(nullptr) != CUPTI_ERROR_INVALID_PARAMETER ||
            cupti()->cuptiActivityRegisterTimestampCallback(clock) != CUPTI_SUCCESS ||
            cupti()->cuptiActivityRegisterTimestampCallback(nullptr) != CUPTI_ERROR_INVALID_PARAMETER)
            return 2;
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        if (copy_once())
            return 3;
        profiler.flush();
        const auto copies = profiler.copies();
        return copies.size() == 1 && copies[0].start < copies[0].end && copies[0].end <= ticks ? 0 : 4;
    };
    EXPECT_EQ(exit_code(body), 0);
}

TEST(CuptiSettings, CopiesBetweenDevicesHaveAKindOfTheirOwn) {
    const auto body = [] {
        CUcontext first = nullptr, second = nullptr;
        CUdeviceptr one = 0, two = 0;
        if (!begin() || cuCtxGetCurrent(&first) || cuMemAlloc_v2(&one, 64) || cuDevicePrimaryCtxRetain(&second, 1) ||
            cuCtxSetCurrent(second) || cuMemAlloc_v2(&two, 64))
            return 1;
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2};
        if (cuMemcpyPeer(two, second, one, first, 64) || cuCtxSynchronize())
            return 2;
        profiler.flush();
        const auto copies = profiler.records<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
        if (copies.size() != 1 || !profiler.copies().empty())
            return 3;
        return copies[0].copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP && copies[0].srcDeviceId == 0 &&
                       copies[0].dstDeviceId == 1 && copies[0].bytes == 64
                   ? 0
                   : 4;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_DEVICES", "2"}}), 0);
}

TEST(CuptiSettings, LoadingAKernelAtItsFirstLaunchIsOverheadOfThatLaunch) {
    const auto body = [] {
        CUmodule module = nullptr;
        CUfunction kernel = nullptr;
        if (!begin() || cuModuleLoadData(&module, "image") || cuModuleGetFunction(&kernel, module, "_Z7nothingv"))
            return 1;
        Profiler profiler{CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
        for (int i = 0; i < 2; ++i)
            if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr))
                return 2;
        if (cuCtxSynchronize())
            return 3;
        profiler.flush();
        const auto kernels = profiler.records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        std::vector<CUpti_ActivityOverhead3> loading;
        for (const auto& overhead : profiler.records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD))
            if (overhead.overheadKind == CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING)
                loading.push_back(overhead);
        if (kernels.size() != 2 || loading.size() != 1)
            return 4;
        return loading[0].correlationId == kernels[0].correlationId && loading[0].end - loading[0].start >= 2000000 ? 0
                                                                                                                    : 5;
    };
    EXPECT_EQ(exit_code(body, {{"SIMCUDA_LOAD_US", "2000"}}), 0);
}

// The buffer is written to a file by the function that gets it, since nobody is left to look at it.
TEST(CuptiSettings, RecordsComeAtTheEndOfTheProcess) {
    static std::string path;
    path = testing::TempDir() + "cupti-records-" + std::to_string(getpid());
    const auto body = [] {
        CUpti_SubscriberHandle subscriber = nullptr;
        if (!begin() || cupti()->cuptiSubscribe(&subscriber, nullptr, nullptr))
            return 1;
        static std::uint8_t buffer[4096];
        cupti()->cuptiActivityRegisterCallbacks(
            [](std::uint8_t** out, std::size_t* size, std::size_t* records) {
                *out = buffer;
                *size = sizeof buffer;
                *records = 0;
            },
            [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t valid) {
                std::ofstream(path) << valid;
            });
        return cupti()->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) || copy_once() ? 2 : 0;
    };
    EXPECT_EQ(exit_code(body), 0);
    std::size_t valid = 0;
    std::ifstream(path) >> valid;
    EXPECT_EQ(valid, sizeof(CUpti_ActivityMemcpy6));
    unlink(path.c_str());
}

}  // namespace
