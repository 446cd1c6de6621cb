// Programs that are awkward to watch (tests/programs/races_watch_hostile.cpp): they go on as without the tool, and what
// cannot be watched any more is said.
#include "watched_races.h"

namespace pincheck::test {
namespace {

class HostileToWatching : public testing::Test {
  protected:
    // Runs the half with and without the tool; `run_` is the one with.
    void run(const std::string& half, std::vector<std::string> before = {}) {
        Command without;
        without.arguments = std::move(before);
        without.arguments.push_back(program_path("races_watch_hostile"));
        without.arguments.push_back(half);
        const FinishedRun plain(without.without_tool());
        if (plain.outcome().exited(77)) {
            GTEST_SKIP() << plain.outcome().out;
        }
        ASSERT_TRUE(plain.outcome().exited(0)) << describe(plain.outcome());
        without.arguments.resize(without.arguments.size() - 2);
        ASSERT_TRUE(run_watched(run_, "races_watch_hostile", half, without.arguments));
        EXPECT_EQ(run_.out, plain.outcome().out) << half;
    }
    const Lines& lines() const { return run_.lines; }
    const report::Report& report() const { return run_.report; }
    std::uint64_t unwatched() const { return run_.unwatched(); }

    WatchedRun run_;
};

const Lines kByChecksum = {
    "source-overwritten-in-flight 2x upload, pin pinned, between upload and wait_for_stream, wait wait_for_stream, "
    "0-65536 of 65536, by checksum"};

// ---- Memory

// One protected huge page may count as written as a whole.
TEST_F(HostileToWatching, HugePages) {
    run("huge_pages");
    if (IsSkipped() || !kernel_helps()) {
        return;  // four megabytes are too many for a checksum
    }
    ASSERT_EQ(report().races.size(), 1u) << testing::PrintToString(lines());
    const report::RaceSlot& race = report().races.front();
    EXPECT_EQ(race.rule, report::RaceRule::source_overwritten_in_flight);
    EXPECT_EQ(race.count, 3u);
    EXPECT_EQ(race.copy_bytes, 4u << 20);
    EXPECT_LE(race.begin, 4096u);
    EXPECT_GE(race.end, 8192u);
    EXPECT_LE(race.end, 2u << 20);
    EXPECT_EQ(caller_of_site(report(), race.pin_site), "lock_pages");
}
TEST_F(HostileToWatching, HugePagesWrittenAfterTheWait) {
    run("huge_pages_waited");
    EXPECT_EQ(lines(), Lines());
}
TEST_F(HostileToWatching, K10_ARegisteredVariableOnTheStack) {
    run("stack_buffer");
    EXPECT_EQ(lines(), Lines());
}
// Nobody released it as far as CUDA knows: there is no other party.
TEST_F(HostileToWatching, RegisteredMemoryUnmappedInFlight) {
    run("unmapped");
    if (kernel_helps()) {
        ASSERT_EQ(report().races.size(), 1u);
        const report::RaceSlot& race = report().races.front();
        EXPECT_EQ(race.rule, report::RaceRule::released_in_flight);
        EXPECT_EQ(race.flags, report::kRaceReleased);
        EXPECT_EQ(race.count, 1u);
        EXPECT_EQ(caller_of_site(report(), race.copy_site), "upload");
        EXPECT_EQ(caller_of_site(report(), race.pin_site), "lock_pages");
        EXPECT_EQ(race.other_site, 0u);
    }
}
TEST_F(HostileToWatching, RegisteredMemoryUnmappedAfterTheWait) {
    run("unmapped_waited");
    EXPECT_EQ(lines(), Lines());
}

// ---- Other users of what watching needs

// The program's own protection works as ever, also while a copy is in flight; that memory is not watched.
TEST_F(HostileToWatching, K10_AProgramThatHasTheMemoryUnderItsOwnUserfaultfd) {
    run("own_userfaultfd");
    EXPECT_EQ(lines(), Lines());
    if (!IsSkipped() && kernel_helps()) {
        EXPECT_EQ(unwatched(), 4u);
    }
}
TEST_F(HostileToWatching, AFilterThatEndsTheProcessForUnusualCalls) {
    run("filter_first");
    EXPECT_EQ(lines(), Lines());
}
TEST_F(HostileToWatching, AFilterThatEndsTheProcessForReadingMemory) {
    run("filter_first_strict");
    EXPECT_EQ(lines(), Lines());
}
// Not so yet: the range is taken already, and the program's own registration is refused with EBUSY.
TEST_F(HostileToWatching, DISABLED_AProgramThatPutsPageLockedMemoryUnderItsOwnUserfaultfd) {
    run("own_userfaultfd_later");
}
TEST_F(HostileToWatching, AFilterBeforeTheProgram) {
    run("filter_first", in_a_container());
    EXPECT_EQ(lines(), Lines());
}
TEST_F(HostileToWatching, AFilterThatComesWhileACopyIsWatched) {
    run("filter_later");
}

// ---- Processes and descriptors

TEST_F(HostileToWatching, K3_AForksChildWritesItsOwnMemory) {
    run("forked");
    EXPECT_EQ(lines(), Lines());
    EXPECT_EQ(losses_text(report()), "");
}
TEST_F(HostileToWatching, K3_TheParentsStoreAfterAForkIsSeen) {
    run("forked_early");
    if (is_filtered()) {
        return;
    }
    ASSERT_EQ(report().races.size(), 1u);
    EXPECT_EQ(report().races.front().count, 1u);
    if (kernel_helps()) {
        EXPECT_EQ(lines(), Lines{"source-overwritten-in-flight 1x upload, pin pinned, between upload and "
                                 "wait_for_stream, wait wait_for_stream, 12288-16384 of 65536"});
    }
}
// What was watched is not known any more, and said to be so. From then on checksums do.
TEST_F(HostileToWatching, ClosingAllDescriptors) {
    run("descriptors_closed");
    if (kernel_helps()) {
        EXPECT_EQ(lines(), kByChecksum);
        EXPECT_EQ(unwatched(), 1u);
    }
}
// Where nothing is watched, nothing is opened for it.
TEST(WatchingDescriptors, OnlyWhereThereIsWatching) {
    for (const auto& [options, open] :
         {std::pair("races=off", false), std::pair("races=order", false), std::pair("races=watch", true)}) {
        WatchedRun run;
        run_watched(run, "races_watch_hostile", "open_descriptors", {}, options);
        EXPECT_EQ(run.out, open && kernel_helps() ? "userfaultfd 1 pagemap 1\n" : "userfaultfd 0 pagemap 0\n")
            << options;
    }
}

// ---- Signals

TEST_F(HostileToWatching, K10_AProgramWithItsOwnFaultHandlerThatReadsIntoMemoryInFlight) {
    run("own_handler");
    EXPECT_NE(run_.out.find("handled 3, read 65336 of 65336"), std::string::npos) << run_.out;
    ASSERT_EQ(report().races.size(), is_filtered() ? 0u : 1u);
    EXPECT_TRUE(is_filtered() || report().races.front().count == 3u);
}

}  // namespace
}  // namespace pincheck::test
