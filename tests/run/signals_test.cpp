// Neither the program nor whoever started us can tell that somebody is between them. What a signal does is asked only
// after the program has said that it is there.
#include <gtest/gtest.h>

#include <csignal>

#include "run_command.h"

namespace pincheck::test {
namespace {

Command uploads(const std::string& how, const std::vector<std::string>& flags = {}) {
    return run_command(flags, {program_path("endings"), how});
}

class Forwarded : public testing::TestWithParam<int> {};

TEST_P(Forwarded, ReachesTheProgramAndEndsUsTheSameWay) {
    for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--check"}}) {
        const TemporaryFolder folder;
        Running running(uploads("hang", flags), folder.path());
        ASSERT_TRUE(running.wait_for_line("ready"));
        running.say("go\n");
        ASSERT_TRUE(running.wait_for_line("ready"));
        running.say("go\n");  // from here on it only waits to be killed, whatever becomes of its input
        running.signal(GetParam());
        const Outcome outcome = running.wait();
        EXPECT_TRUE(outcome.killed_by(GetParam())) << describe(outcome);
        EXPECT_TRUE(has(outcome.err, "pincheck: ")) << outcome.err;
    }
}
INSTANTIATE_TEST_SUITE_P(Signals, Forwarded, testing::Values(SIGTERM, SIGHUP, SIGUSR1),
                         [](const auto& of_test) { return std::string(sigabbrev_np(of_test.param)); });

TEST(Ignored, InterruptAndQuitAreTheProgramsBusiness) {
    const TemporaryFolder folder;
    Running running(uploads("return"), folder.path());
    ASSERT_TRUE(running.wait_for_line("ready"));
    running.signal(SIGINT);
    running.signal(SIGQUIT);
    running.say("go\n");
    const Outcome outcome = running.wait();
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    EXPECT_TRUE(has(outcome.err, "pageable-async-copy")) << outcome.err;
}

// What the program finds of signals and descriptors, however we were started.
class Inherited : public testing::TestWithParam<const char*> {};

TEST_P(Inherited, SignalsAreAsWithoutUs) {
    const std::string before = std::string(GetParam()) + " exec \"$@\"";
    const std::vector<std::string> program = {"grep", "^Sig[BIC]", "/proc/self/status"};
    std::vector<std::string> plain = {"/bin/sh", "-c", before, "sh"};
    std::vector<std::string> under = plain;
    under.insert(under.end(), {PINCHECK_TEST_TOOL, "run", "--"});
    plain.insert(plain.end(), program.begin(), program.end());
    under.insert(under.end(), program.begin(), program.end());
    const FinishedRun with(plain_command(under));
    const FinishedRun without(plain_command(plain));
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
}
INSTANTIATE_TEST_SUITE_P(After, Inherited,
                         testing::Values("", "trap '' INT QUIT;", "trap '' PIPE HUP;", "trap '' CHLD;"),
                         [](const auto& of_test) { return "start" + std::to_string(of_test.index); });

TEST(Inherited, DescriptorsAndOutputAreAsWithoutUs) {
    const std::vector<std::string> program = {"/bin/sh", "-c", "ls -1 /proc/self/fd; printf 'a\\0b\\n'; env | sort"};
    std::string with = FinishedRun(run_command({}, program)).outcome().out;
    std::string without = FinishedRun(plain_command(program)).outcome().out;
    const auto without_lines = [](std::string text, const std::vector<std::string>& beginnings) {
        std::string kept;
        while (!text.empty()) {
            const std::string line = text.substr(0, text.find('\n') + 1);
            text.erase(0, line.size());
            bool drop = false;
            for (const std::string& beginning : beginnings) {
                drop = drop || line.rfind(beginning, 0) == 0;
            }
            kept += drop ? "" : line;
        }
        return kept;
    };
    // Each run has a folder of its own.
    const std::vector<std::string> own = {
        "PWD=", "OLDPWD=", "TMPDIR=", "HOME=", "LD_PRELOAD=", "PINCHECK_OPTIONS=", "_="};
    EXPECT_EQ(without_lines(with, own), without_lines(without, own));
}

}  // namespace
}  // namespace pincheck::test
