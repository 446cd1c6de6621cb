// Races that the order of calls shows (tests/programs/races.cu), and the same programs where they wait in time.
#include "races_of_report.h"

namespace pincheck::test {
namespace {

class Races : public RacesOfProgram {
  protected:
    void expect(const std::string& half, Lines races, const std::string& losses = "") {
        RacesOfProgram::expect("races", half, std::move(races), losses);
    }
    void expect_silence(const std::string& half, const std::string& losses = "") { expect(half, {}, losses); }
};
INSTANTIATE_TEST_SUITE_P(Of, Races, kRuntimes, runtime_name);

TEST_P(Races, R1_ResultsThatTheNextStepOverwritesAreNeverAwaited) {
    expect("R1", {"result-never-awaited 4x download -> download, pin pinned, stream other_stream -> other_stream, "
                  "0-65536 of 65536"});
    const report::RaceSlot& race = report().races.front();
    EXPECT_EQ(race.stream, race.other_stream);
    EXPECT_EQ(race.thread, race.other_thread);
    EXPECT_NE(race.address, 0u);
}
TEST_P(Races, R1_ResultsThatAreWaitedForAreNot) {
    expect_silence("R1_waited");
    expect_silence("R1_queried");
}
TEST_P(Races, R1_TheLastResultIsNeverAwaitedWhenTheProgramEndsOrReleasesIt) {
    expect("R1_exit", {"result-never-awaited 1x download -> nobody, pin pinned, stream other_stream -> none, "
                       "0-65536 of 65536, at exit"});
    expect("R1_released", {"result-never-awaited 1x download -> release, pin pinned, stream other_stream -> none, "
                           "0-65536 of 65536, released"});
}
TEST_P(Races, PageLockedMemoryReleasedInFlight) {
    expect("released_upload", {"released-in-flight 1x upload -> release, pin pinned, stream other_stream -> none, "
                               "0-65536 of 65536, released"});
    expect_silence("released_after_wait");
}
TEST_P(Races, E2_FreeingSomethingElseIsNoWait) {
    expect("E2", {"result-never-awaited 1x download -> nobody, pin pinned, stream other_stream -> none, "
                  "0-65536 of 65536, at exit"});
}
TEST_P(Races, S1_OneDeviceRangeInTwoStreamsWithoutOrder) {
    expect("S1", {"unordered-copies 1x download -> clear, stream side_stream -> other_stream, 0-65536 of 65536, "
                  "on the device"});
    EXPECT_NE(report().races.front().stream, report().races.front().other_stream);
}
TEST_P(Races, S1_OneDeviceRangeInTwoStreamsInOrder) {
    expect_silence("S1_ordered");
    expect_silence("S1_legacy");
    expect_silence("S1_pool");
}
TEST_P(Races, OneHostRangeInTwoStreams) {
    expect("overwritten_source",
           {"source-overwritten-in-flight 1x upload -> download, pin pinned, stream side_stream -> "
            "other_stream, 0-65536 of 65536"});
    expect("read_too_early", {"destination-read-in-flight 1x download -> upload, pin pinned, stream side_stream -> "
                              "other_stream, 0-65536 of 65536"});
}
TEST_P(Races, OneHostRangeInOneStream) {
    expect_silence("overwritten_source_ordered");
    expect_silence("through_the_host");
}

// ---- Legal

TEST_P(Races, L1_AHostFunctionFillsTheSourceFirst) {
    expect_silence("L1");
}
// What the host function did with the results is not seen: four of the five may have been read.
TEST_P(Races, L2_AHostFunctionReadsTheResult) {
    expect_silence("L2", kAnyLosses);
}
// Whether the host looked at the flag before it read is not seen: said, as presumed.
TEST_P(Races, L4_AFlagInMemoryTellsThatTheResultIsThere) {
    expect("L4",
           {"result-never-awaited 1x download -> nobody, pin pinned, stream other_stream -> none, 0-65536 of 65536, "
            "presumed, at exit",
            "result-never-awaited 3x download -> download, pin pinned, stream other_stream -> other_stream, "
            "0-65536 of 65536, presumed"});
}
TEST_P(Races, L5_NeighboursAndSharedSources) {
    expect_silence("L5");
}
TEST_P(Races, L6_DoubleBufferWhoseFirstWaitsAreForNothing) {
    expect_silence("L6");
}

// ---- Pageable memory

TEST_P(Races, S2_PageableSourceIsStagedBeforeAHostFunctionFillsIt) {
    expect("S2", {"staged-too-early 1x upload -> nobody, stream other_stream -> none, 0-4096 of 4096"});
    expect_silence("S2_pinned");
    expect_silence("S2_other_memory");
}
TEST_P(Races, M1_ResultsInPageableMemoryRelyOnTheDriversWait) {
    expect("M1",
           {"relies-on-staging 1x download -> next_download, stream other_stream -> other_stream, 0-65536 of 65536",
            "relies-on-staging 1x next_download -> nobody, stream other_stream -> none, 0-65536 of 65536, at exit"});
}
TEST_P(Races, M1_ResultsInPageLockedMemoryAreNeverAwaited) {
    expect("M1_pinned", {"result-never-awaited 1x download -> next_download, pin pinned, stream other_stream -> "
                         "other_stream, 0-65536 of 65536",
                         "result-never-awaited 1x next_download -> nobody, pin pinned, stream other_stream -> none, "
                         "0-65536 of 65536, at exit"});
}
TEST_P(Races, A7_RefilledSourceReliesOnStaging) {
    expect("A7", {"relies-on-staging 4x upload -> upload, stream other_stream -> other_stream, 0-65536 of 65536"});
    expect_silence("A7_waited");
}

// ---- Graphs

TEST_P(Races, D4_AGraphReadsALocalArrayOfAFunctionThatHasReturned) {
    expect("D4", {"graph-buffer-gone 2x capture -> launch_graph, stream other_stream -> none, 0-256 of 256"});
    EXPECT_EQ(report().races.front().graph_launches, 2u);
    expect_silence("D4_alive");
}

// ---- The option

TEST(RacesOff, NothingIsLookedFor) {
    for (const char* half : {"R1", "S1", "D4", "M1", "S2"}) {
        SeenRaces seen;
        run_for_races({"races", half}, seen, "threshold=999999:cupti=off:races=off");
        EXPECT_EQ(seen.lines(), Lines()) << half;
        EXPECT_EQ(losses_text(seen.report), "") << half;
    }
}

}  // namespace
}  // namespace pincheck::test
