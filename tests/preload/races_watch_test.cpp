// Buffers that the processor writes while their copy is in flight (tests/programs/races_watch.cu), found by the
// kernel's record of written pages and, where a container forbids that, by checksums; and the same programs where they
// wait in time. Whether the device had finished by then plays no part.
#include "watched_races.h"

namespace pincheck::test {
namespace {

class RacesWatch : public testing::TestWithParam<const char*> {
  protected:
    std::string program() const { return GetParam(); }

    // By the kernel's help, by checksum. Behind a container's filter nothing is.
    void expect(const std::string& half, Lines kernel, Lines checksum) {
        std::ranges::sort(kernel);
        std::ranges::sort(checksum);
        WatchedRun run;
        run_watched(run, program(), half);
        EXPECT_EQ(run.lines, is_filtered() ? Lines() : kernel_helps() ? kernel : checksum) << half;
        WatchedRun confined;
        if (run_watched(confined, program(), half, in_a_container())) {
            EXPECT_EQ(confined.lines, Lines()) << half << ", confined";
        }
    }
    void expect_silence(const std::string& half) { expect(half, {}, {}); }
};
INSTANTIATE_TEST_SUITE_P(Of, RacesWatch, testing::Values("races_watch", "races_watch_static"),
                         [](const auto& program) { return std::string(program.param); });

TEST_P(RacesWatch, B1_StoreBeforeTheWaitThatCameTooLate) {
    expect("B1",
           {"source-overwritten-in-flight 3x upload, pin pinned_floats, between upload and wait_for_event, wait "
            "wait_for_event, 0-4096 of 40000"},
           {"source-overwritten-in-flight 3x upload, pin pinned_floats, between upload and wait_for_event, wait "
            "wait_for_event, 0-40000 of 40000, by checksum"});
    expect_silence("B1_waited");
}
// Only the next upload looked at the memory again, by protecting it; the wait came after that.
TEST_P(RacesWatch, B2_BufferThatAnAllocatorPinned) {
    expect("B2",
           {"source-overwritten-in-flight 2x upload, pin pinned_floats, between upload and upload, wait wait_for, "
            "0-40000 of 40000"},
           {"source-overwritten-in-flight 2x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "0-40000 of 40000, by checksum"});
    expect_silence("B2_waited");
}
// 7.0F differs from 0 in its upper two bytes. The last page of 10,000 floats is shared, and so are those of 10.
TEST_P(RacesWatch, B3_TheLastElement) {
    expect("B3_10",
           {"source-overwritten-in-flight 1x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "38-40 of 40"},
           {"source-overwritten-in-flight 1x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "0-40 of 40, by checksum"});
    expect("B3_10000",
           {"source-overwritten-in-flight 1x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "39998-40000 of 40000"},
           {"source-overwritten-in-flight 1x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "0-40000 of 40000, by checksum"});
}
// The system call succeeds: the program sees to that. Random bytes at both ends of the edge page may be what was there.
TEST_P(RacesWatch, B4_ASystemCallWrites) {
    WatchedRun run;
    run_watched(run, program(), "B4");
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force";
    }
    ASSERT_EQ(run.report.races.size(), 1u);
    const report::RaceSlot& race = run.report.races.front();
    EXPECT_LT(race.begin, 8u);
    EXPECT_GT(race.end, 36864u);
    WatchedRun confined;
    if (run_watched(confined, program(), "B4", in_a_container())) {
        EXPECT_EQ(confined.lines, Lines());
    }
    expect_silence("B4_waited");
}
// Nothing is freed as far as CUDA knows. The block begins within a page.
TEST_P(RacesWatch, D2_ABlockOfASlabIsHandedOutAgain) {
    expect("D2",
           {"source-overwritten-in-flight 1x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "70-72 of 40000"},
           {"source-overwritten-in-flight 1x upload, pin pinned_floats, between upload and wait_for, wait wait_for, "
            "0-40000 of 40000, by checksum"});
    expect_silence("D2_waited");
}
// What the device writes cannot be told by a checksum.
TEST_P(RacesWatch, ResultsThatAreWrittenBeforeTheyAreThere) {
    expect("written_result",
           {"destination-overwritten-in-flight 1x download, pin pinned_floats, between download and wait_for, wait "
            "wait_for, 16384-20480 of 40000"},
           {});
    expect_silence("written_result_waited");
}
// All but the first two refills, by two buffers.
TEST_P(RacesWatch, L6_WrongWhenTheEventIsRecordedBeforeTheCopy) {
    WatchedRun run;
    run_watched(run, program(), "event_before_copy");
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force";
    }
    std::uint64_t count = 0;
    for (const report::RaceSlot& race : run.report.races) {
        EXPECT_EQ(race.rule, report::RaceRule::source_overwritten_in_flight);
        EXPECT_EQ(caller_of_site(run.report, race.copy_site), "upload");
        EXPECT_EQ(caller_of_site(run.report, race.pin_site), "pinned_floats");
        EXPECT_EQ(race.begin, 0u);
        EXPECT_NE(race.flags & report::kRaceEarlyEvent, 0);
        count += race.count;
    }
    EXPECT_EQ(count, 6u) << testing::PrintToString(run.lines);
}

// ---- Legal

TEST_P(RacesWatch, L1_AHostFunctionFillsTheSource) {
    expect_silence("L1");
    WatchedRun run;
    run_watched(run, program(), "L1");
    EXPECT_EQ(run.unwatched(), is_filtered() ? 0u : 1u) << "not armed, and said so";
}
TEST_P(RacesWatch, L2_AHostFunctionUsesTheResult) {
    expect_silence("L2");
}
TEST_P(RacesWatch, L5_NeighboursAndCopiesOfOneBuffer) {
    expect_silence("L5");
}
TEST_P(RacesWatch, L6_DoubleBufferWhoseFirstWaitsAreForNothing) {
    expect_silence("L6");
}
TEST_P(RacesWatch, AnotherThreadWaits) {
    expect_silence("other_thread_waits");
}
TEST_P(RacesWatch, K10_RegisteredMemoryBesideLiveHeap) {
    expect_silence("K10");
}

// The silent halves are watched indeed: as many copies as they make, but those behind host functions.
TEST_P(RacesWatch, SilentHalvesAreWatched) {
    for (const char* half : {"B1_waited", "B2_waited", "B4_waited", "D2_waited", "L5", "L6", "other_thread_waits"}) {
        WatchedRun run;
        run_watched(run, program(), half);
        EXPECT_EQ(losses_text(run.report), "") << half;
    }
}

// What is in flight ends with its context, and page-locked memory goes with it (tests/programs/races_reuse.cu).
TEST(RacesWatchContexts, CopiesEndWithTheirContext) {
    for (const char* program : {"races_reuse", "races_reuse_static"}) {
        for (const char* half : {"after_reset", "after_release"}) {
            WatchedRun run;
            run_watched(run, program, half);
            EXPECT_EQ(run.lines, Lines()) << program << " " << half;
        }
    }
}

// ---- The option

TEST(RacesWatchOption, WeakerLevelsSeeNoneOfIt) {
    for (const char* half : {"B1", "B3_10", "B4", "D2", "event_before_copy"}) {
        for (const char* options : {"races=order", "races=off"}) {
            WatchedRun run;
            run_watched(run, "races_watch", half, {}, options);
            EXPECT_EQ(run.lines, Lines()) << half << " " << options;
        }
    }
}

// Such a device writes its results through the page tables that the marks are in, and what is taken from the host is
// taken from it.
TEST_P(RacesWatch, NothingIsWatchedWhereTheDeviceGoesThroughTheHostsPageTables) {
    for (const std::string level : {"watch", "trap"}) {
        Command command;
        command.arguments = {program_path(program()), "B1"};
        command.options = "threshold=999999:cupti=off:sample=count:races=" + level;
        command.environment["SIMCUDA_HOST_PAGE_TABLES"] = "1";
        const FinishedRun finished(command);
        EXPECT_TRUE(finished.outcome().exited(0)) << describe(finished.outcome());
        const report::Report report = finished.report();
        EXPECT_EQ(report.races.size(), 0u) << level;
        std::string last;
        for (const report::CoverageRecord& record : report.coverage) {
            last = record.kind == report::CoverageKind::races ? report.strings.at(record.text) : last;
            EXPECT_NE(record.kind, report::CoverageKind::watched_copies) << level << ": some were watched";
        }
        EXPECT_EQ(last, is_filtered() ? last : "order: the device goes through the host's page tables") << level;
    }
}

}  // namespace
}  // namespace pincheck::test
