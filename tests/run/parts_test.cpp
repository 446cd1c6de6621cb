// The pure parts of `run`.
#include <elf.h>
#include <gtest/gtest.h>

#include <fstream>

#include "analyzer/cmd_run.h"
#include "analyzer/descendants.h"
#include "analyzer/hints.h"
#include "analyzer/launcher.h"
#include "analyzer/preload_options.h"
#include "analyzer/target.h"
#include "run_command.h"

namespace pincheck::test {
namespace {

TEST(MergeOptions, FlagsComeAfterTheVariable) {
    EXPECT_EQ(merge_options("depth=3:stacks=off", {{"depth", "5"}}).text, "depth=5:stacks=off");
    EXPECT_EQ(merge_options("", {}).text, "");
    EXPECT_EQ(merge_options(":depth=3::", {}).text, "depth=3");
    EXPECT_EQ(merge_options("verbosity=0", {{"verbosity", "2"}}).verbosity, 2);
    EXPECT_EQ(merge_options("output=x=y:depth=3", {}).users_output, "x=y");
}
TEST(MergeOptions, MistakesAreNamed) {
    EXPECT_TRUE(has(merge_options("colour=1", {}).error, "'colour'"));
    EXPECT_TRUE(has(merge_options("stacks", {}).error, "on|off"));
    EXPECT_TRUE(has(merge_options("depth=65", {}).error, "1-64"));
    EXPECT_TRUE(has(merge_options("x\x1b[2J=1", {}).error, "\\x1b"));
}

TEST(ReadStat, NameMayHoldAnything) {
    const ProcessStat stat =
        read_stat("12 (a) b) (c) S 7 12 12 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4242 11 12 13 14 15 99 16");
    EXPECT_TRUE(stat.valid);
    EXPECT_EQ(stat.state, 'S');
    EXPECT_EQ(stat.parent, 7);
    EXPECT_EQ(stat.start_time, 4242u);
    EXPECT_EQ(stat.image, 99u);
    EXPECT_FALSE(read_stat("").valid);
    EXPECT_FALSE(read_stat("12 (a").valid);
    EXPECT_FALSE(read_stat("12 (a) S 7").valid);
}
TEST(ReadMappings, DriverAndToolByTheirFiles) {
    const auto line = [](const std::string& path) {
        return "7f00-7f01 r-xp 00000000 08:01 42                         " + path + "\n";
    };
    EXPECT_TRUE(read_mappings(line("/usr/lib/libcuda.so.580.159.04"), "libpincheck.so").driver);
    EXPECT_TRUE(read_mappings(line("/usr/lib/libcuda.so.1 (deleted)"), "libpincheck.so").driver);
    EXPECT_FALSE(read_mappings(line("/usr/lib/libcudart.so.13"), "libpincheck.so").driver);
    EXPECT_FALSE(read_mappings(line("/data/libcuda.so.1/notes"), "libpincheck.so").driver);
    EXPECT_FALSE(read_mappings("7f00-7f01 rw-p 00000000 00:00 0\n", "libpincheck.so").driver);
    EXPECT_TRUE(read_mappings(line("/my dir/libpincheck.so"), "other.so").tool);
    EXPECT_TRUE(read_mappings(line("/x/other.so"), "other.so").tool);
    EXPECT_FALSE(read_mappings("", "x").tool);
}

TEST(Target, KindsOfPrograms) {
    const Target shell = inspect_target({"sh"});
    EXPECT_EQ(shell.kind, TargetKind::dynamic);
    EXPECT_TRUE(has(shell.interpreter, "ld-linux"));
    EXPECT_FALSE(shell.needed.empty());
    EXPECT_EQ(inspect_target({"no-such-program-here"}).kind, TargetKind::not_found);
    EXPECT_EQ(inspect_target({"/etc/passwd"}).kind, TargetKind::other);
    EXPECT_EQ(inspect_target({"/"}).kind, TargetKind::not_found);
    EXPECT_TRUE(has(inspect_target({program_path("endings_asan_shared")}).address_sanitizer(), "libasan.so"));
    EXPECT_EQ(inspect_target({program_path("endings")}).address_sanitizer(), "");
}
TEST(Target, ScriptsAreWhatTheirInterpreterIs) {
    const TemporaryFolder folder;
    const auto script = [&](const std::string& first_line) {
        const auto path = folder.path() / "script";
        std::ofstream(path) << first_line << "\n";
        return inspect_target({path});
    };
    EXPECT_EQ(script("#!/bin/sh -e").kind, TargetKind::dynamic);
    EXPECT_TRUE(has(script("#! /usr/bin/env sh").path, "/sh"));
    EXPECT_EQ(script("#!/no/such").kind, TargetKind::not_found);
    EXPECT_EQ(script("#!").kind, TargetKind::other);
    EXPECT_EQ(script("#!" + (folder.path() / "script").string()).kind, TargetKind::other);
}
TEST(Target, DamagedAndForeignFiles) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "program";
    std::string bytes;
    {
        std::ifstream in("/bin/true", std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    const auto inspect = [&](const std::string& content) {
        std::ofstream(path, std::ios::binary) << content;
        return inspect_elf(path);
    };
    ASSERT_EQ(inspect(bytes).kind, TargetKind::dynamic);
    std::string narrow = bytes;
    narrow[EI_CLASS] = ELFCLASS32;
    EXPECT_EQ(inspect(narrow).kind, TargetKind::foreign);
    EXPECT_TRUE(has(hint_about_target(inspect(narrow), {}).text, "32-bit"));
    std::string foreign = bytes;
    foreign[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_S390);
    EXPECT_TRUE(has(hint_about_target(inspect(foreign), {}).text, "another machine"));
    // Whatever is cut or changed, it is looked at without harm.
    for (std::size_t size = 0; size < 1024; size += 7) {
        inspect(bytes.substr(0, size));
    }
    for (std::size_t at = sizeof(Elf64_Ehdr); at < 2048; ++at) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(0xff);
        inspect(changed);
    }
}

TEST(Hints, EnvOnlyWhenItEmpties) {
    EXPECT_TRUE(hint_about_launcher({"env", "-i", "x"}).blind);
    EXPECT_TRUE(hint_about_launcher({"/usr/bin/env", "-", "x"}).blind);
    EXPECT_TRUE(hint_about_launcher({"env", "--ignore-environment", "x"}).blind);
    EXPECT_FALSE(hint_about_launcher({"env", "A=b", "x", "-i"}).blind);
    EXPECT_FALSE(hint_about_launcher({"python3", "docker"}).blind);
    EXPECT_FALSE(hint_about_launcher({}).blind);
}

TEST(TakeProgram, BeginsAtTheFirstWordThatIsNoOption) {
    const auto taken = [](std::vector<const char*> words) {
        CommandLine line("pincheck", "");
        std::vector<std::string> program;
        add_run(line, program);
        words.insert(words.begin(), {"pincheck", "run"});
        std::vector<char*> argv;
        for (const char* word : words) {
            argv.push_back(const_cast<char*>(word));
        }
        take_program(line, static_cast<int>(argv.size()), argv.data(), program);
        return program;
    };
    using Words = std::vector<std::string>;
    EXPECT_EQ(taken({"a", "b"}), (Words{"a", "b"}));
    EXPECT_EQ(taken({"--check", "a", "--check"}), (Words{"a", "--check"}));
    EXPECT_EQ(taken({"--output", "o", "a"}), (Words{"a"}));
    EXPECT_EQ(taken({"--output=o", "a"}), (Words{"a"}));
    EXPECT_EQ(taken({"--depth", "5", "--", "--odd", "x"}), (Words{"--odd", "x"}));
    EXPECT_EQ(taken({"--", "--"}), (Words{"--"}));
    EXPECT_EQ(taken({"--check"}), Words{});
}

TEST(StatusOfExecError, AsShellsDo) {
    EXPECT_EQ(status_of_exec_error(ENOENT), 127);
    EXPECT_EQ(status_of_exec_error(EACCES), 126);
    EXPECT_EQ(status_of_exec_error(ENOEXEC), 126);
}

}  // namespace
}  // namespace pincheck::test
