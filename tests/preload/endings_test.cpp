// However a program ends, the report is complete up to its last snapshot, and the program ends as without the tool
// (K4). What must be in the file is looked for before the program may go on; no sleep decides.
#include <gtest/gtest.h>

#include <csignal>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

Command ending(const std::string& how, const std::string& program = "endings") {
    Command command;
    command.arguments = {program_path(program), how};
    return command;
}

bool has_all_30(const Report& report) {
    return copies(report, Direction::host_to_device).calls == 30;
}
bool has_first_20(const Report& report) {
    return copies(report, Direction::host_to_device).calls == 20;
}

void expect_15_of_each(const Report& report) {
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned), (Totals{15, 0, 15 * 4096, 0}));
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 15u);
}

// Ends that run the exit handlers.
class GentleEnding : public testing::TestWithParam<const char*> {};

TEST_P(GentleEnding, K4_ReportIsCompleteAndSaysEnded) {
    const FinishedRun run(ending(GetParam()));
    const FinishedRun plain(ending(GetParam()).without_tool());
    EXPECT_EQ(run.outcome().status_text(), plain.outcome().status_text()) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, plain.outcome().out);
    EXPECT_EQ(run.outcome().err, plain.outcome().err);
    const Report report = run.report();
    expect_15_of_each(report);
    EXPECT_EQ(report.header.state, FileState::ended);
    EXPECT_EQ(losses_text(report), "");
}

INSTANTIATE_TEST_SUITE_P(By, GentleEnding, testing::Values("return", "exit", "static"),
                         [](const auto& of_test) { return std::string(of_test.param); });

TEST(ThreadExit, K4_ExitFromAnotherThread) {
    const FinishedRun run(ending("thread-exit"));
    EXPECT_TRUE(run.outcome().exited(7)) << describe(run.outcome());
    expect_15_of_each(run.report());
}

// Ends that do not: the file has what the last snapshot saw.
struct Sudden {
    const char* how;
    int code;    // exit status, or
    int signal;  // the signal that killed
};

class SuddenEnding : public testing::TestWithParam<Sudden> {};

TEST_P(SuddenEnding, K4_ReportHasEverythingUpToTheLastSnapshot) {
    const TemporaryFolder folder;
    Running running(ending(GetParam().how), folder.path());
    ASSERT_TRUE(running.wait_for_line("ready"));
    EXPECT_TRUE(report_becomes(folder.path(), has_first_20));
    running.say("go\n");
    ASSERT_TRUE(running.wait_for_line("ready"));
    EXPECT_TRUE(report_becomes(folder.path(), has_all_30));
    running.say("go\n");
    if (std::string(GetParam().how) == "hang") {
        running.signal(GetParam().signal);
    }
    const Outcome outcome = running.wait();
    EXPECT_TRUE(GetParam().signal != 0 ? outcome.killed_by(GetParam().signal) : outcome.exited(GetParam().code))
        << describe(outcome);
    const auto files = report_files_in(folder.path());
    ASSERT_EQ(files.size(), 1u);
    const ReadResult result = read_report(files.front().string());
    ASSERT_EQ(result.error, ReadError::none) << result.message;
    expect_15_of_each(result.report);
    EXPECT_EQ(result.report.problems, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(By, SuddenEnding,
                         testing::Values(Sudden{"_exit", 7, 0}, Sudden{"quick_exit", 7, 0}, Sudden{"abort", 0, SIGABRT},
                                         Sudden{"hang", 0, SIGKILL}, Sudden{"hang", 0, SIGTERM}),
                         [](const testing::TestParamInfo<Sudden>& of_test) {
                             const std::string how = of_test.param.how;
                             return how != "hang" ? how : of_test.param.signal == SIGKILL ? "sigkill" : "sigterm";
                         });

TEST(SuddenEnding, K4_StateStaysRunningAfterSigkill) {
    const TemporaryFolder folder;
    Running running(ending("hang"), folder.path());
    ASSERT_TRUE(running.wait_for_line("ready"));
    ASSERT_TRUE(report_becomes(folder.path(), has_first_20));
    running.signal(SIGKILL);
    EXPECT_TRUE(running.wait().killed_by(SIGKILL));
    const ReadResult result = read_report(report_files_in(folder.path()).at(0).string());
    EXPECT_EQ(result.report.header.state, FileState::running);
}

// A file that is there can be read, however early the program ended.
TEST(SuddenEnding, K4_EndRightAfterTheFirstCallLeavesAReadableReport) {
    for (int i = 0; i < 20; ++i) {
        const FinishedRun run(ending("at-once"));
        ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
        for (const auto& file : run.report_files()) {
            const ReadResult result = read_report(file.string());
            ASSERT_EQ(result.error, ReadError::none) << result.message;
        }
    }
}

TEST(Exec, K3_NewImageOfTheSamePidHasItsOwnFile) {
    const TemporaryFolder folder;
    Running running(ending("exec"), folder.path());
    ASSERT_TRUE(running.wait_for_line("ready"));
    running.say("go\n");
    ASSERT_TRUE(running.wait_for_line("ready"));
    EXPECT_TRUE(report_becomes(folder.path(), has_all_30));
    running.say("go\n");
    ASSERT_TRUE(running.wait_for_line("ready"));  // the new image's
    running.say("go\n");
    const Outcome outcome = running.wait();
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    const auto files = report_files_in(folder.path());
    ASSERT_EQ(files.size(), 2u);
    for (const auto& file : files) {
        const ReadResult result = read_report(file.string());
        ASSERT_EQ(result.error, ReadError::none) << result.message;
        expect_15_of_each(result.report);
        EXPECT_EQ(result.report.header.pid, static_cast<std::uint32_t>(running.pid()));
    }
}

TEST(Threads, ManyShortThreadsReuseSlotsAndLoseNothing) {
    Command command;
    command.arguments = {program_path("many_threads")};
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls, 8u * 64 * 4);
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 8u * 64 * 4);
    // 65 at a time; ended ones keep their slots to themselves for a while before these are used again.
    EXPECT_LE(report.threads.size(), 65u + 64u);
    std::uint64_t used = 0;
    for (const ThreadSlot& slot : report.threads) {
        used += slot.threads;
    }
    EXPECT_EQ(used, 513u);
    // Device times may be: more threads come and go than CUPTI has buffers for.
    EXPECT_EQ(losses_text(report, false), "");
    EXPECT_LT(std::filesystem::file_size(run.report_files().at(0)), 4u << 20);
}

TEST(Threads, CancelledInsideACopyAndEndedWhileOthersCopy) {
    Command command;
    command.arguments = {program_path("cancelled_thread")};
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(3)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "cancelled 1\n");
    EXPECT_EQ(run.report().problems, std::vector<std::string>{});
}

}  // namespace
}  // namespace pincheck::test
