// Which records the stand-in libcupti.so.N makes of what is done.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "cupti_fixture.h"
#include "stream_gate.h"

using conformance::cupti;
using conformance::Profiler;

namespace {

constexpr std::size_t MiB = 1 << 20;

TEST_F(Cupti, ACopyMakesOneRecordWithItsPlacesAndTimes) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    const std::uint64_t before = timestamp();
    upload(100);
    synchronise();
    const std::uint64_t after = timestamp();
    profiler.flush();
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(copies[0].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
    EXPECT_EQ(copies[0].bytes, 100u);
    EXPECT_EQ(copies[0].copyCount, 1u);
    EXPECT_EQ(copies[0].deviceId, 0u);
    EXPECT_NE(copies[0].correlationId, 0u);
    EXPECT_LE(before, copies[0].start);
    EXPECT_LE(copies[0].start, copies[0].end);
    EXPECT_LE(copies[0].end, after);
}

TEST_F(Cupti, RecordsNameTheStreamAndContextAsTheLibraryDoes) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    upload();
    synchronise();
    ASSERT_EQ(cuMemcpyHtoD_v2(device_, pinned_, kSize), CUDA_SUCCESS);
    profiler.flush();
    std::uint32_t context = 0, stream = 0, legacy = 0;
    ASSERT_EQ(cupti()->cuptiGetContextId(context_, &context), CUPTI_SUCCESS);
    ASSERT_EQ(cupti()->cuptiGetStreamId(context_, stream_, &stream), CUPTI_SUCCESS);
    ASSERT_EQ(cupti()->cuptiGetStreamId(context_, nullptr, &legacy), CUPTI_SUCCESS);
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(copies[0].contextId, context);
    EXPECT_EQ(copies[0].streamId, stream);
    EXPECT_EQ(copies[1].streamId, legacy);
    EXPECT_EQ(copies[1].flags, 0) << "the synchronous call";
}

TEST_F(Cupti, TheKindsOfMemoryDecideTheKindOfCopy) {
    std::vector<char> pageable(kSize), elsewhere(kSize);
    CUdeviceptr managed = 0;
    ASSERT_EQ(cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR line{kSize, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    ASSERT_EQ(cuArrayCreate_v2(&array, &line), CUDA_SUCCESS);

    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(device_, pageable.data(), kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(pageable.data(), device_, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(pinned_, device_, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoDAsync_v2(other_, device_, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(device_, reinterpret_cast<void*>(managed), kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(elsewhere.data()),
                            reinterpret_cast<CUdeviceptr>(pageable.data()), kSize, stream_),
              CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyHtoAAsync_v2(array, 0, pinned_, kSize, stream_), CUDA_SUCCESS);
    synchronise();
    profiler.flush();

    struct Expected {
        CUpti_ActivityMemcpyKind kind;
        CUpti_ActivityMemoryKind from, to;
    };
    const Expected expected[] = {
        {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE},
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE},
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_PINNED},
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE},
        // Measured: H200, CUPTI 13.0: copy kind 8 for a managed source.
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE},
        {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE},
        {CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY},
    };
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), std::size(expected));
    for (std::size_t i = 0; i < copies.size(); ++i) {
        EXPECT_EQ(copies[i].copyKind, expected[i].kind) << i;
        EXPECT_EQ(copies[i].srcKind, expected[i].from) << i;
        EXPECT_EQ(copies[i].dstKind, expected[i].to) << i;
    }
    EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(managed), CUDA_SUCCESS);
}

TEST_F(Cupti, APageableCopyInManyPiecesIsOneRecord) {
    std::vector<char> pageable(5 * MiB);
    CUdeviceptr large = 0;
    ASSERT_EQ(cuMemAlloc_v2(&large, pageable.size()), CUDA_SUCCESS);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    for (const bool up : {true, false}) {
        profiler.forget();
        const std::uint64_t before = timestamp();
        ASSERT_EQ(up ? cuMemcpyHtoDAsync_v2(large, pageable.data(), pageable.size(), stream_)
                     : cuMemcpyDtoHAsync_v2(pageable.data(), large, pageable.size(), stream_),
                  CUDA_SUCCESS);
        const std::uint64_t after = timestamp();
        synchronise();
        profiler.flush();
        const auto copies = profiler.copies();
        ASSERT_EQ(copies.size(), 1u) << up;
        EXPECT_EQ(copies[0].bytes, pageable.size());
        EXPECT_LE(before, copies[0].start);
        EXPECT_LE(copies[0].end, after);
    }
    EXPECT_EQ(cuMemFree_v2(large), CUDA_SUCCESS);
}

TEST_F(Cupti, MemsetsAndKernelsHaveRecords) {
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&kernel, module, "_Z7nothingv"), CUDA_SUCCESS);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
    ASSERT_EQ(cuMemsetD32Async(device_, 7, 10, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuLaunchKernel(kernel, 3, 2, 1, 64, 1, 1, 128, stream_, nullptr, nullptr), CUDA_SUCCESS);
    upload();
    synchronise();
    profiler.flush();
    const auto memsets = profiler.records<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
    ASSERT_EQ(memsets.size(), 1u);
    EXPECT_EQ(memsets[0].value, 7u);
    EXPECT_EQ(memsets[0].bytes, 40u);
    EXPECT_EQ(memsets[0].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    const auto kernels = profiler.records<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_STREQ(kernels[0].name, "_Z7nothingv");
    EXPECT_EQ(kernels[0].gridX, 3);
    EXPECT_EQ(kernels[0].gridY, 2);
    EXPECT_EQ(kernels[0].blockX, 64);
    EXPECT_EQ(kernels[0].dynamicSharedMemory, 128);
    EXPECT_LE(memsets[0].end, kernels[0].start);
    EXPECT_TRUE(profiler.copies().empty()) << "not enabled";
}

TEST_F(Cupti, WhatAGraphDoesCarriesItsLaunchsNumber) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    std::vector<char> pageable(kSize);
    ASSERT_EQ(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    upload();
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(device_, pageable.data(), kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(device_, 0, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
    profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
    ASSERT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
    synchronise();
    profiler.flush();
    const auto calls = profiler.calls();
    const auto copies = profiler.copies();
    const auto memsets = profiler.records<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
    ASSERT_EQ(calls.size(), 4u);
    ASSERT_EQ(copies.size(), 4u);
    ASSERT_EQ(memsets.size(), 2u);
    EXPECT_NE(calls[0].correlation, calls[2].correlation);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(copies[i].correlationId, calls[i].correlation) << i;
    EXPECT_EQ(memsets[1].correlationId, calls[2].correlation);
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(Cupti, AWaitForAPlaceInTheQueueIsOverheadOfThatCall) {
    constexpr int kDepth = 1021;
    StreamGate gate;
    Profiler profiler{CUPTI_ACTIVITY_KIND_OVERHEAD};
    profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
    ASSERT_EQ(gate.close(stream_), CUDA_SUCCESS);
    // Opens when the queue is full and the next call has had time to get there; too early, and there is no record.
    std::atomic<int> issued{0};
    std::thread opener([&] {
        while (issued < kDepth + 1)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        gate.open();
    });
    for (; issued < kDepth + 2; ++issued)
        ASSERT_EQ(cuMemsetD8Async(device_, 0, 1, stream_), CUDA_SUCCESS);
    opener.join();
    synchronise();
    profiler.flush();
    std::vector<CUpti_ActivityOverhead3> full;
    for (const auto& overhead : profiler.records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD))
        if (overhead.overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
            full.push_back(overhead);
    ASSERT_EQ(full.size(), 1u);
    EXPECT_EQ(full[0].correlationId, profiler.calls().back().correlation);
    EXPECT_LT(full[0].start, full[0].end);
    EXPECT_NE(full[0].overheadData, nullptr);
}

TEST_F(Cupti, SynchronisationsHaveRecordsAndHiddenWaitsHaveNone) {
    CUevent event = nullptr;
    ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
    std::vector<char> pageable(kSize);
    CUdeviceptr gone = 0;
    void* gone_too = nullptr;
    ASSERT_EQ(cuMemAlloc_v2(&gone, kSize), CUDA_SUCCESS);
    ASSERT_EQ(cuMemHostAlloc(&gone_too, kSize, 0), CUDA_SUCCESS);
    Profiler profiler{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    profiler.enable(CUPTI_CB_DOMAIN_SYNCHRONIZE);
    upload();
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(pageable.data(), device_, kSize, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFree_v2(gone), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFreeHost(gone_too), CUDA_SUCCESS);
    profiler.flush();
    const auto records = [&] {
        return profiler.records<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    };
    EXPECT_TRUE(records().empty());
    EXPECT_EQ(profiler.synchronisations(), 0);
    ASSERT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
    ASSERT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(profiler.synchronisations(), 0) << "of events there are records only";
    ASSERT_EQ(cuStreamWaitEvent(stream_, event, 0), CUDA_SUCCESS);
    synchronise();
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(profiler.synchronisations(), 2);
    profiler.flush();
    const auto found = records();
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
    EXPECT_EQ(found[1].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
    EXPECT_EQ(found[2].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    EXPECT_EQ(found[3].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
    EXPECT_EQ(found[3].streamId, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
}

TEST_F(Cupti, CallsHaveRecordsWithTheirNumberAndResult) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY};
    upload();
    EXPECT_EQ(cuMemFree_v2(1), CUDA_ERROR_INVALID_VALUE);
    synchronise();
    profiler.flush();
    const auto calls = profiler.records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
    const auto copies = profiler.copies();
    ASSERT_EQ(calls.size(), 3u);
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(calls[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
    EXPECT_EQ(calls[0].correlationId, copies[0].correlationId);
    EXPECT_EQ(calls[0].returnValue, 0u);
    EXPECT_LE(calls[0].start, calls[0].end);
    EXPECT_EQ(calls[1].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    EXPECT_EQ(calls[1].returnValue, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(calls[2].cbid, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
}

TEST_F(Cupti, NumbersOfTheProgramsOwnBelongToTheCallsAfterThem) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
    const auto kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    ASSERT_EQ(cupti()->cuptiActivityPushExternalCorrelationId(kind, 11), CUPTI_SUCCESS);
    ASSERT_EQ(cupti()->cuptiActivityPushExternalCorrelationId(kind, 22), CUPTI_SUCCESS);
    upload();
    std::uint64_t last = 0;
    ASSERT_EQ(cupti()->cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_SUCCESS);
    EXPECT_EQ(last, 22u);
    ASSERT_EQ(cupti()->cuptiActivityPopExternalCorrelationId(kind, nullptr), CUPTI_SUCCESS);
    EXPECT_EQ(cupti()->cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_ERROR_QUEUE_EMPTY);
    synchronise();
    profiler.flush();
    const auto found = profiler.records<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    const auto calls = profiler.records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(found[0].externalId, 22u);
    EXPECT_EQ(found[0].correlationId, calls[0].correlationId);
}

}  // namespace
