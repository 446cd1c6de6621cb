// What `run` puts into the environment: the library before what was there, and the options.
#include <gtest/gtest.h>

#include <cstdlib>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kUploads = {program_path("endings"), "return"};

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// The first line of what the program says.
std::string preload_seen(Command command) {
    const FinishedRun run(command);
    return run.outcome().out.substr(0, run.outcome().out.find('\n') + 1);  // other libraries say things later
}
const std::vector<std::string> kShowPreload = {"/bin/sh", "-c", "echo \"$LD_PRELOAD\""};

TEST(RunEnvironment, KeepsAnExistingPreload) {
    if (kSanitized) {
        GTEST_SKIP() << "a sanitized pincheck cannot have anything preloaded itself";
    }
    Command command = run_command({}, kShowPreload);
    EXPECT_EQ(preload_seen(command), tool_library() + "\n");
    command.preload = {program_path("libshim.so")};
    EXPECT_EQ(preload_seen(command), tool_library() + ":" + program_path("libshim.so") + "\n");
    Command uploads = run_command({}, kUploads);
    uploads.preload = {program_path("libshim.so")};
    const FinishedRun run(uploads);
    EXPECT_TRUE(has(run.outcome().out, "shim saw 30 copies, 1 pins")) << describe(run.outcome());
    EXPECT_EQ(run.report_files().size(), 1u);
}
TEST(RunEnvironment, RacesTrapTakesASecondLibrary) {
    if (kSanitized) {
        GTEST_SKIP() << "a sanitized pincheck cannot have anything preloaded itself";
    }
    const std::string both = tool_library() + ":" + trap_library();
    Command command = run_command({"--races", "trap"}, kShowPreload);
    EXPECT_EQ(preload_seen(command), both + "\n");
    command.preload = {program_path("libshim.so")};
    EXPECT_EQ(preload_seen(command), both + ":" + program_path("libshim.so") + "\n");
    command.preload = {tool_library(), trap_library()};
    EXPECT_EQ(preload_seen(command), both + "\n") << "not twice";
    command = run_command({}, kShowPreload);
    command.options = "races=trap";
    EXPECT_EQ(preload_seen(command), both + "\n");
    command = run_command({"--races", "watch"}, kShowPreload);
    command.options = "races=trap";
    EXPECT_EQ(preload_seen(command), tool_library() + "\n") << "the flag comes after the variable";
}
TEST(RunEnvironment, StartedUnderTheToolItselfDoesNoHarm) {
    if (kSanitized) {
        GTEST_SKIP() << "a sanitized pincheck cannot have anything preloaded itself";
    }
    Command command = run_command({}, kShowPreload);
    command.preload = {tool_library()};
    EXPECT_EQ(preload_seen(command), tool_library() + "\n");
    Command uploads = run_command({"--check"}, kUploads);
    uploads.preload = {tool_library()};
    const FinishedRun run(uploads);
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    EXPECT_EQ(run.report_files().size(), 1u);
}
TEST(RunEnvironment, RunInsideRunHasItsOwnReports) {
    if (kSanitized) {
        GTEST_SKIP() << "a sanitized pincheck cannot have anything preloaded itself";
    }
    const FinishedRun run(
        run_command({"--check"}, {PINCHECK_TEST_TOOL, "run", "--output", "inner", "--", kUploads[0], kUploads[1]}));
    EXPECT_TRUE(run.outcome().exited(3)) << describe(run.outcome());
    EXPECT_EQ(report_files_in(run.folder() / "inner").size(), 1u);
}

TEST(RunOptions, TheUsersAreMergedAndFlagsWin) {
    Command command =
        run_command({"--stacks", "on", "--cmdline=name"}, {"/bin/sh", "-c", "echo \"$PINCHECK_OPTIONS\""});
    command.options = "depth=9:stacks=off:";
    const FinishedRun run(command);
    EXPECT_EQ(run.outcome().out.rfind("depth=9:stacks=on:cmdline=name:output=/", 0), 0u) << run.outcome().out;
    EXPECT_EQ(run.outcome().err, "pincheck: no CUDA call was seen\n");
}
TEST(RunOptions, AreKnownToTheLibrary) {
    const FinishedRun run(run_command({"--stacks=on", "--depth=64", "--exports=on", "--dlsym=on", "--cupti=full",
                                       "--cmdline=full", "--verbosity=1", "--quiet"},
                                      kUploads));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(lines_in(run.outcome().err), 1u) << run.outcome().err;
}
TEST(RunOptions, OutputOfTheVariableIsNotUsedAndThatIsSaid) {
    Command command = run_command({}, kUploads);
    command.options = "output=mine.pcr";
    const FinishedRun run(command);
    EXPECT_TRUE(has(run.outcome().err, "output=mine.pcr of PINCHECK_OPTIONS is not used")) << run.outcome().err;
    EXPECT_FALSE(fs::exists(run.folder() / "mine.pcr"));
    EXPECT_EQ(run.report_files().size(), 1u);
}

TEST(RunWithout, TheDashesAndWithOptionsOfTheProgram) {
    const FinishedRun run(
        plain_command({PINCHECK_TEST_TOOL, "run", "--depth", "4", "/bin/echo", "--check", "[a,b]", "--", "-x", ""}));
    EXPECT_EQ(run.outcome().out, "--check [a,b] -- -x \n") << describe(run.outcome());
}

// The shared address sanitizer insists on coming first.
TEST(RunSanitized, K7_AddressShared) {
    Command command = run_command({"--check"}, {program_path("endings_asan_shared"), "return"});
    command.environment["ASAN_OPTIONS"] = "detect_leaks=0";
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "ready\nfailed 0\n");
}
TEST(RunSanitized, K7_AddressStatic) {
    Command command = run_command({"--check"}, {program_path("endings_asan_static"), "return"});
    command.environment["ASAN_OPTIONS"] = "detect_leaks=0";
    EXPECT_TRUE(FinishedRun(command).outcome().exited(1));
}

// ---- Installed, also where LD_PRELOAD could not name it

class Installed : public testing::TestWithParam<const char*> {};

TEST_P(Installed, FindsItsLibraryAndLeavesNoTrace) {
    const TemporaryFolder folder;
    const fs::path prefix = folder.path() / GetParam();
    fs::create_directories(prefix / "bin");
    fs::create_directories(prefix / PINCHECK_TEST_LIBDIR);
    fs::copy_file(PINCHECK_TEST_TOOL, prefix / "bin/pincheck");
    fs::copy_file(PINCHECK_TEST_LIBRARY, prefix / PINCHECK_TEST_LIBDIR / "libpincheck.so");
    const std::string program = prefix / "my program";
    fs::copy_file(program_path("endings"), program);
    Command command = plain_command({prefix / "bin/pincheck", "run", "--check", program, "return"});
    const fs::path work = prefix / "work here";
    fs::create_directory(work);
    if (work.string().find(':') == std::string::npos) {
        command.folder = work;
    }
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "ready\nfailed 0\n");
    EXPECT_FALSE(has(run.outcome().err, "cannot be preloaded")) << run.outcome().err;
    for (const auto& entry : fs::directory_iterator(run.folder())) {
        EXPECT_FALSE(has(entry.path().filename(), "pincheck-link")) << entry.path();
    }
}
INSTANTIATE_TEST_SUITE_P(In, Installed, testing::Values("plain", "with a space", "with:colon", "with$LIB"),
                         [](const auto& of_test) { return "prefix" + std::to_string(of_test.index); });

TEST(Installed, ByCMakeInAPathWithSpaces) {
    const TemporaryFolder folder;
    const fs::path prefix = folder.path() / "my tools";
    const std::string install = std::string(PINCHECK_TEST_CMAKE) + " --install '" PINCHECK_TEST_BUILD "' --prefix '" +
                                prefix.string() + "' >/dev/null 2>&1";
    ASSERT_EQ(std::system(install.c_str()), 0) << install;
    const FinishedRun run(plain_command({prefix / "bin/pincheck", "run", "--check", "--", kUploads[0], kUploads[1]}));
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
}

}  // namespace
}  // namespace pincheck::test
