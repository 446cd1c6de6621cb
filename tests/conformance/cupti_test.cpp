// What CUPTI tells of copies, waits and graphs. The facts were measured on an H200 (driver 580.159.04, CUPTI 13.0).
// Lines marked "for information" are to be compared by hand: they tell what no test asserts. Skipped where there is no
// libcupti.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gate.h"
#include "host_memory.h"
#include "profiler.h"

using namespace conformance;

namespace {

constexpr std::size_t kSize = 4096;
constexpr std::size_t MiB = 1024 * 1024;
// Times of the device are converted to the host's clock by interpolation (cupti_activity.h,
// cuptiActivityRegisterTimestampCallback).
constexpr std::uint64_t kSkew = 2'000'000;

std::uint64_t realtime() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::vector<Call> entries(const Profiler& profiler) {
    std::vector<Call> found;
    for (const Call& call : profiler.calls())
        if (call.site == CUPTI_API_ENTER)
            found.push_back(call);
    return found;
}

class WithCupti : public testing::Test {
  protected:
    void SetUp() override {
        std::string why;
        if (!cupti(&why))
            GTEST_SKIP() << why;
    }
    void upload(const HostMemory& host, std::size_t size = kSize) {
        CUDA_OK(cudaMemcpyAsync(device_, host.data(), size, cudaMemcpyHostToDevice, stream_));
    }
    void download(const HostMemory& host, std::size_t size = kSize) {
        CUDA_OK(cudaMemcpyAsync(host.data(), device_, size, cudaMemcpyDeviceToHost, stream_));
    }
    void finish(Profiler& profiler) {
        CUDA_OK(cudaStreamSynchronize(stream_));
        profiler.flush();
    }

    DeviceMemory device_{16 * MiB};
    Stream stream_;
};
using Cupti = WithCupti;

TEST_F(Cupti, ACallbackOfACopyHasTheNumberOfItsRecord) {
    HostMemory pinned(Kind::pinned, kSize);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
    profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2);
    for (int i = 0; i < 3; ++i) {
        upload(pinned);
        download(pinned);
    }
    finish(profiler);
    const auto calls = entries(profiler);
    const auto copies = profiler.copies();
    ASSERT_EQ(calls.size(), 6u);
    ASSERT_EQ(copies.size(), 6u);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        EXPECT_EQ(calls[i].name, i % 2 ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyHtoDAsync_v2");
        EXPECT_EQ(copies[i].correlationId, calls[i].correlation) << i;
        EXPECT_EQ(copies[i].copyKind, i % 2 ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) << i;
    }
    for (const Call& call : profiler.calls()) {
        if (call.site == CUPTI_API_EXIT) {
            EXPECT_EQ(call.result, CUDA_SUCCESS);
            EXPECT_EQ(call.carried, call.correlation + 1000u) << "what the entry's callback left for the exit's";
        }
    }
}

TEST_F(Cupti, TheRecordOfACallHasTheNumberOfItsCopy) {
    HostMemory pinned(Kind::pinned, kSize);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME};
    upload(pinned);
    finish(profiler);
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 1u);
    int driver = 0;
    for (const auto& call : profiler.records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER)) {
        if (call.cbid != CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2)
            continue;
        ++driver;
        EXPECT_EQ(call.correlationId, copies[0].correlationId);
        EXPECT_LE(call.start, call.end);
    }
    std::printf("for information: %d driver record(s) of the copy, copy %u", driver, copies[0].correlationId);
    for (const auto& call : profiler.records<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME))
        if (call.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020)
            std::printf(", runtime call %u", call.correlationId);
    std::printf(", runtimeCorrelationId %u\n", copies[0].runtimeCorrelationId);
}

TEST_F(Cupti, RecordsTellTheKindOfMemory) {
    for (const Kind kind : {Kind::pageable, Kind::pinned, Kind::mapped, Kind::write_combined, Kind::registered}) {
        HostMemory host(kind, kSize);
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        upload(host);
        download(host);
        finish(profiler);
        const auto expected =
            kind == Kind::pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
        const auto copies = profiler.copies();
        ASSERT_EQ(copies.size(), 2u) << kind;
        EXPECT_EQ(copies[0].srcKind, expected) << kind;
        EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE) << kind;
        EXPECT_EQ(copies[1].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE) << kind;
        EXPECT_EQ(copies[1].dstKind, expected) << kind;
        EXPECT_EQ(copies[0].bytes, kSize) << kind;
        std::printf("for information: flags of an async copy from and to %s memory: %d %d\n",
                    testing::PrintToString(kind).c_str(), copies[0].flags, copies[1].flags);
    }
}

TEST_F(Cupti, AManagedSourceIsReportedAsACopyInsideTheDevice) {
    HostMemory managed(Kind::managed, kSize);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    upload(managed);
    finish(profiler);
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
    EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
    download(managed);
    finish(profiler);
    for (const auto& copy : profiler.copies())
        std::printf("for information: managed memory: kind %d, from %d to %d\n", copy.copyKind, copy.srcKind,
                    copy.dstKind);
}

TEST_F(Cupti, RecordsTellAsynchronousCallsFromSynchronousOnes) {
    HostMemory pinned(Kind::pinned, kSize);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    upload(pinned);
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaMemcpy(device_, pinned.data(), kSize, cudaMemcpyHostToDevice));
    finish(profiler);
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(copies[0].flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
    EXPECT_EQ(copies[1].flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, 0);
}

TEST_F(Cupti, APageableDownloadIsOneRecordWithinItsCall) {
    for (const std::size_t size : {256ul, 64 * 1024ul, 8 * MiB}) {
        HostMemory pageable(Kind::pageable, size);
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        const std::uint64_t before = realtime();
        download(pageable, size);
        const std::uint64_t after = realtime();
        finish(profiler);
        const auto copies = profiler.copies();
        ASSERT_EQ(copies.size(), 1u) << size;
        EXPECT_EQ(copies[0].bytes, size);
        EXPECT_LE(before, copies[0].start + kSkew) << size;
        EXPECT_LE(copies[0].start, copies[0].end) << size;
        EXPECT_LE(copies[0].end, after + kSkew) << size;
    }
}

TEST_F(Cupti, ACopyThatWaitedBeginsAfterTheWait) {
    HostMemory pageable(Kind::pageable, kSize);
    Gate gate;
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    gate.close_in(stream_);
    const std::uint64_t before = realtime();
    std::uint64_t opened = 0;
    ASSERT_TRUE(waits(
        gate,
        [&] {
            EXPECT_EQ(cudaMemcpyAsync(pageable.data(), device_, kSize, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
        },
        kSoon));
    opened = realtime();
    finish(profiler);
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 1u);
    // The gate was opened no earlier than kSoon after the call began: a comparison with that bound, not a measurement.
    const auto held = static_cast<std::uint64_t>(std::chrono::nanoseconds(kSoon).count());
    EXPECT_GE(copies[0].start + kSkew, before + held) << "the wait is the time between the call's begin and the copy's";
    EXPECT_LE(copies[0].end, opened + kSkew);
}

TEST_F(Cupti, CopiesOfAGraphHaveTheNumberOfItsLaunch) {
    HostMemory pinned(Kind::pinned, kSize), pageable(Kind::pageable, kSize);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    upload(pinned);
    upload(pageable);
    CUDA_OK(cudaStreamEndCapture(stream_, &graph));
    CUDA_OK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    {
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
        CUDA_OK(cudaGraphLaunch(executable, stream_));
        CUDA_OK(cudaStreamSynchronize(stream_));
        CUDA_OK(cudaGraphLaunch(executable, stream_));
        finish(profiler);
        const auto launches = entries(profiler);
        const auto copies = profiler.copies();
        ASSERT_EQ(launches.size(), 2u);
        ASSERT_EQ(copies.size(), 4u);
        for (std::size_t i = 0; i < copies.size(); ++i)
            EXPECT_EQ(copies[i].correlationId, launches[i / 2].correlation) << i;
    }
    CUDA_OK(cudaGraphExecDestroy(executable));
    CUDA_OK(cudaGraphDestroy(graph));
}

TEST_F(Cupti, AFullQueueIsOverheadOfTheLaunchThatWaited) {
    Gate gate;
    Profiler profiler{CUPTI_ACTIVITY_KIND_OVERHEAD};
    for (const auto id : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx})
        profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, id);
    gate.close_in(stream_);
    profiler.forget();
    const int fitted = calls_before_waiting(gate, 1100, [&](int) { launch_empty(stream_); });
    finish(profiler);
    const auto launches = entries(profiler);
    ASSERT_GT(launches.size(), static_cast<std::size_t>(fitted));
    std::uint64_t longest = 0;
    std::uint32_t number = 0;
    for (const auto& overhead : profiler.records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
        if (overhead.overheadKind != CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL ||
            overhead.end - overhead.start < longest)
            continue;
        longest = overhead.end - overhead.start;
        number = overhead.correlationId;
    }
    std::printf("for information: %d launches fitted, the next one waited %.1f ms\n", fitted,
                static_cast<double>(longest) / 1e6);
    EXPECT_GT(longest, 0u);
    EXPECT_EQ(number, launches[static_cast<std::size_t>(fitted)].correlation);
}

TEST_F(Cupti, HiddenWaitsHaveNoRecordAndNoCallback) {
    Stream other;
    HostMemory pageable(Kind::pageable, kSize);
    Gate gate;
    void* device = nullptr;
    void* pinned = nullptr;
    CUDA_OK(cudaMalloc(&device, kSize));
    CUDA_OK(cudaMallocHost(&pinned, kSize));
    Profiler profiler{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_OVERHEAD};
    profiler.enable(CUPTI_CB_DOMAIN_SYNCHRONIZE);
    const auto held = [&](const std::function<void()>& call) {
        gate.close_in(stream_);
        EXPECT_TRUE(waits(gate, call, kSoon));
    };
    held([&] { EXPECT_EQ(cudaFree(device), cudaSuccess); });
    held([&] { EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess); });
    held([&] {
        EXPECT_EQ(cudaMemcpyAsync(pageable.data(), device_, kSize, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    });
    profiler.flush();
    EXPECT_EQ(profiler.synchronisations(), 0);
    EXPECT_TRUE(profiler.records<CUpti_ActivitySynchronization>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION).empty());
    for (const auto& overhead : profiler.records<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD))
        EXPECT_NE(overhead.overheadKind, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
}

TEST_F(Cupti, SynchronisationOfStreamsAndContextsIsCalledBack) {
    cudaEvent_t event = nullptr;
    CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    Profiler profiler{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    profiler.enable(CUPTI_CB_DOMAIN_SYNCHRONIZE);
    CUDA_OK(cudaEventRecord(event, stream_));
    CUDA_OK(cudaEventSynchronize(event));
    EXPECT_EQ(profiler.synchronisations(), 0) << "events have no callback";
    CUDA_OK(cudaStreamSynchronize(stream_));
    EXPECT_EQ(profiler.synchronisations(), 1);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(profiler.synchronisations(), 2);
    profiler.flush();
    std::printf("for information: records of synchronisation by type:");
    for (const auto& record : profiler.records<CUpti_ActivitySynchronization>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
        std::printf(" %d", record.type);
    std::printf("\n");
    CUDA_OK(cudaEventDestroy(event));
}

TEST_F(Cupti, ASecondSubscriberIsRefused) {
    Profiler profiler{};
    CUpti_SubscriberHandle second = nullptr;
    EXPECT_EQ(cupti()->cuptiSubscribe(&second, nullptr, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
}

TEST_F(Cupti, WhoSubscribesAfterAnotherHasGoneGetsItsRecordsAndCalls) {
    HostMemory pinned(Kind::pinned, kSize);
    for (int i = 0; i < 3; ++i) {
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        profiler.enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
        upload(pinned);
        finish(profiler);
        EXPECT_EQ(profiler.copies().size(), 1u) << i;
        EXPECT_EQ(entries(profiler).size(), 1u) << i;
    }
    Profiler profiler{};
    upload(pinned);
    finish(profiler);
    EXPECT_TRUE(profiler.copies().empty()) << "nothing of those before";
    EXPECT_TRUE(profiler.calls().empty());
}

TEST_F(Cupti, TimesAreThoseOfTheRealtimeClock) {
    HostMemory pinned(Kind::pinned, kSize);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    std::uint64_t time = 0;
    const std::uint64_t before = realtime();
    ASSERT_EQ(cupti()->cuptiGetTimestamp(&time), CUPTI_SUCCESS);
    upload(pinned);
    CUDA_OK(cudaStreamSynchronize(stream_));
    const std::uint64_t after = realtime();
    finish(profiler);
    EXPECT_LE(before, time);
    EXPECT_LE(time, after);
    const auto copies = profiler.copies();
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_LE(before, copies[0].start + kSkew);
    EXPECT_LE(copies[0].end, after + kSkew);
}

TEST_F(Cupti, AClockCannotBeTakenBack) {
    EXPECT_EQ(cupti()->cuptiActivityRegisterTimestampCallback(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Cupti, DroppedRecordsAreCounted) {
    HostMemory pinned(Kind::pinned, kSize);
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    std::size_t dropped = 1;
    upload(pinned);
    finish(profiler);
    EXPECT_EQ(cupti()->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
    EXPECT_EQ(dropped, 0u);
    EXPECT_EQ(profiler.copies().size(), 1u);
    EXPECT_EQ(cupti()->cuptiActivityGetNumDroppedRecords(nullptr, 0, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    profiler.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    Profiler::give_buffers(0);
    for (int i = 0; i < 10; ++i)
        upload(pinned);
    finish(profiler);
    EXPECT_EQ(cupti()->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
    std::printf("for information: of 10 copies without a buffer %zu were counted as dropped, %zu have records\n",
                dropped, profiler.copies().size() - 1);
}

TEST_F(Cupti, AForcedFlushReturnsEveryBuffer) {
    HostMemory pinned(Kind::pinned, kSize);
    Gate gate;
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    const int given = Profiler::buffers_given(), returned = Profiler::buffers_returned();
    upload(pinned);
    std::thread([&] { upload(pinned); }).join();
    finish(profiler);
    profiler.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const int asked = Profiler::buffers_given() - given;
    EXPECT_EQ(Profiler::buffers_returned() - returned, asked);
    std::printf("for information: two threads' copies took %d buffer(s)\n", asked);
    profiler.forget();
    gate.close_in(stream_);
    upload(pinned);
    profiler.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::printf("for information: a forced flush gave %zu record(s) of a copy that has not begun",
                profiler.copies().size());
    for (const auto& copy : profiler.copies())
        std::printf(", start %llu", static_cast<unsigned long long>(copy.start));
    gate.open();
    finish(profiler);
    std::printf("; %zu after its end\n", profiler.copies().size());
}

TEST_F(Cupti, DeviceMemoryForTimesIsTakenFromTheDevice) {
    std::size_t before = 0, after = 0, total = 0, size = sizeof size, value = 0;
    EXPECT_EQ(cupti()->cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value), CUPTI_SUCCESS);
    EXPECT_EQ(value, 3200000u);
    EXPECT_EQ(cupti()->cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, &size, &value),
              CUPTI_SUCCESS);
    EXPECT_EQ(value, 3u);
    CUDA_OK(cudaMemGetInfo(&before, &total));
    {
        Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
        CUDA_OK(cudaMemGetInfo(&after, &total));
    }
    // Nothing to assert: an earlier test of this process may have taken it.
    std::printf("for information: enabling copies took %lld bytes of device memory\n",
                static_cast<long long>(before) - static_cast<long long>(after));
}

}  // namespace
