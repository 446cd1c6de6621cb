// What streams say of work that is not known complete: for a call that is about to wait, and for one that has waited.
#include "streams_fixture.h"

namespace pincheck {
namespace {

TEST_F(StreamsTest, PendingCountsWorkSinceTheStreamWasLastKnownComplete) {
    const StreamRef stream = non_blocking(0x100);
    EXPECT_FALSE(streams.pending(stream).work);
    work(stream);
    synchronise(stream);
    named_work(stream, 77);
    record(stream);
    const Ticket newest = work(stream);
    const Pending pending = streams.pending(stream);
    EXPECT_TRUE(pending.work);
    EXPECT_EQ(pending.items, 2u);
    EXPECT_EQ(pending.newest.sequence, newest.sequence);
    EXPECT_EQ(pending.site, 77u);
    synchronise(stream);
    EXPECT_FALSE(streams.pending(stream).work);
}

TEST_F(StreamsTest, WaitsAndHostFunctionsAreNoWork) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = non_blocking(0x200);
    work(one);
    record(one);
    wait(two);
    gate(two);
    EXPECT_TRUE(streams.pending(two).work);
    EXPECT_EQ(streams.pending(two).items, 0u);
}

TEST_F(StreamsTest, PendingSaysWhetherOtherStreamsHoldTheNextCall) {
    const StreamRef stream = blocking(0x100);
    const StreamRef default_stream = legacy();
    EXPECT_FALSE(streams.pending(default_stream).behind);
    work(stream);
    EXPECT_TRUE(streams.pending(default_stream).behind);
    EXPECT_FALSE(streams.pending(default_stream).work);
    synchronise(stream);
    EXPECT_FALSE(streams.pending(default_stream).behind);
    work(default_stream);
    EXPECT_TRUE(streams.pending(stream).behind);
    work(non_blocking(0x200));
    EXPECT_FALSE(streams.pending(streams.find(0, 0x200, 0)).behind);
}

TEST_F(StreamsTest, PendingNamesWorkThatIsLeftOnly) {
    const StreamRef stream = non_blocking(0x100);
    named_work(stream, 77);
    synchronise(stream);
    work(stream);
    EXPECT_EQ(streams.pending(stream).items, 1u);
    EXPECT_EQ(streams.pending(stream).site, 0u);
}

TEST(NamedWorkTest, IsWithinWhatIsPending) {
    EXPECT_EQ(NamedWork::site_within(NamedWork::of(7, 5), 4, 5), 7u);
    EXPECT_EQ(NamedWork::site_within(NamedWork::of(7, 5), 4, 9), 7u);
    EXPECT_EQ(NamedWork::site_within(NamedWork::of(7, 5), 5, 9), 0u);
    EXPECT_EQ(NamedWork::site_within(NamedWork::of(7, 10), 5, 9), 0u);
    EXPECT_EQ(NamedWork::site_within(NamedWork::of(7, 5), 5, 5), 0u);
    constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;
    EXPECT_EQ(NamedWork::site_within(NamedWork::of(7, kWrap + 1), kWrap - 2, kWrap + 3), 7u);
    EXPECT_EQ(NamedWork::site_within(0, 0, 0), 0u);
}

// A call is asked about when it is over, and what was pending when it began is what counts.
TEST_F(StreamsTest, WhatWasPendingWhenACallBeganStays) {
    const StreamRef stream = non_blocking(0x100);
    named_work(stream, 77);
    record(stream);
    const Operation operation = streams.begin(stream);
    PendingThen then;
    streams.look_at_pending(operation, then);
    EXPECT_FALSE(then.is_idle());
    named_work(stream, 78);
    synchronise(stream);
    const Pending pending = Streams::pending_then(then);
    EXPECT_TRUE(pending.work);
    EXPECT_EQ(pending.items, 1u);
    EXPECT_EQ(pending.site, 77u);
    EXPECT_FALSE(pending.behind);
    streams.look_at_pending(streams.begin(stream), then);
    EXPECT_TRUE(then.is_idle());
    EXPECT_FALSE(Streams::pending_then(then).work);
    streams.look_at_pending(streams.begin(StreamRef{}), then);
    EXPECT_FALSE(then.is_idle());
}

TEST_F(StreamsTest, WhatWasPendingSaysWhichStreamHeldTheCall) {
    const StreamRef stream = blocking(0x100);
    const StreamRef default_stream = legacy();
    named_work(stream, 77);
    Streams::set_report_id(stream, 4);
    PendingThen then;
    streams.look_at_pending(streams.begin(default_stream), then);
    synchronise(stream);
    Pending pending = Streams::pending_then(then);
    EXPECT_FALSE(pending.work);
    EXPECT_TRUE(pending.behind);
    EXPECT_EQ(pending.behind_site, 77u);
    EXPECT_EQ(pending.behind_stream, 4u);
    named_work(default_stream, 79);
    Streams::set_report_id(default_stream, 5);
    streams.look_at_pending(streams.begin(stream), then);
    pending = Streams::pending_then(then);
    EXPECT_TRUE(pending.behind);
    EXPECT_EQ(pending.behind_site, 79u);
    EXPECT_EQ(pending.behind_stream, 5u);
}

// Of a stream's own work and another's that it is behind, what was put in last.
TEST_F(StreamsTest, WhatWasPendingIsBehindAnotherStreamWhereThatHasTheNewerWork) {
    const StreamRef stream = blocking(0x100);
    const StreamRef default_stream = legacy();
    const auto is_behind = [&](StreamRef called, bool is_wait = false) {
        PendingThen then;
        streams.look_at_pending(is_wait ? streams.begin_wait(called) : streams.begin(called), then, is_wait);
        EXPECT_TRUE(then.issued > then.complete);
        return then.behind != nullptr;
    };
    work(default_stream);
    work(stream);
    EXPECT_FALSE(is_behind(stream));
    EXPECT_FALSE(is_behind(stream, true));
    EXPECT_TRUE(is_behind(default_stream));
    work(stream);
    EXPECT_TRUE(is_behind(default_stream, true));
    work(default_stream);
    EXPECT_TRUE(is_behind(stream));
    EXPECT_FALSE(is_behind(stream, true)) << "a wait for a blocking stream does not include the legacy stream";
    EXPECT_FALSE(is_behind(default_stream));
    EXPECT_FALSE(is_behind(default_stream, true));
    work(stream);
    EXPECT_FALSE(is_behind(stream));
    const StreamRef other = blocking(0x200);
    work(other);
    work(default_stream);
    work(other);
    EXPECT_TRUE(is_behind(default_stream)) << "one of them is enough";
}

TEST_F(StreamsTest, WhatWasPendingBehindAnEventIsTheEvents) {
    const StreamRef stream = non_blocking(0x100);
    work(stream);
    record(stream);
    work(stream);
    const EventUse use = streams.look(kEvent);
    EXPECT_EQ(Streams::pending_then(streams.look_at_pending(use)).items, 1u);
    synchronise_event();
    EXPECT_TRUE(streams.look_at_pending(streams.look(kEvent)).is_idle());
    EXPECT_TRUE(streams.pending(stream).work);
    streams.event_destroyed(kEvent);
    EXPECT_FALSE(streams.look_at_pending(streams.look(kEvent)).is_idle());
}

// A fork's child starts with new streams, and with what a thread remembered of the old ones.
TEST_F(StreamsTest, AThreadsLastStreamIsOfOneObjectOnly) {
    LastStream last;
    non_blocking(0x100);
    EXPECT_TRUE(streams.find(last, 0, 0x100, 0));
    EXPECT_TRUE(streams.is_last(last, 0x100));
    const auto others = std::make_unique<Streams>();
    EXPECT_FALSE(others->is_last(last, 0x100));
    EXPECT_FALSE(others->find(last, 0, 0x100, 0));
}

TEST_F(StreamsTest, PendingInAContextIsThatOfAllItsStreams) {
    const StreamRef one = non_blocking(0x100);
    EXPECT_FALSE(streams.pending_in_context(kContext).work);
    named_work(one, 5);
    work(non_blocking(0x300));
    const StreamRef elsewhere = streams.add(kOtherContext, 1, 0x200, 0, true, 0);
    work(elsewhere);
    EXPECT_EQ(streams.pending_in_context(kContext).items, 2u);
    EXPECT_EQ(streams.pending_in_context(kContext).site, 5u);
    EXPECT_EQ(streams.pending_in_context(kOtherContext).items, 1u);
    EXPECT_EQ(streams.pending_in_context(kOtherContext).newest.stream, elsewhere.number);
    EXPECT_FALSE(streams.pending_in_context(0xd0).work);
}

}  // namespace
}  // namespace pincheck
