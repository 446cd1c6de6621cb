// Programs that know nothing of it, with the library preloaded: not attached, and attached before they begin.
#include <regex>

#include "shell.h"
#include "trap_run.h"

namespace pincheck::test {
namespace {

// Addresses differ from run to run.
std::string without_addresses(const std::string& text) {
    return std::regex_replace(text, std::regex("0x[0-9a-f]+"), "0x…");
}

void expect_unchanged(Command command) {
    command.preload.clear();
    const FinishedRun without(command);
    command.preload = {trap_library()};
    const FinishedRun with(command);
    command.preload.push_back(program_path("trap_attaches"));
    const FinishedRun attached(command);
    for (const FinishedRun* run : {&with, &attached}) {
        EXPECT_EQ(run->outcome().status_text(), without.outcome().status_text()) << describe(run->outcome());
        EXPECT_EQ(run->outcome().out, without.outcome().out);
        EXPECT_EQ(without_addresses(run->outcome().err), without_addresses(without.outcome().err));
    }
}

TEST(Programs, AShellWithAPipelineAndATrap) {
    Command command;
    command.arguments = {"/bin/sh", "-c",
                         "trap 'echo ended' EXIT; ls / | sort | head -3; echo $(printf '%s' one two); (exit 7); "
                         "echo $?; sh -c 'kill -SEGV $$'; echo $?"};
    expect_unchanged(command);
}

TEST(Programs, AShellThatHandlesTheSignal) {
    Command command;
    command.arguments = {"bash", "-c",
                         "trap 'echo got it' SEGV; kill -SEGV $$; trap '' SEGV; kill -SEGV $$; echo on; "
                         "bash -c 'kill -SEGV $$; echo still'; trap - SEGV; kill -SEGV $$; echo never"};
    expect_unchanged(command);
}

TEST(Programs, Git) {
    Command command;
    command.arguments = {"/bin/sh", "-c",
                         "git init -q . && echo text > file && git add file && "
                         "GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' "
                         "git -c user.name=n -c user.email=e commit -q -m one && git log --format=%H && git status -s"};
    expect_unchanged(command);
}

TEST(Programs, TheCompiler) {
    Command command;
    command.arguments = {"/bin/sh", "-c",
                         "printf '#include <cstdio>\\nint main() { std::puts(\"made\"); }\\n' > a.cpp && '" +
                             std::string(PINCHECK_TEST_CXX) +
                             "' -O1 -o a a.cpp && ./a && echo 'int x = ;' > b.cpp && '" +
                             std::string(PINCHECK_TEST_CXX) + "' -c b.cpp"};
    expect_unchanged(command);
}

TEST(Programs, PythonWithItsFaultHandler) {
    Command command;
    command.arguments = {"python3", "-c", "import sys; print(sum(range(10)))"};
    if (!FinishedRun(command.without_tool()).outcome().exited(0)) {
        GTEST_SKIP() << "no python3";
    }
    expect_unchanged(command);
    command.arguments = {"python3", "-X", "faulthandler", "-c",
                         "import ctypes\ndef inner():\n    ctypes.string_at(0)\ninner()"};
    expect_unchanged(command);
    command.arguments = {
        "python3", "-X", "faulthandler", "-c",
        "import signal, os\n"
        "signal.signal(signal.SIGSEGV, lambda n, f: print('got', n))\n"
        "os.kill(os.getpid(), signal.SIGSEGV)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])\n"
        "print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))\n"
        "import subprocess\n"
        "print(subprocess.run(['grep', 'Sig[BI]', '/proc/self/status'], capture_output=True, env={}).stdout)\n"
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGSEGV])\n"
        "os.kill(os.getpid(), signal.SIGSEGV)"};
    expect_unchanged(command);
}

TEST(Programs, SanitizedOnes) {
    for (const char* kind : {"address", "undefined"}) {
        Command command;
        command.environment["ASAN_OPTIONS"] = "detect_leaks=0:color=never";
        command.arguments = {"/bin/sh", "-c",
                             "LD_PRELOAD= '" + std::string(PINCHECK_TEST_CXX) + "' -g -fsanitize=" + kind +
                                 " -static-libasan -x c++ -o a - <<'X' && ./a; echo $?\n"
                                 "#include <unistd.h>\n#include <cstring>\n"
                                 "int main() { char b[8]; int p[2]; return pipe(p) + (write(p[1], \"abc\", 3) != 3) +\n"
                                 "  (read(p[0], b, 8) != 3); }\nX"};
        expect_unchanged(command);
    }
}

TEST(Programs, CallsBeforeTheLibraryIsReady) {
    Command command;
    command.arguments = {program_path("trap_early")};
    command.preload = {program_path("trap_early_plugin")};
    const FinishedRun without(command);
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(without.outcome().out, "resolver 1 constructor 1\npreinit -1\nwrite -1\n");
    command.preload = {trap_library(), program_path("trap_early_plugin")};
    const FinishedRun with(command);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
}

TEST(Programs, AnotherLibraryInFrontOfLibcIsStillCalled) {
    Command command;
    command.arguments = {program_path("trap_early")};
    for (const bool attached : {false, true}) {
        command.preload = {trap_library(), program_path("trap_passes_by")};
        if (attached) {
            command.preload.push_back(program_path("trap_attaches"));
        }
        EXPECT_EQ(FinishedRun(command).outcome().out, "preinit -1\nwrite 4242\n");
    }
}

}  // namespace
}  // namespace pincheck::test
