// What streams answer, one rule a case. Exactness over random programs is streams_oracle_test.cpp's, bounds and cost
// are streams_bounds_test.cpp's, pending work is streams_pending_test.cpp's.
#include "streams_fixture.h"

namespace pincheck {
namespace {

// ---- What is a stream

TEST_F(StreamsTest, AStreamSaysWhereItComesFrom) {
    const StreamRef stream = non_blocking(0x100);
    const StreamInfo info = streams.info(stream);
    EXPECT_EQ(info.number, 1u);
    EXPECT_EQ(info.site, 11u);
    EXPECT_EQ(info.kind, report::StreamKind::created);
    EXPECT_TRUE(info.non_blocking);
    EXPECT_EQ(info.handle, 0x100u);
    EXPECT_EQ(info.context, kContext);
    EXPECT_EQ(streams.info(legacy()).kind, report::StreamKind::legacy_default);
    EXPECT_EQ(streams.info(streams.add(kContext, 0, 2, 4, false, 0)).kind, report::StreamKind::per_thread_default);
}

TEST_F(StreamsTest, DefaultStreamsBelongToTheirContextAndThread) {
    EXPECT_EQ(legacy().number, legacy().number);
    EXPECT_NE(legacy().number, legacy(kOtherContext).number);
    const StreamRef one = streams.add(kContext, 0, 2, 1, false, 0);
    const StreamRef two = streams.add(kContext, 0, 2, 2, false, 0);
    EXPECT_NE(one.number, two.number);
    EXPECT_EQ(streams.find(kContext, 2, 1).number, one.number);
    EXPECT_FALSE(streams.find(kOtherContext, 2, 1));
}

TEST_F(StreamsTest, AHandleThatIsUsedAgainIsAnotherStream) {
    const StreamRef first = non_blocking(0x100);
    const Ticket old = work(first);
    streams.stream_destroyed(0x100);
    EXPECT_FALSE(streams.find(kContext, 0x100, 0));
    const StreamRef second = non_blocking(0x100);
    EXPECT_NE(first.number, second.number);
    work(second);
    synchronise(second);
    EXPECT_FALSE(known(old));
    synchronise_context();
    EXPECT_TRUE(known(old));
}

TEST_F(StreamsTest, WhatAThreadRemembersEndsWithTheStream) {
    LastStream last;
    const StreamRef first = non_blocking(0x100);
    EXPECT_EQ(streams.find(last, kContext, 0x100, 0).number, first.number);
    EXPECT_EQ(streams.find(last, kContext, 0x100, 0).number, first.number);
    streams.stream_destroyed(0x100);
    EXPECT_FALSE(streams.find(last, kContext, 0x100, 0));
    const StreamRef second = non_blocking(0x100);
    EXPECT_EQ(streams.find(last, kContext, 0x100, 0).number, second.number);
}

TEST_F(StreamsTest, OfAStreamThatNobodySawNothingIsSaid) {
    const Operation operation = streams.begin(StreamRef{});
    EXPECT_FALSE(streams.issued(operation));
    streams.learned(operation);
    streams.end_record(streams.begin_record(kEvent), operation, true);
    synchronise_event();
    wait(non_blocking(0x100));
    EXPECT_FALSE(streams.pending(StreamRef{}).work);
}

// ---- Knowing

TEST_F(StreamsTest, AWaitCompletesWhatWasIssuedBeforeItBegan) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket before = work(stream);
    const Operation wait_began = streams.begin_wait(stream);
    const Ticket during = work(stream);
    streams.learned(wait_began);
    EXPECT_TRUE(known(before));
    EXPECT_FALSE(known(during));
}

TEST_F(StreamsTest, WorkWhoseCallHasNotReturnedIsNotCoveredByAWait) {
    const StreamRef stream = non_blocking(0x100);
    const Operation slow = streams.begin(stream);
    synchronise(stream);
    EXPECT_FALSE(known(streams.issued(slow)));
}

TEST_F(StreamsTest, AnEventCompletesWhatWasBeforeItsLastRecord) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket first = work(stream);
    record(stream);
    const Ticket second = work(stream);
    record(stream);
    const Ticket third = work(stream);
    synchronise_event();
    EXPECT_TRUE(known(first));
    EXPECT_TRUE(known(second));
    EXPECT_FALSE(known(third));
}

TEST_F(StreamsTest, WaitingForAnEventThatWasNeverRecordedHasNoEffect) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = non_blocking(0x200);
    wait(two);  // L6
    const Ticket later = work(one);
    record(one);
    work(two);
    synchronise(two);
    EXPECT_FALSE(known(later));
}

TEST_F(StreamsTest, WhatAStreamWaitedForIsCompleteWithIt) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = non_blocking(0x200);
    const StreamRef three = non_blocking(0x300);
    const Ticket first = work(one);
    record(one);
    const Ticket after_record = work(one);
    wait(two);
    record(two, kEvent + 8);
    wait(three, kEvent + 8);
    synchronise(three);
    EXPECT_TRUE(known(first));
    EXPECT_FALSE(known(after_record));
}

TEST_F(StreamsTest, AnEventStandsForWhatItWasWhenItWasWaitedFor) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = non_blocking(0x200);
    work(one);
    record(one);
    wait(two);
    const Ticket later = work(one);
    record(one);
    synchronise(two);
    EXPECT_FALSE(known(later));
}

TEST_F(StreamsTest, AnEventThatAnotherThreadRecordsMeanwhileTellsNothing) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = non_blocking(0x200);
    const Ticket slow = work(one);
    record(one);
    const EventUse waiting = streams.look(kEvent);
    record(two);
    streams.learned(waiting);
    EXPECT_FALSE(known(slow));
}

TEST_F(StreamsTest, AnEventRecordedInACaptureStandsForNothing) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket ticket = work(stream);
    record(stream);
    streams.recorded_in_capture(kEvent);
    synchronise_event();
    EXPECT_FALSE(known(ticket));
}

TEST_F(StreamsTest, AContextsWaitCoversItsOwnStreamsOnly) {
    const Ticket here = work(non_blocking(0x100));
    const Ticket default_here = work(legacy());
    const Ticket elsewhere = work(non_blocking(0x200, kOtherContext));
    synchronise_context();
    EXPECT_TRUE(known(here));
    EXPECT_TRUE(known(default_here));
    EXPECT_FALSE(known(elsewhere));
}

TEST_F(StreamsTest, AContextsWaitCoversWhatWasIssuedBeforeItBegan) {
    const StreamRef stream = non_blocking(0x100);
    work(stream);
    const ContextWait wait_began = streams.begin_context_wait(kContext);
    const Ticket during = work(stream);
    streams.learned(wait_began);
    EXPECT_FALSE(known(during));
    EXPECT_EQ(streams.pending(stream).items, 1u);
}

TEST_F(StreamsTest, OfADestroyedContextNothingIsLearned) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket ticket = work(stream);
    record(stream);
    streams.context_destroyed(kContext);
    synchronise_event();
    legacy();
    synchronise_context();
    EXPECT_FALSE(known(ticket));
}

// ---- The legacy default stream

TEST_F(StreamsTest, TheLegacyStreamIsBehindBlockingStreamsAndInFrontOfThem) {
    const StreamRef one = blocking(0x100);
    const StreamRef two = blocking(0x200);
    const Ticket first = work(one);
    const Ticket second = work(legacy());
    work(two);
    synchronise(two);
    EXPECT_TRUE(known(second));
    EXPECT_TRUE(known(first));
}

TEST_F(StreamsTest, WorkAfterTheLegacyStreamsActionIsNotBeforeIt) {
    const StreamRef one = blocking(0x100);
    const Ticket first = work(one);
    work(legacy());
    record(legacy());
    const Ticket later = work(one);
    synchronise_event();
    EXPECT_TRUE(known(first));
    EXPECT_FALSE(known(later));
}

TEST_F(StreamsTest, NonBlockingStreamsHaveNothingToDoWithIt) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket here = work(stream);
    const Ticket there = work(legacy());
    record(legacy());
    synchronise_event();
    EXPECT_FALSE(known(here));
    const Ticket again = work(legacy());
    synchronise(stream);
    EXPECT_TRUE(known(there));
    EXPECT_FALSE(known(again));
}

TEST_F(StreamsTest, AStreamsWaitAloneDoesNotReachTheLegacyStream) {
    const StreamRef stream = blocking(0x100);
    const Ticket there = work(legacy());
    synchronise(stream);  // nothing was put in since: whether the driver waits is not documented
    EXPECT_FALSE(known(there));
}

TEST_F(StreamsTest, ALegacyActionThatOverlapsAnotherThreadsCallIsNotOrderedWithIt) {
    const StreamRef stream = blocking(0x100);
    const Operation legacy_call = streams.begin(legacy());
    const Ticket during = work(stream);
    const Ticket action = streams.issued(legacy_call);
    record(legacy());
    const Operation stream_call = streams.begin(stream);
    const Ticket later_action = work(legacy());
    streams.issued(stream_call);
    synchronise(stream);
    EXPECT_TRUE(known(action));         // it had returned when the stream's call began
    EXPECT_FALSE(known(later_action));  // it had not
    EXPECT_TRUE(known(during));
}

// ---- Armed

TEST_F(StreamsTest, WorkBehindAHostFunctionIsNotArmedUntilItHasRun) {
    const StreamRef stream = non_blocking(0x100);
    const Operation call = streams.begin(stream);
    const std::uint64_t function = streams.new_gate();
    streams.issued_gate(call, function);
    const Ticket copy = work(stream);
    EXPECT_FALSE(armed(copy));
    streams.learned(call);
    EXPECT_FALSE(armed(copy));
    streams.gate_opened(call, function);
    EXPECT_TRUE(armed(copy));
    EXPECT_FALSE(known(copy));
}

TEST_F(StreamsTest, AHostFunctionThatStartsMakesWhatIsBeforeItKnown) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket before = work(stream);
    const Operation call = streams.begin(stream);
    const std::uint64_t function = streams.new_gate();
    streams.learned(call);  // it may start before the call that queued it has returned
    streams.gate_opened(call, function);
    streams.issued_gate(call, function);
    EXPECT_TRUE(known(before));
    EXPECT_FALSE(armed(work(stream)));
    streams.gate_opened(call, function);
    EXPECT_TRUE(armed(work(stream)));
}

TEST_F(StreamsTest, NotBeingArmedSpreadsAlongEventsAndTheLegacyStream) {
    const StreamRef one = non_blocking(0x100);
    const StreamRef two = blocking(0x200);
    const StreamRef three = blocking(0x300);
    EXPECT_TRUE(armed(work(three)));
    gate(one);
    record(one);
    wait(two);
    const Ticket second = work(two);
    const Ticket in_legacy = work(legacy());
    const Ticket third = work(three);
    EXPECT_FALSE(armed(second));
    EXPECT_FALSE(armed(in_legacy));
    EXPECT_FALSE(armed(third));
    synchronise(one);
    EXPECT_TRUE(armed(second));
    EXPECT_TRUE(armed(in_legacy));
    EXPECT_TRUE(armed(third));
}

TEST_F(StreamsTest, AnEventThatOthersRecordTellsNothingAndHoldsWhoWaitsForIt) {
    const StreamRef stream = non_blocking(0x100);
    const Ticket before = work(stream);
    streams.event_is_foreign(kEvent);
    record(stream);
    synchronise_event();
    EXPECT_FALSE(known(before));
    wait(stream);
    EXPECT_FALSE(armed(work(stream)));
}

// What a copy would be behind, before it is put in.
TEST_F(StreamsTest, NextIsArmedWhereNoGateIsInFrontOfIt) {
    const auto next_is_armed = [&](StreamRef stream) {
        PendingThen pending;
        streams.look_at_pending(streams.begin(stream), pending);
        return streams.is_next_armed(pending);
    };
    const StreamRef plain = non_blocking(0x100);
    const StreamRef gated = non_blocking(0x200);
    const StreamRef first = blocking(0x300);
    const StreamRef other = blocking(0x400);
    const StreamRef def = legacy();
    EXPECT_TRUE(next_is_armed(plain));
    gate(gated);
    EXPECT_FALSE(next_is_armed(gated));
    EXPECT_TRUE(next_is_armed(plain));
    EXPECT_TRUE(next_is_armed(def));
    gate(first);
    EXPECT_FALSE(next_is_armed(def)) << "waits for the blocking streams";
    EXPECT_TRUE(next_is_armed(other)) << "nothing is in the legacy stream";
    work(def);
    EXPECT_FALSE(next_is_armed(other)) << "behind the legacy stream, which is behind the gate";
    EXPECT_TRUE(next_is_armed(plain));
    synchronise(def);
    synchronise(gated);
    for (const StreamRef stream : {plain, gated, first, other, def}) {
        EXPECT_TRUE(next_is_armed(stream));
    }
    EXPECT_FALSE(next_is_armed(StreamRef{}));
}

}  // namespace
}  // namespace pincheck
