// CUPTI's records are matched with the calls that asked for the work.
#include "interpose/cupti_records.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "interpose/cupti_calls.h"
#include "interpose/cupti_clock.h"

namespace pincheck::cupti {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWall = 1'700'000'000 * kSecond;  // of CUPTI's clock at 0 of ours

class CuptiRecords : public testing::Test {
  protected:
    void SetUp() override {
        calls = CallTable::create();
        ASSERT_NE(calls, nullptr);
        clock.add(kSecond, kWall + kSecond);
        reader = std::make_unique<RecordReader>(*calls, clock, true);
    }
    void TearDown() override { unmap_memory(calls, sizeof(CallTable)); }

    // A hooked call, as hook and callback together see it.
    void hooked(std::uint32_t correlation, MatchedCall call) {
        ThreadState thread;
        begin_call(thread, call.start_ns);
        calls->began(thread, call.start_ns, correlation);
        EXPECT_TRUE(id_was_told(thread));
        EXPECT_EQ(thread.device_call.correlation, correlation);
        calls->ended(correlation, call);
    }
    static MemcpyRecord copy(std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
        MemcpyRecord record{};
        record.kind = kKindMemcpy;
        record.copy_kind = 1;
        record.bytes = 4096;
        record.start = kWall + start;
        record.end = kWall + end;
        record.context = 1;
        record.stream = 7;
        record.correlation = correlation;
        return record;
    }
    template <class R>
    void read(const R& record) {
        for (const unsigned pass : {0u, 1u}) {
            reader->read(pass, reinterpret_cast<const Record&>(record), sink);
        }
    }

    CallTable* calls = nullptr;
    ClockPairs clock;
    std::unique_ptr<RecordReader> reader;
    std::vector<DeviceWork> got;
    std::vector<std::uint32_t> full;
    std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> kernels;
    DeviceSink sink{this,
                    [](void* self, const DeviceWork& work) { static_cast<CuptiRecords*>(self)->got.push_back(work); },
                    [](void* self, std::uint32_t correlation, std::uint64_t, std::uint64_t) {
                        static_cast<CuptiRecords*>(self)->full.push_back(correlation);
                    },
                    [](void* self, const char* name, std::uint64_t start, std::uint64_t end) {
                        static_cast<CuptiRecords*>(self)->kernels.push_back({name, start, end});
                    }};
};

TEST_F(CuptiRecords, copyIsMatchedWithItsCall) {
    hooked(42, {5, 2, 100, 300});
    read(copy(42, 250, 900));
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].site, 5u);
    EXPECT_EQ(got[0].thread, 2u);
    EXPECT_EQ(got[0].call_start_ns, 100u);
    EXPECT_EQ(got[0].call_end_ns, 300u);
    EXPECT_EQ(got[0].device_start_ns, 250u);
    EXPECT_EQ(got[0].device_end_ns, 900u);
    EXPECT_EQ(got[0].bytes, 4096u);
    EXPECT_EQ(reader->counts().delivered, 1u);
}

TEST_F(CuptiRecords, peerCopiesAndFillsAreMatchedToo) {
    hooked(1, {5, 0, 100, 200});
    hooked(2, {6, 0, 100, 200});
    MemcpyPeerRecord peer{};
    peer.kind = kKindMemcpyPeer;
    peer.start = kWall + 110;
    peer.end = kWall + 120;
    peer.correlation = 1;
    MemsetRecord fill{};
    fill.kind = kKindMemset;
    fill.start = kWall + 130;
    fill.end = kWall + 140;
    fill.correlation = 2;
    read(peer);
    read(fill);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].kind, DeviceWork::Kind::peer_copy);
    EXPECT_EQ(got[0].site, 5u);
    EXPECT_EQ(got[1].kind, DeviceWork::Kind::fill);
    EXPECT_EQ(got[1].site, 6u);
}

TEST_F(CuptiRecords, copyThatIsDoneBeforeItsCallWaitsForIt) {
    ThreadState thread;
    begin_call(thread, 100);
    calls->began(thread, 100, 42);
    read(copy(42, 250, 900));
    reader->retry(sink, false);
    EXPECT_TRUE(got.empty());
    calls->ended(42, {5, 0, 100, 1000});
    reader->retry(sink, false);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].call_end_ns, 1000u);
    reader->retry(sink, true);
    EXPECT_EQ(reader->counts().unmatched, 0u);
}

TEST_F(CuptiRecords, callThatNeverReturnsCountsAsUnmatchedInTheEnd) {
    ThreadState thread;
    begin_call(thread, 100);
    calls->began(thread, 100, 42);
    read(copy(42, 250, 900));
    reader->retry(sink, true);
    EXPECT_EQ(reader->counts().unmatched, 1u);
    EXPECT_TRUE(got.empty());
}

TEST_F(CuptiRecords, waitingIsBounded) {
    ThreadState thread;
    for (std::uint32_t id = 1; id <= 5000; ++id) {
        begin_call(thread, 100 + id);
        calls->began(thread, 100 + id, id);
        read(copy(id, 250, 900));
    }
    EXPECT_GT(reader->counts().unmatched, 3000u);
}

TEST_F(CuptiRecords, copyThatNoHookSawIsCounted) {
    ThreadState thread;
    calls->began(thread, 0, 42);
    read(copy(42, 250, 900));
    EXPECT_EQ(reader->counts().unhooked, 1u);
    EXPECT_TRUE(got.empty());
}

// A library that copies inside a call which the tool recorded is no way past the tool.
TEST_F(CuptiRecords, copyInsideAnotherRecordedCallIsNot) {
    ThreadState thread;
    thread.guard = 0x7fff0000;
    calls->began(thread, 0, 42);
    read(copy(42, 250, 900));
    begin_call(thread, 100);
    calls->began(thread, 100, 43);
    calls->began(thread, 100, 44);  // a second one inside the same call
    calls->ended(43, {5, 0, 100, 200});
    read(copy(44, 250, 900));
    EXPECT_EQ(reader->counts().unhooked, 0u);
    EXPECT_EQ(reader->counts().unmatched, 0u);
    EXPECT_TRUE(got.empty());
}

// An allocation, say, that fills what it gives: no copy's hook is there to say whose it is.
TEST_F(CuptiRecords, copyInsideACallThatMakesNoneIsNobodys) {
    ThreadState thread;
    thread.guard = 0x7fff0000;
    begin_call(thread, 100);  // of an earlier call
    calls->began(thread, 300, 42);
    EXPECT_FALSE(id_was_told(thread));
    read(copy(42, 350, 900));
    reader->retry(sink, true);
    EXPECT_EQ(reader->counts().unhooked, 0u);
    EXPECT_EQ(reader->counts().unmatched, 0u);
    EXPECT_TRUE(got.empty());
}

TEST_F(CuptiRecords, idOfACallThatLongjmpLeftIsNotTheNextOnes) {
    ThreadState thread;
    begin_call(thread, 100);
    calls->began(thread, 100, 42);
    begin_call(thread, 300);
    calls->began(thread, 300, 43);
    EXPECT_EQ(thread.device_call.correlation, 43u);
    EXPECT_EQ(thread.device_call.told_ns, 300u);
    calls->ended(43, {5, 0, 300, 400});
    read(copy(43, 350, 900));
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].call_start_ns, 300u);
}

TEST_F(CuptiRecords, recordsFromBeforeTheSessionAreNoFindings) {
    read(copy(42, 250, 900));
    EXPECT_EQ(reader->counts().unmatched, 1u);
    EXPECT_EQ(reader->counts().unhooked, 0u);
}

TEST_F(CuptiRecords, overwrittenCallsAreNotMistaken) {
    hooked(42, {5, 0, 100, 200});
    hooked(42 + CallTable::kEntries, {6, 0, 300, 400});
    calls->ended(42, {5, 0, 100, 200});  // late
    read(copy(42, 250, 900));
    EXPECT_EQ(reader->counts().unmatched, 1u);
    read(copy(42 + CallTable::kEntries, 350, 900));
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].site, 6u);
}

TEST_F(CuptiRecords, copiesOfAGraphAllBelongToItsLaunch) {
    hooked(42, {5, 0, 100, 200});
    for (int i = 0; i < 3; ++i) {
        read(copy(42, 250, 900));
    }
    EXPECT_EQ(got.size(), 3u);
}

TEST_F(CuptiRecords, copyWithoutTimesIsCounted) {
    hooked(42, {5, 0, 100, 200});
    MemcpyRecord record = copy(42, 0, 0);
    record.start = 0;
    record.end = 0;
    read(record);
    EXPECT_EQ(reader->counts().without_times, 1u);
    EXPECT_TRUE(got.empty());
}

TEST_F(CuptiRecords, fullQueueIsToldOfTheCallThatItHeld) {
    hooked(42, {5, 0, 100, 90'000'100});
    OverheadRecord overhead{};
    overhead.kind = kKindOverhead;
    overhead.overhead_kind = kCommandBufferFull;
    overhead.start = kWall + 110;
    overhead.end = kWall + 90'000'000;
    overhead.correlation = 42;
    OverheadRecord other = overhead;
    other.overhead_kind = 0x50000;  // lazy loading
    const MemcpyRecord record = copy(42, 90'000'050, 90'000'900);
    // In one buffer, the copy first.
    for (const unsigned pass : {0u, 1u}) {
        reader->read(pass, reinterpret_cast<const Record&>(record), sink);
        reader->read(pass, reinterpret_cast<const Record&>(overhead), sink);
        reader->read(pass, reinterpret_cast<const Record&>(other), sink);
    }
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].queue_full_ns, 89'999'890u);
    EXPECT_EQ(full, std::vector<std::uint32_t>{42});
}

// Before CUDA 12.2 the field is not there.
TEST_F(CuptiRecords, overheadsOfAnOlderCuptiHaveNoCall) {
    reader = std::make_unique<RecordReader>(*calls, clock, false);
    hooked(42, {5, 0, 100, 200});
    OverheadRecord overhead{};
    overhead.kind = kKindOverhead;
    overhead.overhead_kind = kCommandBufferFull;
    overhead.start = kWall + 110;
    overhead.end = kWall + 120;
    overhead.correlation = 42;
    read(overhead);
    read(copy(42, 250, 900));
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].queue_full_ns, 0u);
}

TEST_F(CuptiRecords, kernelsAreHandedOnWhereTheirTimesAreKnown) {
    KernelRecord record{};
    record.kind = kKindConcurrentKernel;
    record.start = kWall + 100;
    record.end = kWall + 150;
    record.name = "timed";
    read(record);
    record.start = record.end = 0;  // CUPTI could not collect them
    record.name = "untimed";
    read(record);
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0], std::tuple(std::string("timed"), std::uint64_t{100}, std::uint64_t{150}));
}

TEST_F(CuptiRecords, kernelThatRanBeforeInTheSameStreamIsNamed) {
    hooked(42, {5, 0, 100, 200});
    const auto kernel = [](std::uint32_t stream, std::uint64_t end, const char* name) {
        KernelRecord record{};
        record.kind = kKindConcurrentKernel;
        record.context = 1;
        record.stream = stream;
        record.end = kWall + end;
        record.name = name;
        return record;
    };
    read(kernel(7, 150, "older"));
    read(kernel(7, 240, "before"));
    read(kernel(8, 245, "elsewhere"));
    read(kernel(7, 950, "after"));
    read(copy(42, 250, 900));
    ASSERT_EQ(got.size(), 1u);
    EXPECT_STREQ(got[0].kernel, "before");
}

}  // namespace
}  // namespace pincheck::cupti
