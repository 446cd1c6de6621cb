// Processes that lack something: descriptors, a standard error, places to write, system calls, /proc, rights. The
// program is as without the tool, and what came of the report is in it or said in one line (K4, K5, K6).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "facts.h"
#include "run_program.h"
#include "shell.h"

namespace pincheck::test {
namespace {

using namespace report;
namespace fs = std::filesystem;

// `before` is shell text in front of which nothing comes; the program replaces the shell.
Command confined(const std::string& before, const std::string& after = "", const std::string& ending = "return") {
    Command command;
    command.arguments = {"/bin/sh", "-c", before + " exec \"$0\" " + ending + " " + after, program_path("endings")};
    return command;
}

// One line of the tool's at most.
void expect_unharmed(const FinishedRun& with, const Command& command) {
    const FinishedRun without(command.without_tool());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    const std::string& err = with.outcome().err;
    if (err != without.outcome().err) {
        EXPECT_EQ(err.rfind("pincheck: ", 0), 0u) << err;
        EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    }
}

void expect_complete(const FinishedRun& run) {
    EXPECT_EQ(copies(run.report(), Direction::host_to_device).calls, 30u);
}

TEST(Confined, K5_ClosedStandardStreams) {
    for (const char* closed : {"2>&-", "2>&- 3>&- 4>&-", "0<&- 2>&-"}) {
        const Command command = confined("", closed);
        const FinishedRun with(command);
        expect_unharmed(with, command);
        if (with.outcome().exited(0)) {
            expect_complete(with);
        }
    }
}

// Nothing of the tool's may land in a file of the program's that got number 2.
TEST(Confined, K5_ProblemsAreNotWrittenIntoTheProgramsFiles) {
    for (const char* closed : {"2>&-", ""}) {
        const TemporaryFolder folder;
        Command command;
        command.arguments = {"/bin/sh", "-c", std::string("exec \"$0\" \"$1\" ") + closed, program_path("descriptors"),
                             folder.path() / "own"};
        command.folder = "/proc";
        command.environment["TMPDIR"] = "/proc/nowhere";  // no report: something to complain of
        const FinishedRun with(command);
        EXPECT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
        EXPECT_EQ(with.outcome().out, "descriptor 2, failed 0, 0 bytes: \n");
        EXPECT_EQ(with.outcome().out, FinishedRun(command.without_tool()).outcome().out);
    }
}
// A log is what stderr may well become.
TEST(Confined, K5_ProblemsGoWhereStderrWasSentTo) {
    const TemporaryFolder folder;
    Command command = confined("exec 2>>" + (folder.path() / "log").string() + ";");
    command.folder = "/proc";
    command.environment["TMPDIR"] = "/proc/nowhere";
    EXPECT_TRUE(FinishedRun(command).outcome().exited(0));
    std::ostringstream log;
    log << std::ifstream(folder.path() / "log").rdbuf();
    EXPECT_EQ(log.str().rfind("pincheck: cannot write", 0), 0u) << log.str();
}

TEST(Descriptors, K4_NumbersAndContentsAreTheProgramsOwn) {
    Command command;
    command.arguments = {program_path("descriptors")};
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    EXPECT_EQ(copies(with.report(), Direction::host_to_device, MemoryClass::pageable).calls, 60u);
}

TEST(Confined, K4_FewDescriptors) {
    for (int limit = 3; limit <= 9; ++limit) {
        const Command command = confined("ulimit -n " + std::to_string(limit) + ";");
        const FinishedRun without(command.without_tool());
        const FinishedRun with(command);
        if (!without.outcome().exited(0)) {
            // Not even its libraries can be opened: the loader says so, of the tool too.
            EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << limit;
            continue;
        }
        expect_unharmed(with, command);
        if (with.outcome().err.empty()) {
            expect_complete(with);
        }
    }
}

TEST(Confined, K4_LittleAddressSpace) {
    // Enough for the program, and for the tool or not: either way it goes on.
    for (const int mib : {160, 200, 300, 600}) {
        const Command command = confined("ulimit -v " + std::to_string(mib * 1024) + ";");
        const FinishedRun without(command.without_tool());
        if (!without.outcome().exited(0)) {
            continue;
        }
        const FinishedRun with(command);
        EXPECT_EQ(with.outcome().out, without.outcome().out) << mib;
        EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << mib;
        if (with.outcome().err.empty()) {
            expect_complete(with);
        }
    }
}

TEST(Confined, K4_SmallFiles) {
    const Command command = confined("ulimit -f 8;");
    const FinishedRun with(command);
    expect_unharmed(with, command);
    EXPECT_FALSE(with.outcome().err.empty());
}

class FilteredBy : public testing::TestWithParam<const char*> {
  protected:
    static Command filtered(const std::string& how) {
        Command command;
        command.arguments = {program_path("confined"), how, program_path("endings"), "return"};
        return command;
    }
};

TEST_P(FilteredBy, K4_Seccomp) {
    const Command command = filtered(GetParam());
    const FinishedRun with(command);
    if (with.outcome().exited(77)) {
        GTEST_SKIP() << with.outcome().out;
    }
    expect_unharmed(with, command);
    EXPECT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    if (std::string(GetParam()) == "no-create") {
        // A report that is not there is not passed over in silence.
        EXPECT_NE(with.outcome().err.find("no report is made"), std::string::npos) << with.outcome().err;
        EXPECT_TRUE(with.report_files().empty());
    } else {
        EXPECT_EQ(with.outcome().err, "");
        expect_complete(with);
    }
}
INSTANTIATE_TEST_SUITE_P(Filter, FilteredBy, testing::Values("seccomp", "no-create"), [](const auto& of_test) {
    std::string name = of_test.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

// Where the kernel refuses a table of descriptors of the tool's own, the report's is a high number of the program's,
// also when it had to be opened again.
TEST(Filtered, K4_ReportsDescriptorStaysOutOfTheWay) {
    const TemporaryFolder folder;
    Command command;
    command.arguments = {program_path("confined"), "seccomp", program_path("closes_descriptors")};
    Running running(command, folder.path());
    if (!running.wait_for_line("ready")) {
        GTEST_SKIP() << "no filters here";
    }
    running.say("go\n");  // it closes everything from 3 up
    ASSERT_TRUE(running.wait_for_line("ready"));
    ASSERT_TRUE(
        report_becomes(folder.path(), [](const Report& report) { return lost(report, Loss::descriptor_lost) > 0; }));
    int open_reports = 0;
    for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(running.pid()) + "/fd")) {
        std::error_code ignored;
        if (fs::read_symlink(entry.path(), ignored).extension() == ".pcr") {
            ++open_reports;
            EXPECT_GE(std::stoi(entry.path().filename().string()), 500);
        }
    }
    EXPECT_EQ(open_reports, 1);
    running.say("go\n");
    EXPECT_TRUE(running.wait().exited(0));
    const auto files = report_files_in(folder.path());
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(copies(read_report(files.front().string()).report, Direction::host_to_device).calls, 30u);
}

// A root folder with the program's libraries and nothing else: no /proc, no /tmp, no /dev.
class BareRoot : public testing::Test {
  protected:
    void SetUp() override {
        if (geteuid() != 0) {
            GTEST_SKIP() << "needs root to change the root folder";
        }
        for (const std::string& file : {program_path("endings"), tool_library(), simulated_runtime(),
                                        simulated_device_folder() + "/libcuda.so.1", std::string("/bin/sh")}) {
            add(file);
            std::istringstream needed(shell_output("LD_LIBRARY_PATH='" + simulated_device_folder() + "' ldd '" + file +
                                                   "' 2>/dev/null | grep -o '/[^ ]*'"));
            for (std::string library; std::getline(needed, library);) {
                add(library);
            }
        }
    }
    void add(const std::string& file) {
        std::error_code ignored;
        const fs::path target = folder_.path() / fs::path(file).relative_path();
        fs::create_directories(target.parent_path(), ignored);
        fs::copy_file(file, target, fs::copy_options::skip_existing, ignored);
    }
    // The test's own environment, inside.
    Command inside() const {
        Command command;
        command.arguments = {"/usr/sbin/chroot",
                             folder_.path(),
                             "/bin/sh",
                             "-c",
                             "cd / && LD_PRELOAD=\"$PRELOAD\" exec \"$0\" return",
                             program_path("endings")};
        command.preload = {};
        command.environment["TMPDIR"] = "/";
        return command;
    }
    TemporaryFolder folder_;
};

TEST_F(BareRoot, K4_ProgramAndReportAreWhole) {
    Command command = inside();
    const FinishedRun without(command);
    if (!without.outcome().exited(0)) {
        GTEST_SKIP() << "the program does not run in a bare root folder here: " << describe(without.outcome());
    }
    command.environment["PRELOAD"] = tool_library();
    const FinishedRun with(command);
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    const auto files = report_files_in(folder_.path());
    ASSERT_EQ(files.size(), 1u);
    const ReadResult read = read_report(files.front().string());
    ASSERT_EQ(read.error, ReadError::none) << read.message;
    EXPECT_EQ(copies(read.report, Direction::host_to_device).calls, 30u);
    EXPECT_EQ(read.report.header.state, FileState::ended);
}

// A set-group-id program that has the tool as a library which it needs (LD_PRELOAD does not get there), started by
// another user: no file with the group's rights, whatever the environment says.
TEST(SetId, K5_LeavesNoReportAndReadsNoOptions) {
    const std::string setpriv = "/usr/bin/setpriv";
    if (geteuid() != 0 || !fs::exists(setpriv)) {
        GTEST_SKIP() << "needs root and setpriv";
    }
    // In a folder that the other user can reach.
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    const fs::path program = folder.path() / "set-gid";
    fs::copy_file(program_path("endings_needs_tool"), program);
    const auto run = [&] {
        Command command;
        command.arguments = {setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", program, "return"};
        command.preload = {};
        command.folder = folder.path();
        command.options = "no_such_key=1:output=" + (folder.path() / "given.pcr").string();
        return FinishedRun(command).outcome();
    };
    chmod(program.c_str(), 0755);
    const Outcome plain = run();
    if (!plain.exited(0)) {
        GTEST_SKIP() << "another user cannot start it there: " << describe(plain);
    }
    // Without other rights the tool does its work and complains about its options.
    EXPECT_TRUE(fs::exists(folder.path() / "given.pcr"));
    EXPECT_NE(plain.err.find("no_such_key"), std::string::npos) << plain.err;
    fs::remove(folder.path() / "given.pcr");
    if (chown(program.c_str(), 0, 65533) != 0 || chmod(program.c_str(), 02755) != 0) {
        GTEST_SKIP() << "cannot make a set-gid program here";
    }
    // Some file systems and containers take no notice of the bit.
    const fs::path shows = folder.path() / "shows-gid";
    fs::copy_file(fs::canonical("/usr/bin/id"), shows);
    if (chown(shows.c_str(), 0, 65533) != 0 || chmod(shows.c_str(), 02755) != 0 ||
        shell_output(setpriv + " --reuid 65534 --regid 65534 --clear-groups '" + shows.string() + "' -g") !=
            "65533\n") {
        GTEST_SKIP() << "the set-group-id bit has no effect here";
    }
    const Outcome outcome = run();
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_EQ(outcome.out, plain.out);
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(report_files_in(folder.path()).empty());
}

}  // namespace
}  // namespace pincheck::test
