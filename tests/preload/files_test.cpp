// The report file: its name, mode, place, and what happens when it cannot be written (style of a guest: never in the
// program's way).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>

#include "facts.h"
#include "run_program.h"
#include "shell.h"

namespace pincheck::test {
namespace {

using namespace report;
namespace fs = std::filesystem;

Command small_program(const std::string& options = "") {
    Command command;
    command.arguments = {program_path("endings"), "return"};
    command.options = options;
    return command;
}

constexpr const char* kEndingsOutput = "ready\nfailed 0\n";

std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Runs in a folder that the test has prepared.
Outcome run_in(const fs::path& folder, const Command& command) {
    Running running(command, folder);
    running.say(command.input);
    return running.wait();
}

Report read(const fs::path& file) {
    ReadResult result = read_report(file.string());
    EXPECT_EQ(result.error, ReadError::none) << result.message;
    return std::move(result.report);
}

TEST(ReportFile, K2_DefaultNameHasProgramTimeHostAndPid) {
    const TemporaryFolder folder;
    Running running(small_program(), folder.path());
    running.say("go\n");
    running.wait();
    const auto files = report_files_in(folder.path());
    ASSERT_EQ(files.size(), 1u);
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const std::string name = files.front().filename();
    EXPECT_TRUE(
        std::regex_match(name, std::regex("pincheck-endings-[0-9TZ]+-.*-" + std::to_string(running.pid()) + "\\.pcr")))
        << name;
    EXPECT_NE(name.find(host), std::string::npos) << name;
}

TEST(ReportFile, PatternsAreExpanded) {
    Command command = small_program("output=%e_%p_%h_%n_%%_%t.pcr");
    command.environment["OMPI_COMM_WORLD_RANK"] = "3";
    const FinishedRun run(command);
    const auto files = run.report_files();
    ASSERT_EQ(files.size(), 1u);
    EXPECT_TRUE(std::regex_match(files.front().filename().string(), std::regex("endings_[0-9]+_.+_3_%_[0-9TZ]+\\.pcr")))
        << files.front();
    ASSERT_TRUE(run.report().process);
    EXPECT_EQ(run.report().process->rank, 3u);
}

TEST(ReportFile, IsReadableByItsOwnerOnly) {
    const mode_t before = umask(0);
    const FinishedRun run(small_program());
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat(run.report_files().at(0).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(ReportFile, K2_ExistingFileIsNeverOverwritten) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "fixed.pcr") << "precious";
    EXPECT_EQ(run_in(folder.path(), small_program("output=fixed.pcr")).out, kEndingsOutput);
    EXPECT_EQ(run_in(folder.path(), small_program("output=fixed.pcr")).out, kEndingsOutput);
    EXPECT_EQ(contents(folder.path() / "fixed.pcr"), "precious");
    EXPECT_EQ(copies(read(folder.path() / "fixed-1.pcr"), Direction::host_to_device).calls, 30u);
    EXPECT_EQ(copies(read(folder.path() / "fixed-2.pcr"), Direction::host_to_device).calls, 30u);
}

TEST(ReportFile, SymbolicLinkAtItsNameIsNotFollowed) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "victim") << "precious";
    fs::create_symlink(folder.path() / "victim", folder.path() / "fixed.pcr");
    fs::create_symlink(folder.path() / "not-there", folder.path() / "fixed-1.pcr");
    EXPECT_EQ(run_in(folder.path(), small_program("output=fixed.pcr")).out, kEndingsOutput);
    EXPECT_EQ(contents(folder.path() / "victim"), "precious");
    EXPECT_FALSE(fs::exists(folder.path() / "not-there"));
    EXPECT_EQ(copies(read(folder.path() / "fixed-2.pcr"), Direction::host_to_device).calls, 30u);
}

// /proc takes no new file, not even root's.
TEST(ReportFile, UnwritableFolderFallsBackToTmpdirAndSaysSoOnce) {
    const TemporaryFolder folder;
    Command command = small_program();
    command.folder = "/proc";
    const Outcome outcome = run_in(folder.path(), command);
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_EQ(outcome.out, kEndingsOutput);
    EXPECT_EQ(outcome.err.rfind("pincheck: ", 0), 0u) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
    EXPECT_NE(outcome.err.find(folder.path().string()), std::string::npos) << outcome.err;
    EXPECT_EQ(report_files_in(folder.path()).size(), 1u);
}

TEST(ReportFile, NothingWritableCostsOneLineAndNothingElse) {
    const TemporaryFolder folder;
    Command command = small_program();
    command.folder = "/proc";
    command.environment["TMPDIR"] = "/proc/nowhere";
    const Outcome outcome = run_in(folder.path(), command);
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_EQ(outcome.out, kEndingsOutput);
    EXPECT_EQ(outcome.err.rfind("pincheck: ", 0), 0u) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
}

TEST(ReportFile, OutputFolderThatIsMissingIsSaid) {
    const FinishedRun run(small_program("output=no/such/folder/x.pcr"));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, kEndingsOutput);
    EXPECT_EQ(run.outcome().err.rfind("pincheck: ", 0), 0u) << run.outcome().err;
}

// A tmpfs of 256 KiB, filled up. Mounted by the test, so root is needed.
class FullDisk : public testing::Test {
  protected:
    void SetUp() override {
        mounted_ = folder_.path() / "disk";
        fs::create_directory(mounted_);
        if (mount("tmpfs", mounted_.c_str(), "tmpfs", 0, "size=256k") != 0) {
            const std::string reason = std::strerror(errno);
            mounted_.clear();
            GTEST_SKIP() << "cannot mount a tmpfs: " << reason;
        }
        std::ofstream filler(mounted_ / "filler", std::ios::binary);
        const std::string block(4096, 'x');
        while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
        }
    }
    void TearDown() override {
        if (!mounted_.empty()) {
            umount2(mounted_.c_str(), MNT_DETACH);
        }
    }
    TemporaryFolder folder_;
    fs::path mounted_;
};

TEST_F(FullDisk, ProgramIsUnharmedAndAtMostOneLineIsSaid) {
    const Outcome outcome = run_in(folder_.path(), small_program("output=" + (mounted_ / "r.pcr").string()));
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_EQ(outcome.out, kEndingsOutput);
    EXPECT_LE(lines_in(outcome.err), 1u) << outcome.err;
    // Silence about a report that is not there would be a blind run that looks like a good one.
    EXPECT_EQ(outcome.err.rfind("pincheck: ", 0), 0u) << outcome.err;
}

TEST_F(FullDisk, ReportIsWholeOnceThereIsRoomAgain) {
    Running running(small_program("output=" + (mounted_ / "r.pcr").string()), folder_.path());
    ASSERT_TRUE(running.wait_for_line("ready"));
    fs::remove(mounted_ / "filler");
    running.say("go\n");
    EXPECT_TRUE(running.wait().exited(0));
    const auto files = report_files_in(mounted_);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(copies(read(files.front()), Direction::host_to_device).calls, 30u);
}

TEST(ReportFile, FileSizeLimitDoesNotKillTheProgram) {
    for (const rlim_t limit : {rlim_t{0}, rlim_t{1000}, rlim_t{40'000}, rlim_t{100'000}}) {
        const TemporaryFolder folder;
        Command command = small_program();
        command.file_size_limit = limit;
        const Outcome outcome = run_in(folder.path(), command);
        EXPECT_TRUE(outcome.exited(0)) << limit << ": " << describe(outcome);
        EXPECT_EQ(outcome.out, kEndingsOutput);
        EXPECT_LE(lines_in(outcome.err), 1u) << outcome.err;
        EXPECT_TRUE(outcome.err.empty() || outcome.err.rfind("pincheck: ", 0) == 0) << outcome.err;
        bool recorded = false;
        for (const auto& file : report_files_in(folder.path())) {
            const ReadResult result = read_report(file.string());
            recorded = recorded || copies(result.report, Direction::host_to_device).calls == 30 ||
                       lost(result.report, Loss::write_failed) > 0;
        }
        EXPECT_TRUE(recorded || !outcome.err.empty()) << limit << ": a loss that nobody hears of";
    }
}

TEST(ReportFile, ProgramThatClosesAndReusesDescriptorsKeepsItsFiles) {
    const TemporaryFolder folder;
    Command command;
    command.arguments = {program_path("closes_descriptors")};
    Running running(command, folder.path());
    ASSERT_TRUE(running.wait_for_line("ready"));
    ASSERT_TRUE(report_becomes(
        folder.path(), [](const Report& report) { return copies(report, Direction::host_to_device).calls == 20; }));
    running.say("go\n");
    ASSERT_TRUE(running.wait_for_line("ready"));
    running.say("go\n");
    const Outcome outcome = running.wait();
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    for (int i = 0; i < 40; ++i) {
        const std::string name = "own-" + std::to_string(i);
        EXPECT_EQ(contents(folder.path() / name), name);
    }
    const auto files = report_files_in(folder.path());
    ASSERT_GE(files.size(), 1u);
    // Either it went on by itself and has everything, or the loss is noted, in the file or on stderr.
    bool noted = !outcome.err.empty();
    std::uint64_t most = 0;
    for (const auto& file : files) {
        const Report report = read(file);
        most = std::max(most, copies(report, Direction::host_to_device).calls);
        noted = noted || lost(report, Loss::descriptor_lost) > 0;
    }
    EXPECT_GE(most, 20u);
    EXPECT_TRUE(noted || most == 30) << outcome.err;
}

// ---- What is in it about the process

TEST(Process, IsDescribed) {
    const TemporaryFolder folder;
    Running running(small_program("depth=12"), folder.path());
    running.say("go\n");
    running.wait();
    const Report report = read(report_files_in(folder.path()).at(0));
    ASSERT_TRUE(report.process);
    EXPECT_EQ(report.process->pid, static_cast<std::uint32_t>(running.pid()));
    EXPECT_EQ(report.process->parent_pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(process_text(report, &ProcessRecord::executable), fs::canonical(program_path("endings")).string());
    const std::string arguments = program_path("endings") + std::string(1, '\0') + "return";
    std::string command_line = process_text(report, &ProcessRecord::command_line);
    if (!command_line.empty() && command_line.back() == '\0') {
        command_line.pop_back();
    }
    EXPECT_EQ(command_line, arguments);
    EXPECT_EQ(process_text(report, &ProcessRecord::working_directory), fs::canonical(folder.path()).string());
    EXPECT_NE(process_text(report, &ProcessRecord::options).find("depth=12"), std::string::npos);
    EXPECT_EQ(report.process->rank, kNoRank);
}

// Arguments can hold secrets.
TEST(Process, CmdlineNameLeavesTheArgumentsOut) {
    const Report report = FinishedRun(small_program("cmdline=name")).report();
    EXPECT_EQ(process_text(report, &ProcessRecord::command_line).find("return"), std::string::npos);
    EXPECT_NE(process_text(report, &ProcessRecord::command_line).find("endings"), std::string::npos);
}

TEST(Process, OfTheEnvironmentOnlyTheRankIsRecorded) {
    Command command = small_program();
    command.environment = {{"API_TOKEN", "planted-token"},
                           {"HOME", "/planted-home"},
                           {"USER", "planted-user"},
                           {"SLURM_PROCID", "3"},
                           {"SLURM_JOB_USER", "planted"}};
    const TemporaryFolder folder;
    run_in(folder.path(), command);
    const fs::directory_iterator files(folder.path());
    ASSERT_NE(files, fs::directory_iterator());
    const fs::path file = files->path();
    EXPECT_EQ(read(file).process->rank, 3u);
    const std::string bytes = contents(file);
    EXPECT_NE(bytes.find("endings"), std::string::npos) << "texts are stored as they are";
    for (const char* text : {"planted", "API_TOKEN", "SLURM", "PATH="}) {
        EXPECT_EQ(bytes.find(text), std::string::npos) << text;
    }
}

// srun starts torchrun once a node, so that all workers of a node have its rank.
TEST(Process, TheRankIsThatOfTheInnermostLauncher) {
    Command command = small_program();
    command.environment = {{"SLURM_PROCID", "1"}, {"RANK", "11"}, {"LOCAL_RANK", "3"}, {"WORLD_SIZE", "16"}};
    EXPECT_EQ(FinishedRun(command).report().process->rank, 11u);
}

TEST(Modules, K9_HavePathAndBuildId) {
    const Report report = FinishedRun(small_program()).report();
    bool program_seen = false;
    for (const auto& [id, module] : report.modules) {
        const std::string* const path = report.string(module.record.path);
        if (path == nullptr || path->empty() || (*path)[0] != '/') {
            continue;
        }
        program_seen = program_seen || *path == fs::canonical(program_path("endings")).string();
        std::string build_id;
        for (const std::uint8_t byte : module.build_id) {
            char hex[3];
            std::snprintf(hex, sizeof hex, "%02x", byte);
            build_id += hex;
        }
        const std::string notes = shell_output("readelf -n '" + *path + "' 2>/dev/null");
        std::smatch match;
        const bool has = std::regex_search(notes, match, std::regex("Build ID: ([0-9a-f]+)"));
        EXPECT_EQ(build_id, has ? match[1].str() : "") << *path;
        EXPECT_LT(module.record.begin, module.record.end) << *path;
    }
    EXPECT_TRUE(program_seen);
}

TEST(Devices, DriverAndNameAreRecorded) {
    const Report report = FinishedRun(small_program()).report();
    ASSERT_EQ(report.devices.size(), 1u);
    EXPECT_EQ(report.devices[0].ordinal, 0u);
    EXPECT_EQ(report.devices[0].async_engines, 3u);
    EXPECT_EQ(report.devices[0].pageable_access, 0u);
    EXPECT_GE(report.devices[0].driver_version, 12000u);
    const std::string* const name = report.string(report.devices[0].name);
    ASSERT_NE(name, nullptr);
    EXPECT_NE(*name, "");
}

}  // namespace
}  // namespace pincheck::test
