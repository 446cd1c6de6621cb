// What streams cost, and what becomes of them where there are too many.
#include <time.h>

#include <algorithm>
#include <vector>

#include "streams_fixture.h"

namespace pincheck {
namespace {

using StreamsBounds = StreamsTest;

TEST_F(StreamsBounds, ProgramsThatNeverWaitCostBoundedMemoryAndKnowLaterRatherThanWrongly) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = non_blocking(0x200);
    Ticket first;
    Ticket last;
    for (int i = 0; i < 300000; ++i) {
        last = work(one);
        first = first ? first : last;
        record(one);
        wait(two);
        work(two);
    }
    EXPECT_GT(streams.losses().edges, 0u);
    EXPECT_FALSE(known(first));
    synchronise(two);
    EXPECT_TRUE(known(last));
}

TEST_F(StreamsBounds, StreamsByTheTurnCostTheSameRoom) {
    for (std::uintptr_t i = 0; i < 3ull * Streams::kMaxStreams; ++i) {
        const StreamRef stream = blocking(0x1000 + 16 * (i % 100));
        ASSERT_TRUE(stream) << i;
        work(stream);
        record(stream);
        synchronise_event();
        streams.stream_destroyed(0x1000 + 16 * (i % 100));
    }
    EXPECT_EQ(streams.losses().streams, 0u);
}

TEST_F(StreamsBounds, TooManyStreamsAreCountedAndNotFollowed) {
    std::uintptr_t handle = 0x1000;
    for (std::uint32_t i = 0; i < Streams::kMaxStreams; ++i, handle += 16) {
        ASSERT_TRUE(non_blocking(handle));
    }
    EXPECT_FALSE(non_blocking(handle));
    EXPECT_EQ(streams.losses().streams, 1u);
    streams.stream_destroyed(0x1000);
    EXPECT_TRUE(non_blocking(handle));
}

TEST_F(StreamsBounds, EventsByTheTurnCostTheSameRoom) {
    const StreamRef stream = non_blocking(0x100);
    for (std::uintptr_t i = 0; i < 3ull * Streams::kMaxEvents; ++i) {
        record(stream, 0x10000 + 16 * i);
        streams.event_destroyed(0x10000 + 16 * i);
    }
    EXPECT_EQ(streams.losses().events, 0u);
}

// ---- Cost

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds of one round of issue, record, wait and issue into the legacy stream, beside that many streams with work.
double seconds_beside(std::uintptr_t count) {
    auto streams = std::make_unique<Streams>();
    std::vector<StreamRef> all;
    for (std::uintptr_t i = 0; i < count; ++i) {
        all.push_back(streams->add(kContext, 0, 0x1000 + 16 * i, 0, false, 0));
        streams->issued(streams->begin(all.back()));
    }
    const StreamRef legacy = streams->add(kContext, 0, 1, 0, false, 0);
    double best = 1e9;
    for (int repeat = 0; repeat < 7; ++repeat) {
        constexpr int kRounds = 2000;
        const double start = thread_seconds();
        for (int i = 0; i < kRounds; ++i) {
            const StreamRef one = all[0];
            const StreamRef two = all[1];
            streams->issued(streams->begin(one));
            streams->end_record(streams->begin_record(kEvent), streams->begin(one), true);
            streams->waited(streams->begin(two), streams->look(kEvent));
            streams->issued(streams->begin(legacy));
        }
        best = std::min(best, (thread_seconds() - start) / kRounds);
    }
    return best;
}

TEST(StreamsCost, IsThatOfTenStreamsWithTenThousand) {
    const double few = seconds_beside(10);
    const double many = seconds_beside(10000);
    RecordProperty("few_ns", std::to_string(few * 1e9));
    RecordProperty("many_ns", std::to_string(many * 1e9));
    EXPECT_LT(many, 10 * few);  // a cost by streams would be a thousandfold
}

}  // namespace
}  // namespace pincheck
