// Where the reports go, and that all processes of a job are judged as one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kUploads = {program_path("endings"), "return"};

TEST(RunFolder, NamedByTheUser) {
    const TemporaryFolder folder;
    const std::string place = folder.path() / "deep" / "reports 100%e";
    const FinishedRun run(run_command({"--output", place}, kUploads));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(report_files_in(place).size(), 1u);
    EXPECT_TRUE(has(run.outcome().err, "\nReport          '" + place + "/'\n")) << run.outcome().err;
    // A second job is not mixed into it.
    const FinishedRun again(run_command({"--output", place}, kUploads));
    EXPECT_TRUE(again.outcome().exited(2)) << describe(again.outcome());
    EXPECT_EQ(again.outcome().out, "");
    EXPECT_TRUE(has(again.outcome().err, "already holds reports")) << again.outcome().err;
}
TEST(RunFolder, RelativeIsOfTheStartNotOfWhereTheProgramGoes) {
    const FinishedRun run(run_command({"--output", "out"}, {"/bin/sh", "-c", "cd / && \"$0\" return", kUploads[0]}));
    EXPECT_EQ(report_files_in(run.folder() / "out").size(), 1u) << describe(run.outcome());
}
TEST(RunFolder, RanksShareOneAndJudgeTheirOwn) {
    const TemporaryFolder folder;
    Command command = run_command({"--check", "--output", folder.path()}, kUploads);
    command.environment["PMI_RANK"] = "1";
    EXPECT_TRUE(FinishedRun(command).outcome().exited(1));
    command = run_command({"--check", "--output", folder.path()}, {"/bin/true"});
    command.environment["PMI_RANK"] = "10";
    EXPECT_TRUE(FinishedRun(command).outcome().exited(3));
    EXPECT_EQ(report_files_in(folder.path()).size(), 1u);
}
// In /proc nobody can make a folder, not even root.
TEST(RunFolder, ElseInTheTemporaryFolderWhichIsSaidOnce) {
    Command command = run_command({}, kUploads);
    command.folder = "/proc";
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.report_files().size(), 1u);
    EXPECT_EQ(run.outcome().err.rfind("pincheck: no folder for the reports in /proc: ", 0), 0u) << run.outcome().err;
}
TEST(RunFolder, ElseWhereThePathHasAColon) {
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "a:b");
    Command command = run_command({"--check"}, kUploads);
    command.folder = folder.path() / "a:b";
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    EXPECT_TRUE(fs::is_empty(folder.path() / "a:b"));
    EXPECT_EQ(run.report_files().size(), 1u);
    EXPECT_TRUE(has(run.outcome().err, "':' cannot be written in PINCHECK_OPTIONS")) << run.outcome().err;
}
TEST(RunFolder, OddProgramNames) {
    const TemporaryFolder folder;
    const std::string program = folder.path() / "a:b c%p";
    fs::copy_file(kUploads[0], program);
    const FinishedRun run(run_command({"--check"}, {program, "return"}));
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    EXPECT_EQ(run.report_files().size(), 1u);
}

TEST(RunJob, TwoProcessesAreOneScreen) {
    const FinishedRun run(run_command(
        {"--check"}, {"/bin/sh", "-c", "printf 'go\\n' | \"$0\" return; printf 'go\\n' | \"$0\" return", kUploads[0]}));
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    EXPECT_EQ(run.report_files().size(), 2u);
    EXPECT_EQ(job_folders(run.folder()).size(), 1u);
    std::size_t verdicts = 0;
    for (std::size_t at = 0; (at = run.outcome().err.find("pincheck: FAIL", at)) != std::string::npos; ++at) {
        ++verdicts;
    }
    EXPECT_EQ(verdicts, 1u) << run.outcome().err;
    // The same two places, each twice as often.
    EXPECT_TRUE(has(run.outcome().err, "at 2 sites")) << run.outcome().err;
}
TEST(RunJob, ADaemonIsLeftAlone) {
    const TemporaryFolder folder;
    const fs::path fifo = folder.path() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    // The daemon ends when the test lets it, after the run; its output is not ours to wait for.
    const FinishedRun run(
        run_command({"--check", "--allow-no-cuda"},
                    {"/bin/sh", "-c", "(read line <\"$0\"; echo over >\"$0.done\") >/dev/null 2>&1 </dev/null & exit 0",
                     fifo.string()}));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_FALSE(fs::exists(fifo.string() + ".done"));
    std::ofstream(fifo) << "go\n";
    EXPECT_TRUE(file_gets(fifo.string() + ".done", "over"));
}
TEST(RunJob, OneThatGoesOnWithCudaMeansNoConclusion) {
    const TemporaryFolder folder;
    const fs::path fifo = folder.path() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    // Held open by the test: the other process waits for a line until then.
    const int held = open(fifo.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(held, 0);
    // The program ends only when the other has made its copies and said so.
    const std::string script =
        "\"$0\" return <\"$1\" >\"$1.out\" 2>&1 & until grep -q ready \"$1.out\"; do :; done; exit 0";
    const FinishedRun run(run_command({"--check", "--fail-on", "straddles-registration"},
                                      {"/bin/sh", "-c", script, kUploads[0], fifo.string()}));
    EXPECT_TRUE(run.outcome().exited(3)) << describe(run.outcome());
    EXPECT_TRUE(has(run.outcome().err, "uses CUDA and is")) << run.outcome().err;
    EXPECT_EQ(write(held, "go\n", 3), 3);
    EXPECT_TRUE(file_gets(fifo.string() + ".out", "failed 0"));
    close(held);
}

}  // namespace
}  // namespace pincheck::test
