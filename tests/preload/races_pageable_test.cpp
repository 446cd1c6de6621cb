// Pageable sources that the host writes again before it waits (tests/programs/races_pageable.cu), with
// races=watch,pageable; and the same where it waits in time.
#include "watched_races.h"

namespace pincheck::test {
namespace {

class RacesPageable : public testing::TestWithParam<const char*> {
  protected:
    void expect(const std::string& half, Lines races) {
        if (is_filtered()) {
            GTEST_SKIP() << "a seccomp filter is in force: nothing is watched";
        }
        if (!kernel_helps()) {
            GTEST_SKIP() << "the kernel does not tell which pages were written";
        }
        std::ranges::sort(races);
        Command command;
        command.arguments = {program_path(std::string("races_pageable") + GetParam()), half};
        command.options = "threshold=999999:cupti=off:races=watch,pageable:sample=count";
        const FinishedRun finished(command);
        EXPECT_TRUE(finished.outcome().exited(0)) << half << "\n" << describe(finished.outcome());
        const report::Report report = finished.report();
        Lines lines;
        for (const report::RaceSlot& race : report.races) {
            // What the order of calls shows by itself (samples of the contents) is another test's.
            if (race.level == report::RaceLevel::watch) {
                lines.push_back(watched_race_text(report, race));
            }
        }
        std::ranges::sort(lines);
        EXPECT_EQ(lines, races) << half;
    }
    void expect_silence(const std::string& half) { expect(half, {}); }
};
INSTANTIATE_TEST_SUITE_P(Of, RacesPageable, testing::Values("", "_static"),
                         [](const auto& suffix) { return std::string(suffix.param[0] == '\0' ? "shared" : "static"); });

TEST_P(RacesPageable, A7_RefilledBeforeAnyWait) {
    expect("A7",
           {"relies-on-staging 3x upload, pin nothing, between upload and upload, wait wait_for, 0-65536 of 65536"});
    expect_silence("A7_waited");
}
TEST_P(RacesPageable, OneByte) {
    expect(
        "one_byte",
        {"relies-on-staging 1x upload, pin nothing, between upload and wait_for, wait wait_for, 20416-24512 of 65536"});
    expect_silence("one_byte_waited");
}
TEST_P(RacesPageable, ABufferThatIsNothingButEdges) {
    expect("small",
           {"relies-on-staging 1x upload, pin nothing, between upload and wait_for, wait wait_for, 39-40 of 40"});
    expect_silence("small_waited");
}
TEST_P(RacesPageable, NeighboursOnItsPagesAreNotTheSource) {
    expect_silence("neighbours");
}
TEST_P(RacesPageable, MemoryThatIsTakenAway) {
    expect("unmapped",
           {"relies-on-staging 1x upload, pin nothing, between nothing and nothing, wait nothing, 0-65536 of "
            "65536, released"});
    expect("moved", {"relies-on-staging 1x upload, pin nothing, between nothing and nothing, wait nothing, 0-65536 of "
                     "65536, released"});
}
TEST_P(RacesPageable, WhatIsNotWatchedIsLeftAlone) {
    expect_silence("on_the_stack");
    expect_silence("fork_while_watched");
    expect_silence("many_threads");
}
TEST_P(RacesPageable, RegisteredWhileItIsWatched) {
    expect("registered_meanwhile",
           {"source-overwritten-in-flight 1x upload, pin lock_pages, between upload and wait_for, "
            "wait wait_for, 0-4096 of 65536"});
    expect_silence("registered_meanwhile_waited");
}

// Unless it is asked for.
TEST_P(RacesPageable, IsAnOption) {
    for (const char* half : {"A7", "one_byte"}) {
        Command command;
        command.arguments = {program_path(std::string("races_pageable") + GetParam()), half};
        command.options = "threshold=999999:cupti=off:races=watch:sample=count";
        const report::Report report = FinishedRun(command).report();
        for (const report::RaceSlot& race : report.races) {
            EXPECT_EQ(race.level, report::RaceLevel::order) << half;
        }
    }
}
// Where the device reads pageable memory by itself nothing is staged.
TEST_P(RacesPageable, NotWhereTheDeviceReachesPageableMemory) {
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force: nothing is watched";
    }
    Command command;
    command.arguments = {program_path(std::string("races_pageable") + GetParam()), "one_byte"};
    command.options = "threshold=999999:cupti=off:races=watch,pageable:sample=count";
    command.environment["SIMCUDA_PAGEABLE_ACCESS"] = "1";
    const report::Report report = FinishedRun(command).report();
    EXPECT_EQ(report.races.size(), 0u);
    std::set<std::string> told;
    for (const report::CoverageRecord& record : report.coverage) {
        if (record.kind == report::CoverageKind::races) {
            told.insert(report.strings.at(record.text));
        }
    }
    EXPECT_TRUE(told.contains("no pageable: the device reads such memory by itself")) << testing::PrintToString(told);
}

}  // namespace
}  // namespace pincheck::test
