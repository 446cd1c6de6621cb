// Accesses to buffers in flight, caught at the instruction or the system call that makes them (tests/programs/
// races_trap.cu, and those of the level below), and the same programs where they wait in time.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "interpose/write_faults.h"
#include "races_of_report.h"
#include "watched_races.h"

namespace pincheck::test {
namespace {

// Stores into sources take the permission for faults from within the kernel; without it the kernel's record has to do.
bool stores_are_caught() {
    static const bool caught = [] {
        WriteFaults faults;
        return faults.open();
    }();
    return caught;
}

// Without the count, which is added up: a compiler may make several places of one.
//
// destination-read-in-flight download by read_result, wait wait_for, 32768-32769 of 65536
std::string trapped_text(const report::Report& report, const report::RaceSlot& race) {
    static const std::set<std::string> names = {"upload",
                                                "await",
                                                "download",
                                                "wait_for",
                                                "wait_for_event",
                                                "read_result",
                                                "store",
                                                "fill_all",
                                                "are_equal",
                                                "save",
                                                "grow",
                                                "read_past_the_library",
                                                "read_file",
                                                "helper",
                                                "B1",
                                                "B2",
                                                "B3",
                                                "B4",
                                                "D2",
                                                "written_result",
                                                "event_before_copy"};
    const auto function = [&](std::uint32_t id) -> std::string {
        const auto site = report.sites.find(id);
        if (site == report.sites.end()) {
            return id == 0 ? "nobody" : "?";
        }
        for (const NamedFrame& frame : stack_of(report, site->second.record)) {
            const std::string bare = frame.function.substr(frame.function.rfind(':') + 1);
            if (names.contains(bare)) {
                return bare;
            }
        }
        return "elsewhere:\n" + stack_text(report, site->second.record);
    };
    std::string text =
        std::string(pincheck::name(race.rule)) + " " + function(race.copy_site) + " by " + function(race.other_site);
    if (race.call != 0) {
        text += " in " + report.strings.at(race.call);
    }
    text += ", wait " + function(race.wait_site) + ", " + std::to_string(race.begin) + "-" + std::to_string(race.end) +
            " of " + std::to_string(race.copy_bytes);
    text += race.level != report::RaceLevel::trap ? ", level " + std::string(pincheck::name(race.level)) : "";
    text += (race.flags & report::kRaceReleased) != 0 ? ", released" : "";
    EXPECT_EQ((race.flags & report::kRaceInSystemCall) != 0, race.call != 0);
    return text;
}

struct TrappedRun {
    report::Report report;
    Outcome outcome;
    Lines lines;  // sorted

    std::vector<std::string> level() const {
        std::vector<std::string> texts;
        for (const report::CoverageRecord& record : report.coverage) {
            if (record.kind == report::CoverageKind::races) {
                texts.push_back(report.strings.at(record.text));
            }
        }
        return texts;
    }
};

Command trapping(const std::string& program, const std::string& half) {
    Command command;
    command.arguments = {program_path(program), half};
    command.preload.push_back(trap_library());
    command.options = "threshold=999999:cupti=off:races=trap";
    return command;
}

TrappedRun run_trapped(const Command& command) {
    TrappedRun run;
    const FinishedRun finished(command);
    run.outcome = finished.outcome();
    run.report = finished.report();
    std::map<std::string, std::uint64_t> counts;
    for (const report::RaceSlot& race : run.report.races) {
        EXPECT_LE(race.first_ns, race.last_ns);
        EXPECT_EQ(race.corrupting + race.latent, 0u);
        counts[trapped_text(run.report, race)] += race.count;
    }
    for (const auto& [text, count] : counts) {
        const std::size_t behind_rule = text.find(' ') + 1;
        run.lines.push_back(text.substr(0, behind_rule) + std::to_string(count) + "x " + text.substr(behind_rule));
    }
    std::ranges::sort(run.lines);
    return run;
}

class RacesTrap : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (is_filtered()) {
            GTEST_SKIP() << "a seccomp filter is in force: nothing is trapped";
        }
    }
    void expect(const std::string& program, const std::string& half, Lines lines) {
        std::ranges::sort(lines);
        const TrappedRun run = run_trapped(trapping(program + GetParam(), half));
        EXPECT_TRUE(run.outcome.exited(0)) << half << "\n" << describe(run.outcome);
        EXPECT_EQ(run.outcome.err, "") << half;
        EXPECT_EQ(run.lines, lines) << half;
        ASSERT_EQ(run.level().size(), 1u) << half;
        EXPECT_EQ(run.level()[0].substr(0, 4), "trap") << half;
        EXPECT_EQ(run.level()[0] == "trap", stores_are_caught()) << half;
    }
    void expect_silence(const std::string& program, const std::string& half) { expect(program, half, {}); }
};
INSTANTIATE_TEST_SUITE_P(Of, RacesTrap, kRuntimes, runtime_name);

#define NEEDS_STORES()                                                                         \
    if (!stores_are_caught()) {                                                                \
        GTEST_SKIP() << "userfaultfd is not permitted here for faults from within the kernel"; \
    }

TEST_P(RacesTrap, C1_AResultIsReadByAnotherPointerBeforeTheWait) {
    expect("races_trap", "C1",
           {"destination-read-in-flight 2x download by read_result, wait await, 32768-32769 of 65536"});
    expect_silence("races_trap", "C1_waited");
}
TEST_P(RacesTrap, C2_TakingAddressesIsNoAccess) {
    expect_silence("races_trap", "C2");
}
TEST_P(RacesTrap, C3_AnotherThreadWritesTheResultToAFile) {
    expect("races_trap", "C3",
           {"destination-read-in-flight 1x download by save in write, wait await, 0-65536 of 65536"});
    expect_silence("races_trap", "C3_waited");
}
// The same on a slow and on a fast device: what was compared was in flight, whatever the device had done.
TEST_P(RacesTrap, C4_TwoResultsAreComparedAtOnce) {
    for (const char* gigabytes_per_second : {"0.05", "1000"}) {
        Command command = trapping(std::string("races_trap") + GetParam(), "C4");
        command.environment["SIMCUDA_D2H_GBPS"] = gigabytes_per_second;
        const TrappedRun run = run_trapped(command);
        EXPECT_TRUE(run.outcome.exited(0)) << describe(run.outcome);
        ASSERT_EQ(run.lines.size(), 1u);
        EXPECT_EQ(run.lines[0].substr(0, run.lines[0].find(", ")),
                  "destination-read-in-flight 2x download by are_equal");
    }
    expect_silence("races_trap", "C4_waited");
}
TEST_P(RacesTrap, D3_AVectorGrowsBetweenTwoDownloadsIntoIt) {
    const TrappedRun run = run_trapped(trapping(std::string("races_trap") + GetParam(), "D3"));
    ASSERT_EQ(run.lines.size(), 2u);
    EXPECT_EQ(run.lines[0].substr(0, run.lines[0].find(", ")), "destination-read-in-flight 1x download by grow");
    EXPECT_EQ(run.lines[1],
              "result-never-awaited 1x download by grow, wait nobody, 0-65536 of 65536, level order, "
              "released");
    expect_silence("races_trap", "D3_waited");
}
TEST_P(RacesTrap, E2_AFreeOfOtherMemoryIsNoPromise) {
    expect("races_trap", "E2", {"destination-read-in-flight 1x download by read_result, wait await, 0-1 of 65536"});
    expect_silence("races_trap", "E2_waited");
}

TEST_P(RacesTrap, B1_TheStoreIsNamed) {
    NEEDS_STORES();
    expect("races_watch", "B1",
           {"source-overwritten-in-flight 3x upload by helper, wait wait_for_event, 0-1 of 40000"});
    expect_silence("races_watch", "B1_waited");
}
TEST_P(RacesTrap, B3_TheLastElement) {
    NEEDS_STORES();
    expect("races_watch", "B3_10", {"source-overwritten-in-flight 1x upload by B3, wait wait_for, 36-37 of 40"});
    expect("races_watch", "B3_10000",
           {"source-overwritten-in-flight 1x upload by B3, wait wait_for, 39996-39997 of 40000"});
}
TEST_P(RacesTrap, B4_TheSystemCallIsNamed) {
    NEEDS_STORES();
    expect("races_trap", "B4",
           {"source-overwritten-in-flight 1x upload by read_file in read, wait await, 0-4096 of 65536"});
    expect("races_trap", "B4_past_the_library",
           {"source-overwritten-in-flight 1x upload by nobody in read, wait await, 0-1 of 65536"});
    expect_silence("races_watch", "B4_waited");
}
TEST_P(RacesTrap, D2_ABlockOfASlabIsHandedOutAgain) {
    NEEDS_STORES();
    expect("races_watch", "D2", {"source-overwritten-in-flight 1x upload by D2, wait wait_for, 68-69 of 40000"});
    expect_silence("races_watch", "D2_waited");
}
TEST_P(RacesTrap, AResultIsWritten) {
    expect("races_watch", "written_result",
           {"destination-overwritten-in-flight 1x download by written_result, wait wait_for, 20000-20001 of 40000"});
    expect_silence("races_watch", "written_result_waited");
}
TEST_P(RacesTrap, AnEventThatWasRecordedBeforeTheCopyIsNoWait) {
    NEEDS_STORES();
    const TrappedRun run = run_trapped(trapping(std::string("races_watch") + GetParam(), "event_before_copy"));
    ASSERT_FALSE(run.lines.empty());
    for (const std::string& line : run.lines) {
        EXPECT_NE(line.find("x upload by event_before_copy, wait "), std::string::npos) << line;
    }
}

TEST_P(RacesTrap, ALargeSourceThatIsFilledAgainIsReleasedAfterSome) {
    NEEDS_STORES();
    const TrappedRun run = run_trapped(trapping(std::string("races_trap") + GetParam(), "all_of_it"));
    ASSERT_EQ(run.lines.size(), 1u);
    EXPECT_EQ(run.lines[0].substr(0, run.lines[0].find(", ")), "source-overwritten-in-flight 1x upload by fill_all");
}
TEST_P(RacesTrap, NeighboursAreNotBlamed) {
    expect_silence("races_trap", "neighbours");
}
TEST_P(RacesTrap, AStoreBehindANeighboursIsFoundByTheBytes) {
    NEEDS_STORES();
    expect("races_trap", "behind_a_neighbour",
           {"source-overwritten-in-flight 1x upload by nobody, wait await, 100-101 of 1000, level watch"});
}
TEST_P(RacesTrap, ManyThreadsAtOnePage) {
    const TrappedRun run = run_trapped(trapping(std::string("races_trap") + GetParam(), "many_threads"));
    EXPECT_TRUE(run.outcome.exited(0)) << describe(run.outcome);
    std::set<std::string> parties;
    for (const std::string& line : run.lines) {
        parties.insert(line.substr(0, line.find(", ")));
    }
    EXPECT_TRUE(parties.contains("destination-overwritten-in-flight 20x download by store"));
    EXPECT_EQ(parties.contains("source-overwritten-in-flight 20x upload by store"), stores_are_caught());
    EXPECT_EQ(parties.size(), stores_are_caught() ? 2u : 1u + (run.lines.size() > 1 ? 1u : 0u));
}
TEST_P(RacesTrap, AThreadThatTakesNoSignals) {
    NEEDS_STORES();
    expect("races_trap", "no_signals", {"source-overwritten-in-flight 1x upload by store, wait await, 0-1 of 65536"});
}

TEST_P(RacesTrap, TheProgramsOwnFaultsComeToItsHandler) {
    for (const char* half : {"own_handler_before", "own_handler_later"}) {
        expect("races_trap", half, {"destination-read-in-flight 1x download by read_result, wait await, 0-1 of 65536"});
    }
    const TrappedRun run = run_trapped(trapping(std::string("races_trap") + GetParam(), "own_death"));
    EXPECT_TRUE(run.outcome.killed_by(SIGSEGV)) << describe(run.outcome);
}
TEST_P(RacesTrap, TheProgramMayProtectItsPagesItself) {
    expect_silence("races_trap", "own_protection");
}
TEST_P(RacesTrap, K3_AForksChildGoesOnAsEver) {
    expect_silence("races_trap", "fork_while_armed");
}
TEST_P(RacesTrap, MemoryThatIsUnmappedInFlight) {
    expect("races_trap", "unmapped",
           {"released-in-flight 1x download by nobody, wait nobody, 0-65536 of 65536, level watch, released"});
}

// The host learns through a flag in memory, which is not seen: a note.
TEST_P(RacesTrap, L4_AFlagInMemoryMakesItAPresumption) {
    Command command = trapping(std::string("races") + GetParam(), "L4");
    command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
    const FinishedRun finished(command);
    EXPECT_TRUE(finished.outcome().exited(0)) << describe(finished.outcome());
    const report::Report report = finished.report();
    for (const report::RaceSlot& race : report.races) {
        EXPECT_NE(race.flags & report::kRacePresumed, 0) << trapped_text(report, race);
    }
    EXPECT_TRUE(std::ranges::any_of(report.races, [](const report::RaceSlot& race) {
        return race.rule == report::RaceRule::destination_read_in_flight;
    }));
}

TEST_P(RacesTrap, LegalProgramsAreSilent) {
    for (const char* half : {"L1", "L2", "L5", "L6", "other_thread_waits", "K10"}) {
        expect_silence("races_watch", half);
    }
}

// A kernel holds the copy back until after the read.
class RacesTrapTimes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, RacesTrapTimes, kRuntimes, runtime_name);

TEST_P(RacesTrapTimes, ACopyThatHadNotEndedIsSaidToBeCorrupted) {
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force: nothing is trapped";
    }
    Command command = trapping(std::string("races_trap") + GetParam(), "corrupting");
    command.options = "threshold=999999:races=trap";
    command.environment["SIMCUDA_D2H_GBPS"] = "0.01";  // the clocks of both sides are known to some microseconds
    command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
    const FinishedRun finished(command);
    EXPECT_TRUE(finished.outcome().exited(0)) << describe(finished.outcome());
    const report::Report report = finished.report();
    ASSERT_EQ(report.races.size(), 1u);
    EXPECT_EQ(report.races[0].count, 1u);
    EXPECT_EQ(report.races[0].corrupting, 1u);
    EXPECT_EQ(report.races[0].latent, 0u);
}

// What stands in the way is said, and the level below does its work.
class RacesTrapRefused : public testing::Test {
  protected:
    static void expect(const Command& command, const std::string& reason) {
        const TrappedRun run = run_trapped(command);
        EXPECT_TRUE(run.outcome.exited(0)) << describe(run.outcome);
        const std::vector<std::string> level = run.level();
        ASSERT_EQ(level.size(), 2u) << reason;
        EXPECT_EQ(level[0], "no trap: " + reason);
        if (!is_filtered() && kernel_helps()) {
            EXPECT_EQ(level[1], "watch");
            EXPECT_EQ(run.lines,
                      Lines({"destination-overwritten-in-flight 1x download by nobody, wait wait_for, 16384-20480 of "
                             "40000, level watch"}));
        }
    }
};
TEST_F(RacesTrapRefused, WithoutItsLibrary) {
    Command command = trapping("races_watch", "written_result");
    command.preload.pop_back();
    expect(command, is_filtered() ? "a seccomp filter is in force"
                                  : "libpincheck-trap.so is not preloaded, or is another version");
}
TEST_F(RacesTrapRefused, UnderADebugger) {
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force";
    }
    Command command = trapping("races_watch", "written_result");
    command.arguments.insert(command.arguments.begin(), program_path("traced"));
    expect(command, "a debugger is attached, which would stop at each access");
}
TEST_F(RacesTrapRefused, BehindAContainersFilter) {
    Command command = trapping("races_watch", "written_result");
    command.arguments.insert(command.arguments.begin(), {program_path("confined"), "seccomp"});
    const TrappedRun run = run_trapped(command);
    if (run.outcome.exited(77)) {
        GTEST_SKIP() << run.outcome.out;
    }
    EXPECT_TRUE(run.outcome.exited(0)) << describe(run.outcome);
    ASSERT_EQ(run.level().size(), 2u);
    EXPECT_EQ(run.level()[0], "no trap: a seccomp filter is in force");
    EXPECT_EQ(run.lines, Lines());
}
// Without the permission for faults from within the kernel stores into sources are watched, accesses to results
// trapped.
TEST_F(RacesTrapRefused, AsNobody) {
    if (is_filtered() || geteuid() != 0 || access("/usr/bin/setpriv", X_OK) != 0) {
        GTEST_SKIP() << "takes root, who becomes nobody by setpriv, and no seccomp filter";
    }
    const auto as_nobody = [](const std::string& program, const std::string& half) {
        Command command = trapping(program, half);
        command.arguments.insert(command.arguments.begin(), {"/bin/sh", "-c", "chmod 777 . && exec \"$@\"", "sh",
                                                             "/usr/bin/setpriv", "--reuid=65534", "--clear-groups"});
        return run_trapped(command);
    };
    const TrappedRun read = as_nobody("races_trap", "C1");
    EXPECT_EQ(read.lines,
              Lines({"destination-read-in-flight 2x download by read_result, wait await, 32768-32769 of 65536"}));
    ASSERT_EQ(read.level().size(), 1u);
    EXPECT_TRUE(read.level()[0].starts_with("trap: userfaultfd is not permitted")) << read.level()[0];
    const TrappedRun stored = as_nobody("races_watch", "B1");
    if (kernel_helps()) {
        EXPECT_EQ(stored.lines, Lines({"source-overwritten-in-flight 3x upload by nobody, wait wait_for_event, 0-4096 "
                                       "of 40000, level watch"}));
    }
}
TEST_F(RacesTrapRefused, InAProcessThatUsesIoUring) {
    Command command = trapping("races_watch", "written_result");
    command.arguments.insert(command.arguments.begin(), {program_path("with_io_uring")});
    const TrappedRun run = run_trapped(command);
    if (run.outcome.exited(77)) {
        GTEST_SKIP() << run.outcome.out;
    }
    expect(command, is_filtered() ? "a seccomp filter is in force"
                                  : "the process uses io_uring, whose reads and writes of guarded memory would fail");
}

}  // namespace
}  // namespace pincheck::test
