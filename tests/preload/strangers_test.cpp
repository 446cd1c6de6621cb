// Programs that have nothing to do with CUDA, that only look for it, or that bring something of the same name: under
// the tool they are what they are without it (I4, I8, I9, K1, K5).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Same output, status and silence; no file.
void expect_untouched(const Command& command) {
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    EXPECT_FALSE(with.outcome().timed_out);
    EXPECT_TRUE(with.report_files().empty());
}

Command of(std::vector<std::string> arguments) {
    Command command;
    command.arguments = std::move(arguments);
    return command;
}

// An image with no CUDA library at all.
Command without_cuda(std::vector<std::string> arguments) {
    Command command = of(std::move(arguments));
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_PROGRAMS;
    return command;
}

TEST(Strangers, I8_True) {
    expect_untouched(of({"/bin/true"}));
}
TEST(Strangers, I8_False) {
    expect_untouched(of({"/bin/false"}));
}
TEST(Strangers, K1_Shell) {
    expect_untouched(of({"/bin/sh", "-c", "for i in 1 2 3; do echo $i | cat | tr 1-3 a-c; done; exit 5"}));
}
TEST(Strangers, K1_Git) {
    expect_untouched(of({"/bin/sh", "-c",
                         "git init -q r && cd r && echo x > f && git add f && git -c user.name=a -c user.email=a@b "
                         "commit -qm m --date=2020-01-01T00:00:00 && git log --format=%s && git status --short"}));
}
TEST(Strangers, K1_Python) {
    expect_untouched(of({"python3", "-c",
                         "import ctypes, subprocess, threading, json\n"
                         "print(ctypes.CDLL(None).abs(-3), subprocess.run(['echo', 'x'], capture_output=True).stdout)\n"
                         "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()"}));
}
TEST(Strangers, K1_Compiler) {
    expect_untouched(
        of({"/bin/sh", "-c",
            "echo 'int main() { return 3; }' > p.cpp && " PINCHECK_TEST_CXX " -O2 p.cpp -o p && ./p; echo $?"}));
}
TEST(Strangers, K1_StaticBinary) {
    expect_untouched(
        of({"/bin/sh", "-c",
            "echo 'int main() { return 4; }' > p.cpp && " PINCHECK_TEST_CXX " -static p.cpp -o p && ./p; echo $?"}));
}
TEST(Strangers, K5_StaticPie) {
    expect_untouched(of({"/bin/sh", "-c",
                         "echo 'int main() { return 4; }' > p.cpp && " PINCHECK_TEST_CXX
                         " -static-pie p.cpp -o p && ./p; echo $?"}));
}
TEST(Strangers, K5_EmptyEnvironment) {
    expect_untouched(of({"/usr/bin/env", "-i", "/bin/sh", "-c", "echo \"[$LD_PRELOAD]\""}));
}

// ---- dlsym

TEST(Dlsym, I4_SameAnswersFromConstructorsAndThreads) {
    expect_untouched(of({program_path("dlsym_uses")}));
}
TEST(Dlsym, I4_SameAnswersWithoutCuda) {
    expect_untouched(without_cuda({program_path("dlsym_uses")}));
}

// libA has a run path of its own, by which it opens libB by its bare name: the loader goes by who calls dlopen.
TEST(Dlopen, I5_RunPathOfTheCallerCounts) {
    const Command command =
        of({"/bin/sh", "-c",
            "mkdir lib && printf 'extern \"C\" int b() { return 6; }' > b.cpp && "
            "printf '#include <dlfcn.h>\\nextern \"C\" int a() { void* h = dlopen(\"libB.so\", RTLD_NOW); "
            "return h ? ((int (*)())dlsym(h, \"b\"))() : 1; }' > a.cpp && "
            "printf '#include <dlfcn.h>\\nint main() { void* h = dlopen(\"lib/libA.so\", RTLD_NOW); "
            "return h ? ((int (*)())dlsym(h, \"a\"))() : 2; }' > m.cpp && " PINCHECK_TEST_CXX
            " -shared -fPIC b.cpp -o lib/libB.so && " PINCHECK_TEST_CXX
            " -shared -fPIC a.cpp -o lib/libA.so '-Wl,-rpath,$ORIGIN' && " PINCHECK_TEST_CXX
            " m.cpp -o m && ./m; echo $?"});
    expect_untouched(command);
    EXPECT_EQ(FinishedRun(command).outcome().out, "6\n");
}

// ---- Optional CUDA

class Probe : public testing::TestWithParam<const char*> {
  protected:
    static Command probe(std::vector<std::string> more, bool cuda) {
        std::vector<std::string> arguments = {program_path(GetParam()), program_path("libprobe_plugin.so")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        Command command = cuda ? of(arguments) : without_cuda(arguments);
        command.environment["PROBE_CUDART"] = simulated_runtime();
        return command;
    }
    void SetUp() override {
        if (!fs::exists(program_path(GetParam()))) {
            GTEST_SKIP() << "the compiler cannot build " << GetParam();
        }
    }
};

// The lines of a probe's output that begin with `who how`.
std::string answers(const std::string& output, const std::string& beginning) {
    std::istringstream lines(output);
    std::string line;
    std::string all;
    while (std::getline(lines, line)) {
        if (line.rfind(beginning, 0) == 0) {
            all += line + "\n";
        }
    }
    return all;
}

// Each way of looking apart, so that a failure names it.
void expect_same_answers(const Command& command, const std::string& except = "") {
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    for (const char* who : {"program ", "library ", "plugin "}) {
        for (const char* how : {"weak", "RTLD_DEFAULT", "RTLD_NEXT", "handle"}) {
            const std::string beginning = std::string(who) + how;
            if (beginning == except) {
                continue;
            }
            EXPECT_EQ(answers(with.outcome().out, beginning), answers(without.outcome().out, beginning));
        }
    }
    EXPECT_EQ(with.outcome().err, "");
    EXPECT_TRUE(with.report_files().empty());
}

TEST_P(Probe, I9_FindsNoCudaWhereThereIsNone) {
    expect_same_answers(probe({}, false));
    // Not by both sides being wrong in the same way:
    EXPECT_EQ(FinishedRun(probe({}, false)).outcome().out.find(": found"), std::string::npos);
}
// A known limit (README, "not seen"): an exported hook cannot tell who asks, so that a weak reference in a plugin that
// is loaded while somebody else has a runtime to himself resolves to the hook.
TEST_P(Probe, I9_DoesNotFindWhatSomebodyOpenedForHimself) {
    expect_same_answers(probe({"local", "handle"}, true), "plugin weak");
}
TEST_P(Probe, I9_FindsWhatWasOpenedForAll) {
    expect_same_answers(probe({"global"}, true));
}
TEST_P(Probe, I9_ExportsOffIsThereForTheRest) {
    Command command = probe({}, false);
    command.options = "exports=off";
    expect_same_answers(command);
}

INSTANTIATE_TEST_SUITE_P(As, Probe,
                         testing::Values("probe_pie_lazy", "probe_pie_now", "probe_nopie_lazy", "probe_nopie_now",
                                         "probe_dynamic_weak_lazy", "probe_dynamic_weak_now"),
                         [](const auto& of_test) { return std::string(of_test.param); });

// A program that uses CUDA and also looks for it finds it, with and without the tool.
TEST(Probe, I9_MockStaysTheProvider) {
    for (const char* program : {"mock_user", "mock_user_now"}) {
        const FinishedRun with(of({program_path(program)}));
        const FinishedRun without(of({program_path(program)}).without_tool());
        ASSERT_TRUE(without.outcome().exited(3)) << describe(without.outcome());
        EXPECT_EQ(with.outcome().out, without.outcome().out) << program;
        EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    }
}
TEST(Probe, I9_MockWithoutAnyCuda) {
    for (const char* program : {"mock_user", "mock_user_now"}) {
        const FinishedRun with(without_cuda({program_path(program)}));
        const FinishedRun without(without_cuda({program_path(program)}).without_tool());
        ASSERT_TRUE(without.outcome().exited(3)) << describe(without.outcome());
        EXPECT_EQ(with.outcome().out, without.outcome().out) << program;
        EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    }
}
TEST(Probe, I9_OwnDefinitionWins) {
    const FinishedRun run(of({program_path("own_definition")}));
    EXPECT_EQ(run.outcome().out, "own 42, by name 42\n") << describe(run.outcome());
}

// ---- The conformance set (tests/conformance): valid, null and failing calls with their results

TEST(Conformance, I7_HoldsUnderTheToolAsWithoutIt) {
    const std::string program = PINCHECK_TEST_CONFORMANCE;
    if (!fs::exists(program)) {
        GTEST_SKIP() << program << " is not built";
    }
    Command command = of({program, "--gtest_brief=1"});
    command.environment["SIMCUDA_KERNELS"] = simulated_device_folder() + "/conformance_kernels.so";
    const FinishedRun run(command);
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().err, "");
}

// ---- Other tools in LD_PRELOAD

class OtherTool : public testing::TestWithParam<bool> {};

TEST_P(OtherTool, CountsTheSameBeforeAndAfterOurs) {
    Command command = of({program_path("endings"), "return"});
    const std::string shim = program_path("libshim.so");
    command.preload =
        GetParam() ? std::vector<std::string>{shim, tool_library()} : std::vector<std::string>{tool_library(), shim};
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    ASSERT_NE(without.outcome().out.find("shim saw 30 copies, 1 pins"), std::string::npos)
        << describe(without.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    const Report report = with.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls, 15u);
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 15u);
}

INSTANTIATE_TEST_SUITE_P(Order, OtherTool, testing::Bool(),
                         [](const auto& of_test) { return of_test.param ? "other_first" : "ours_first"; });

// ---- Set-id programs: the loader drops LD_PRELOAD with a path; the program must start as ever.

TEST(SetId, K5_ProgramStartsAsEver) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root to make a set-gid program";
    }
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    const fs::path program = folder.path() / "set-gid";
    fs::copy_file("/bin/echo", program);
    if (chown(program.c_str(), 0, 65534) != 0 || chmod(program.c_str(), 02755) != 0) {
        GTEST_SKIP() << "cannot make a set-gid program here";
    }
    const FinishedRun with(of({program, "fine"}));
    EXPECT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    EXPECT_EQ(with.outcome().out, "fine\n");
    EXPECT_TRUE(with.report_files().empty());
}

}  // namespace
}  // namespace pincheck::test
