// Exit statuses: the program's; with --check the verdict's when the program succeeded. And what is said on the way.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kUploads = {program_path("endings"), "return"};

TEST(RunStatus, LooksWithoutChangingTheStatus) {
    const FinishedRun run(run_command({}, kUploads));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "ready\nfailed 0\n");
    EXPECT_TRUE(has(run.outcome().err, "pageable-async-copy")) << run.outcome().err;
    EXPECT_TRUE(has(run.outcome().err, "small.h:")) << run.outcome().err;
    const auto folders = job_folders(run.folder());
    ASSERT_EQ(folders.size(), 1u);
    EXPECT_EQ(run.report_files().size(), 1u);
    EXPECT_TRUE(has(run.outcome().err, folders.front().filename())) << run.outcome().err;
    EXPECT_EQ(folders.front().filename().string().rfind("pincheck-endings-2", 0), 0u);
}

TEST(RunStatus, CheckFailsOnPageableCopies) {
    EXPECT_TRUE(FinishedRun(run_command({"--check"}, kUploads)).outcome().exited(1));
    EXPECT_TRUE(FinishedRun(run_command({"--check", "--exit-code", "42"}, kUploads)).outcome().exited(42));
    EXPECT_TRUE(FinishedRun(run_command({"--check", "--exit-code=0"}, kUploads)).outcome().exited(0));
}
TEST(RunStatus, CheckPassesWhereNothingGatedIsFound) {
    const FinishedRun run(run_command({"--check", "--fail-on", "straddles-registration"}, kUploads));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
}

TEST(RunStatus, TheSymbolsAreInTheReport) {
    const report::Report report = FinishedRun(run_command({}, kUploads)).report();
    EXPECT_FALSE(report.symbols.empty());
    EXPECT_EQ(report.problems, std::vector<std::string>{});
}

TEST(RunStatus, WithoutCuda) {
    const FinishedRun look(run_command({}, {"/bin/true"}));
    EXPECT_TRUE(look.outcome().exited(0));
    EXPECT_EQ(look.outcome().err, "pincheck: no CUDA call was seen\n");
    EXPECT_TRUE(job_folders(look.folder()).empty());
    const FinishedRun check(run_command({"--check"}, {"/bin/true"}));
    EXPECT_TRUE(check.outcome().exited(3));
    EXPECT_EQ(check.outcome().err.rfind("pincheck: NO CONCLUSION", 0), 0u) << check.outcome().err;
    EXPECT_TRUE(has(check.outcome().err, "--allow-no-cuda"));
    const FinishedRun allowed(run_command({"--check", "--allow-no-cuda"}, {"/bin/true"}));
    EXPECT_TRUE(allowed.outcome().exited(0));
    EXPECT_EQ(lines_in(allowed.outcome().err), 1u) << allowed.outcome().err;
}

TEST(RunStatus, TheProgramsOwnFailureWins) {
    for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--check"}, {"--check", "--quiet"}}) {
        EXPECT_TRUE(FinishedRun(run_command(flags, {"/bin/sh", "-c", "exit 7"})).outcome().exited(7));
        // This one also makes pageable copies.
        EXPECT_TRUE(FinishedRun(run_command(flags, {program_path("endings"), "exit"})).outcome().exited(7));
        EXPECT_TRUE(FinishedRun(run_command(flags, {"/bin/sh", "-c", "kill -TERM $$"})).outcome().killed_by(SIGTERM));
        EXPECT_TRUE(FinishedRun(run_command(flags, {"/bin/sh", "-c", "kill -KILL $$"})).outcome().killed_by(SIGKILL));
    }
}
TEST(RunStatus, SaysWhoseStatusItIs) {
    const auto said = [](const std::vector<std::string>& flags, const std::vector<std::string>& program) {
        return FinishedRun(run_command(flags, program)).outcome().err;
    };
    const std::vector<std::string> failing = {program_path("endings"), "exit"};
    const std::vector<std::string> dying = {"/bin/sh", "-c", "\"$0\" return && kill -TERM $$", program_path("endings")};
    EXPECT_TRUE(has(said({}, kUploads), "(look only: exit 0; --check exits 1)"));
    EXPECT_TRUE(has(said({}, failing), "(look only: exits 7, as the program did)"));
    EXPECT_TRUE(has(said({"--check"}, failing), "(exits 7, as the program did)"));
    EXPECT_TRUE(has(said({}, dying), "(look only: dies by SIGTERM, as the program did)"));
}
TEST(RunStatus, DiesByTheProgramsSignalWithoutACoreOfItsOwn) {
    Command command =
        plain_command({"/bin/sh", "-c", "ulimit -c unlimited; exec \"$0\" run -- sh -c 'ulimit -c 0; kill -SEGV $$'",
                       PINCHECK_TEST_TOOL});
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().killed_by(SIGSEGV)) << describe(run.outcome());
    EXPECT_FALSE(WCOREDUMP(run.outcome().status));
}

TEST(RunStatus, ProgramsThatCannotBeStarted) {
    const FinishedRun missing(run_command({"--check"}, {"no-such-program-here"}));
    EXPECT_TRUE(missing.outcome().exited(127));
    EXPECT_EQ(
        missing.outcome().err,
        "pincheck: cannot start no-such-program-here: No such file or directory; it is in no folder of PATH: check the "
        "name, or give its path\n");
    const FinishedRun data(run_command({}, {"/etc/passwd"}));
    EXPECT_TRUE(data.outcome().exited(126));
    EXPECT_EQ(
        data.outcome().err,
        "pincheck: cannot start /etc/passwd: Permission denied; name a program that may be executed (chmod +x makes a "
        "file one)\n");
    EXPECT_TRUE(job_folders(data.folder()).empty());
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "script") << "#!/no/such/interpreter\n";
    fs::permissions(folder.path() / "script", fs::perms::owner_all);
    const FinishedRun script(run_command({}, {folder.path() / "script"}));
    EXPECT_TRUE(script.outcome().exited(127));
    EXPECT_TRUE(has(script.outcome().err, "its interpreter /no/such/interpreter is missing")) << script.outcome().err;
}

struct Mistake {
    const char* name;
    std::vector<std::string> flags;
    const char* options;
    const char* mentioned;
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
    *out << mistake.name;
}
class WrongUsage : public testing::TestWithParam<Mistake> {};

TEST_P(WrongUsage, IsSaidInOneLineAndNothingIsStarted) {
    Command command = run_command(GetParam().flags, {"/bin/echo", "started"});
    command.options = GetParam().options;
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(2)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "");
    EXPECT_TRUE(has(run.outcome().err, GetParam().mentioned)) << run.outcome().err;
    EXPECT_EQ(lines_in(run.outcome().err), 1u) << run.outcome().err;
    EXPECT_TRUE(job_folders(run.folder()).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Of, WrongUsage,
    testing::Values(Mistake{"unknown_option", {"--chek"}, "", "--chek"},
                    Mistake{"unknown_key", {}, "depth=8:no_such_key=1", "'no_such_key' in PINCHECK_OPTIONS"},
                    Mistake{"bad_value", {}, "depth=many", "'depth' in PINCHECK_OPTIONS"},
                    Mistake{"bad_flag", {"--depth", "0"}, "", "'depth' in --depth"},
                    Mistake{"bad_rule", {"--fail-on", "no-such-rule"}, "", "no-such-rule"},
                    Mistake{"bad_color", {"--color", "pink"}, "", "pink"},
                    Mistake{"exit_code_alone", {"--exit-code", "4"}, "", "--check"},
                    Mistake{"colon_in_output", {"--output", "a:b"}, "", "':'"},
                    Mistake{"unwritable_output", {"--output", "/proc/nowhere"}, "", "/proc/nowhere"}),
    [](const testing::TestParamInfo<Mistake>& of_test) { return std::string(of_test.param.name); });

TEST(WrongUsage, NoProgram) {
    const FinishedRun run(plain_command({PINCHECK_TEST_TOOL, "run", "--check"}));
    EXPECT_TRUE(run.outcome().exited(2));
    EXPECT_TRUE(has(run.outcome().err, "run needs a program")) << run.outcome().err;
}
TEST(WrongUsage, MissingLibraryIsNamed) {
    Command command = run_command({}, {"/bin/true"});
    command.environment["PINCHECK_LIBRARY"] = "/no/such/libpincheck.so";
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(2));
    EXPECT_EQ(run.outcome().err,
              "pincheck: PINCHECK_LIBRARY=/no/such/libpincheck.so is not a readable file; set it to the path of "
              "libpincheck.so, or unset it\n");
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "bin");
    fs::copy_file(PINCHECK_TEST_TOOL, folder.path() / "bin/pincheck");
    const FinishedRun alone(plain_command({folder.path() / "bin/pincheck", "run", "/bin/true"}));
    EXPECT_TRUE(alone.outcome().exited(2));
    EXPECT_TRUE(has(alone.outcome().err, (folder.path() / "lib/libpincheck.so").string())) << alone.outcome().err;
}

// The second library that races=trap takes has to lie beside the first.
TEST(WrongUsage, MissingTrapLibraryIsNamed) {
    const TemporaryFolder folder;
    const std::string alone = folder.path() / "libpincheck.so";
    fs::create_symlink(tool_library(), alone);
    Command command = run_command({"--races", "trap"}, {"/bin/echo", "started"});
    command.environment["PINCHECK_LIBRARY"] = alone;
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(2)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "");
    EXPECT_EQ(run.outcome().err, "pincheck: races=trap needs libpincheck-trap.so beside libpincheck.so, and " +
                                     (folder.path() / "libpincheck-trap.so").string() +
                                     " is not a readable file; install it, or use races=watch\n");
    command.arguments[3] = "watch";
    EXPECT_TRUE(FinishedRun(command).outcome().exited(0));
}

TEST(RunSummary, QuietAndRanksAboveZeroAreOneLine) {
    const FinishedRun quiet(run_command({"--quiet"}, kUploads));
    EXPECT_EQ(lines_in(quiet.outcome().err), 1u) << quiet.outcome().err;
    Command command = run_command({}, kUploads);
    command.environment["OMPI_COMM_WORLD_RANK"] = "3";
    const FinishedRun third(command);
    EXPECT_EQ(lines_in(third.outcome().err), 1u) << third.outcome().err;
    EXPECT_TRUE(has(third.outcome().err, "pageable-async-copy")) << third.outcome().err;
    command.environment["OMPI_COMM_WORLD_RANK"] = "0";
    EXPECT_GT(lines_in(FinishedRun(command).outcome().err), 5u);
    Command pod = run_command({}, kUploads);
    pod.environment["JOB_COMPLETION_INDEX"] = "3";
    EXPECT_GT(lines_in(FinishedRun(pod).outcome().err), 5u) << "nobody else's output is beside it";
}

TEST(RunSummary, ColoursOnlyWhenAsked) {
    EXPECT_FALSE(has(FinishedRun(run_command({}, kUploads)).outcome().err, "\x1b"));
    EXPECT_TRUE(has(FinishedRun(run_command({"--color", "always"}, kUploads)).outcome().err, "\x1b["));
}

}  // namespace
}  // namespace pincheck::test
