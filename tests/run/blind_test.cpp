// A run that saw nothing, or not all, never passes; it says why and what to write instead (K5, K6).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;

// Same status as alone; said on standard error; with --check no conclusion, also where no CUDA is allowed.
void expect_blind(const std::vector<std::string>& program, const std::string& said, int own_status = 0) {
    const FinishedRun look(run_command({}, program));
    EXPECT_TRUE(look.outcome().exited(own_status)) << describe(look.outcome());
    EXPECT_TRUE(has(look.outcome().err, said)) << look.outcome().err;
    EXPECT_TRUE(job_folders(look.folder()).empty());
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{"--check"}, {"--check", "--allow-no-cuda"}}) {
        const FinishedRun check(run_command(flags, program));
        EXPECT_TRUE(check.outcome().exited(own_status != 0 ? own_status : 3)) << describe(check.outcome());
        EXPECT_EQ(check.outcome().err.rfind("pincheck: NO CONCLUSION", 0), 0u) << check.outcome().err;
        EXPECT_TRUE(has(check.outcome().err, said)) << check.outcome().err;
    }
}

class BlindTarget : public testing::Test {
  protected:
    TemporaryFolder folder_;
    std::string built(const std::string& flags) {
        return build(folder_.path(), "program", "int main() { return 0; }", flags) ? folder_.path() / "program" : "";
    }
};

TEST_F(BlindTarget, K5_Static) {
    const std::string program = built("-static");
    ASSERT_NE(program, "");
    expect_blind({program}, "linked statically");
}
TEST_F(BlindTarget, K5_StaticPie) {
    const std::string program = built("-static-pie");
    ASSERT_NE(program, "");
    expect_blind({program}, "linked statically");
    // Also behind what only passes on.
    expect_blind({"/usr/bin/env", "A=b", program}, "linked statically");
}
TEST_F(BlindTarget, K5_SetGid) {
    const fs::path program = folder_.path() / "set-gid";
    fs::permissions(folder_.path(), fs::perms::all);
    fs::copy_file("/bin/true", program);
    if (geteuid() != 0 || chown(program.c_str(), 0, 65534) != 0 || chmod(program.c_str(), 02755) != 0) {
        GTEST_SKIP() << "cannot make a set-gid program here";
    }
    expect_blind({program}, "LD_PRELOAD");
}
// A loader with musl's name, and another libc's program to it. It must not get the library, which would stop it.
TEST_F(BlindTarget, K6_Musl) {
    const fs::path loader = folder_.path() / "ld-musl-x86_64.so.1";
    fs::create_symlink("/lib64/ld-linux-x86-64.so.2", loader);
    const std::string program = built("-Wl,--dynamic-linker=" + loader.string());
    ASSERT_NE(program, "");
    expect_blind({program}, "musl");
    ASSERT_TRUE(build(folder_.path(), "shows",
                      "#include <cstdlib>\nint main() { return std::getenv(\"LD_PRELOAD\") != nullptr; }",
                      "-Wl,--dynamic-linker=" + loader.string()));
    EXPECT_TRUE(FinishedRun(run_command({}, {folder_.path() / "shows"})).outcome().exited(0));
}

// A real one (Debian's musl-tools), run by its own loader: unchanged, and said.
TEST_F(BlindTarget, K6_RealMusl) {
    if (std::system("command -v musl-gcc >/dev/null") != 0) {
        GTEST_SKIP() << "no musl-gcc here";
    }
    const fs::path program = folder_.path() / "musl";
    const fs::path source = folder_.path() / "musl.c";
    std::ofstream(source) << "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n"
                             "    puts(getenv(\"LD_PRELOAD\") ? \"preloaded\" : \"alone\");\n    return 5;\n}\n";
    const std::string compile = "musl-gcc -o '" + program.string() + "' '" + source.string() + "'";
    ASSERT_EQ(std::system(compile.c_str()), 0) << compile;
    expect_blind({program}, "musl", 5);
    const FinishedRun look(run_command({}, {program}));
    EXPECT_EQ(look.outcome().out, "alone\n");
    // Passed on by a shell that has the library: musl's loader does not find the C library that it was built for.
    ASSERT_EQ(std::system((compile + " -static").c_str()), 0);
    expect_blind({program}, "linked statically", 5);
}

// Programs named like launchers, which start nothing.
class Launcher : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(Launcher, SaysWhatToWriteInstead) {
    const TemporaryFolder folder;
    const fs::path program = folder.path() / GetParam().first;
    std::ofstream(program) << "#!/bin/sh\nexit 0\n";
    fs::permissions(program, fs::perms::owner_all);
    expect_blind({program, "whatever"}, GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(Of, Launcher,
                         testing::Values(std::pair("docker", "docker run -v"), std::pair("podman", "podman run -v"),
                                         std::pair("sudo", "sudo pincheck run"),
                                         std::pair("ssh", "ssh HOST pincheck run"),
                                         std::pair("srun", "srun OPTIONS pincheck run"),
                                         std::pair("mpirun", "mpirun OPTIONS pincheck run"),
                                         std::pair("kubectl", "kubectl exec POD -- pincheck run")),
                         [](const auto& of_test) { return std::string(of_test.param.first); });
TEST(Launcher, EmptyEnvironment) {
    expect_blind({"/usr/bin/env", "-i", "/bin/true"}, "env -i NAME=VALUE");
}

// ---- Calls that go past the library, in a process that has it

TEST(BlindObject, I6_DeepbindPluginLeavesNoConclusion) {
    for (const char* plugin :
         {"libcopies_plugin_hidden.so", "libcopies_plugin_static.so", "libcopies_plugin_driver.so"}) {
        for (const std::vector<std::string>& flags :
             {std::vector<std::string>{"--check"}, {"--check", "--allow-no-cuda"}}) {
            const FinishedRun check(
                run_command(flags, {program_path("plugin_host"), program_path(plugin), "deepbind"}));
            EXPECT_TRUE(check.outcome().exited(3)) << describe(check.outcome());
            EXPECT_TRUE(has(check.outcome().err, "were not seen: it finds functions past libpincheck.so"))
                << check.outcome().err;
        }
    }
}
// Found, perhaps never called: named, and no reason to fail.
TEST(BlindObject, I2_FunctionsOutsideTheListPassAndAreNamed) {
    Command command = run_command({"--check"}, {program_path("unlisted_copies"), "linked"});
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_BENCH;
    const FinishedRun check(command);
    EXPECT_TRUE(check.outcome().exited(0)) << describe(check.outcome());
    EXPECT_TRUE(has(check.outcome().err, "functions outside the list, where the program calls them"))
        << check.outcome().err;
    EXPECT_TRUE(has(check.outcome().err, "cudaMemcpyNextAsync")) << check.outcome().err;
}

// ---- Descendants that use CUDA without the tool

const std::string kBlindChild = "env -i LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH\" \"$0\" return";

// Runs `script` with its stderr in a file; says "go" when the blind child was seen.
Outcome with_blind_child(const std::vector<std::string>& flags, const std::string& script, std::string& err) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "err.txt";
    Command command = plain_command({"/bin/sh", "-c", "exec \"$@\" 2>" + file.string(), "sh"});
    const Command run = run_command(flags, {"/bin/sh", "-c", script, program_path("endings")});
    command.arguments.insert(command.arguments.end(), run.arguments.begin(), run.arguments.end());
    Running running(command, folder.path());
    EXPECT_TRUE(running.wait_for_line("ready"));
    EXPECT_TRUE(file_gets(file, "uses CUDA without the tool"));
    running.say("go\ngo\n");
    const Outcome outcome = running.wait();
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    err = text.str();
    return outcome;
}

TEST(BlindDescendant, K5_IsNamedAndLeavesNoConclusion) {
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--allow-no-cuda"}}) {
        std::vector<std::string> flags = {"--check", "--verbosity", "2"};
        flags.insert(flags.end(), more.begin(), more.end());
        std::string err;
        const Outcome outcome = with_blind_child(flags, kBlindChild + "; exit 0", err);
        EXPECT_TRUE(outcome.exited(3)) << describe(outcome) << err;
        EXPECT_EQ(outcome.out, "ready\nfailed 0\n");
        EXPECT_TRUE(has(err, "endings return) used CUDA")) << err;
    }
}
TEST(BlindDescendant, K5_AsTheProgramItself) {
    std::string err;
    const Outcome outcome = with_blind_child({"--check", "--verbosity=2"}, "exec " + kBlindChild, err);
    EXPECT_TRUE(outcome.exited(3)) << describe(outcome) << err;
}
// Its parent ends at once; the program goes on until it has said that it is done.
TEST(BlindDescendant, K5_AsAnOrphan) {
    std::string err;
    const std::string script =
        "exec 3<&0; mkfifo over; ((" + kBlindChild + " <&3; : >over) &); read line <over; exit 0";
    const Outcome outcome = with_blind_child({"--check", "--verbosity=2"}, script, err);
    EXPECT_TRUE(outcome.exited(3)) << describe(outcome) << err;
    EXPECT_TRUE(has(err, "endings return) used CUDA")) << err;
}
TEST(BlindDescendant, K5_BesideOneWithTheTool) {
    std::string err;
    const std::string script = "\"$0\" return </dev/null >/dev/null; " + kBlindChild;
    const Outcome outcome =
        with_blind_child({"--check", "--verbosity=2", "--fail-on", "straddles-registration"}, script, err);
    EXPECT_TRUE(outcome.exited(3)) << describe(outcome) << err;
    EXPECT_TRUE(has(err, "endings return) used CUDA")) << err;
    // What was seen still counts.
    const Outcome violated = with_blind_child({"--check", "--verbosity=2"}, script, err);
    EXPECT_TRUE(violated.exited(1)) << describe(violated) << err;
}

}  // namespace
}  // namespace pincheck::test
