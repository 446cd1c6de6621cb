// The program's buffers in the stand-in libcupti.so.N: who asks for them, when they come back, what is lost.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "cupti_fixture.h"
#include "stream_gate.h"

using conformance::cupti;
using conformance::Profiler;

namespace {

// Waits for what another thread does; the deadline only ends a test that fails.
bool comes_true(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::yield();
    }
    return true;
}

std::size_t dropped() {
    std::size_t count = 0;
    EXPECT_EQ(cupti()->cuptiActivityGetNumDroppedRecords(nullptr, 0, &count), CUPTI_SUCCESS);
    return count;
}

TEST_F(Cupti, RecordsStayInTheirBufferUntilAFlush) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    const int returned = Profiler::buffers_returned();
    upload();
    synchronise();
    EXPECT_TRUE(profiler.copies().empty());
    EXPECT_EQ(Profiler::buffers_returned(), returned);
    profiler.flush();
    EXPECT_EQ(profiler.copies().size(), 1u);
    EXPECT_EQ(Profiler::buffers_returned(), returned + 1);
}

TEST_F(Cupti, AFullBufferComesBackByItself) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    Profiler::give_buffers(3 * sizeof(CUpti_ActivityMemcpy6) + 8);
    for (int i = 0; i < 4; ++i)
        upload();
    synchronise();
    EXPECT_TRUE(comes_true([&] { return profiler.copies().size() == 3; }));
    profiler.flush();
    EXPECT_EQ(profiler.copies().size(), 4u);
    EXPECT_EQ(dropped(), 0u);
}

TEST_F(Cupti, ABufferTakesNoMoreRecordsThanAskedFor) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    Profiler::give_buffers(1 << 20, 2);
    const int given = Profiler::buffers_given();
    for (int i = 0; i < 6; ++i)
        upload();
    synchronise();
    EXPECT_TRUE(comes_true([&] { return profiler.copies().size() == 6; }));
    EXPECT_EQ(Profiler::buffers_given(), given + 3);
}

TEST_F(Cupti, RecordsWithoutABufferAreCountedAsDropped) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    Profiler::give_buffers(0);
    upload();
    upload();
    synchronise();
    EXPECT_EQ(dropped(), 2u);
    EXPECT_EQ(dropped(), 0u) << "asking resets the count";
    Profiler::give_buffers(1 << 20);
    upload();
    synchronise();
    profiler.flush();
    EXPECT_EQ(profiler.copies().size(), 1u);
    EXPECT_EQ(dropped(), 0u);
}

TEST_F(Cupti, ABufferThatIsTooSmallComesBackEmpty) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    const int given = Profiler::buffers_given(), returned = Profiler::buffers_returned();
    Profiler::give_buffers(sizeof(CUpti_ActivityMemcpy6) - 8);
    upload();
    synchronise();
    profiler.flush();
    EXPECT_EQ(dropped(), 1u);
    EXPECT_TRUE(profiler.copies().empty());
    EXPECT_GT(Profiler::buffers_given(), given);
    EXPECT_EQ(Profiler::buffers_returned() - returned, Profiler::buffers_given() - given);
}

TEST_F(Cupti, AForcedFlushHandsOverWhatHasNotEnded) {
    StreamGate gate;
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    ASSERT_EQ(gate.close(stream_), CUDA_SUCCESS);
    upload();
    profiler.flush();
    EXPECT_TRUE(profiler.copies().empty());
    profiler.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    ASSERT_EQ(profiler.copies().size(), 1u);
    EXPECT_EQ(profiler.copies()[0].start, 0u);
    EXPECT_EQ(profiler.copies()[0].end, 0u);
    gate.open();
    synchronise();
    profiler.flush();
    EXPECT_EQ(profiler.copies().size(), 1u) << "its end makes no second record";
}

TEST_F(Cupti, BuffersBelongToTheThreadThatMakesTheCall) {
    Profiler profiler{CUPTI_ACTIVITY_KIND_MEMCPY};
    profiler.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const int given = Profiler::buffers_given();
    upload();
    std::thread([&] {
        ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
        upload();
    }).join();
    synchronise();
    EXPECT_EQ(Profiler::buffers_given(), given + 2);
    profiler.flush();
    EXPECT_EQ(profiler.copies().size(), 2u);
}

// With a stand-in's lock held, one of the calls inside would wait for ever.
TEST_F(Cupti, BuffersComeAndGoWithNoLockHeld) {
    CUpti_SubscriberHandle subscriber = nullptr;
    static CUstream stream;
    static CUdeviceptr device;
    static void* pinned;
    static std::atomic<int> asked, returned;
    stream = stream_, device = device_, pinned = pinned_;
    asked = returned = 0;
    const auto use_cuda = [] {
        std::size_t available = 0, total = 0;
        EXPECT_EQ(cuMemGetInfo_v2(&available, &total), CUDA_SUCCESS);
        EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, pinned, 8, stream), CUDA_SUCCESS);
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    };
    static void (*const use)() = use_cuda;
    ASSERT_EQ(cupti()->cuptiSubscribe(&subscriber, nullptr, nullptr), CUPTI_SUCCESS);
    ASSERT_EQ(cupti()->cuptiActivityRegisterCallbacks(
                  [](std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
                      *size = 4096;
                      *records = 0;
                      *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
                      if (++asked == 1)
                          use();
                  },
                  [](CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
                      if (++returned == 1) {
                          use();
                          EXPECT_EQ(cupti()->cuptiActivityFlushAll(0), CUPTI_SUCCESS);
                      }
                      std::free(buffer);
                  }),
              CUPTI_SUCCESS);
    ASSERT_EQ(cupti()->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    upload();
    synchronise();
    EXPECT_EQ(cupti()->cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_GE(returned, 1);
    EXPECT_EQ(cupti()->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    EXPECT_EQ(cupti()->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    EXPECT_EQ(asked, returned);
    EXPECT_EQ(cupti()->cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
}

TEST_F(Cupti, UnknownKindsAreRefused) {
    EXPECT_EQ(cupti()->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
    EXPECT_EQ(cupti()->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT), CUPTI_ERROR_INVALID_KIND);
    EXPECT_EQ(cupti()->cuptiActivityEnableContext(nullptr, CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INVALID_CONTEXT);
}

TEST_F(Cupti, ReadsRecordsOneAfterTheOther) {
    alignas(8) std::uint8_t buffer[2 * sizeof(CUpti_ActivityMemcpy6)] = {};
    auto* records = reinterpret_cast<CUpti_ActivityMemcpy6*>(buffer);
    records[0].kind = records[1].kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    CUpti_Activity* record = nullptr;
    const auto next = [&](std::size_t valid) { return cupti()->cuptiActivityGetNextRecord(buffer, valid, &record); };
    EXPECT_EQ(next(sizeof buffer), CUPTI_SUCCESS);
    EXPECT_EQ(next(sizeof buffer), CUPTI_SUCCESS);
    EXPECT_EQ(record, reinterpret_cast<CUpti_Activity*>(&records[1]));
    EXPECT_EQ(next(sizeof buffer), CUPTI_ERROR_MAX_LIMIT_REACHED);
    record = nullptr;
    records[0].kind = CUPTI_ACTIVITY_KIND_INVALID;
    EXPECT_EQ(next(sizeof buffer), CUPTI_ERROR_INVALID_KIND);
    EXPECT_EQ(next(0), CUPTI_ERROR_MAX_LIMIT_REACHED);
    EXPECT_EQ(cupti()->cuptiActivityGetNextRecord(nullptr, 1, &record), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cupti()->cuptiActivityRegisterCallbacks(nullptr, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

}  // namespace
