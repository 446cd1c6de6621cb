// PINCHECK_OPTIONS: what is not understood is said once, in one line, by processes that use CUDA, and changes nothing
// else.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

Command endings_with(const std::string& options) {
    Command command;
    command.arguments = {program_path("endings"), "return"};
    command.options = options;
    return command;
}

struct Mistake {
    const char* name;
    const char* options;
    const char* mentioned;
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
    *out << mistake.options;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreSaidInOneLine) {
    const FinishedRun run(endings_with(GetParam().options));
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().out, "ready\nfailed 0\n");
    EXPECT_EQ(run.outcome().err.rfind("pincheck: ", 0), 0u) << run.outcome().err;
    EXPECT_EQ(std::count(run.outcome().err.begin(), run.outcome().err.end(), '\n'), 1) << run.outcome().err;
    EXPECT_NE(run.outcome().err.find(GetParam().mentioned), std::string::npos) << run.outcome().err;
    EXPECT_EQ(copies(run.report(), Direction::host_to_device).calls, 30u);
}

TEST_P(Mistakes, AreNotSaidWithoutCuda) {
    Command command;
    command.arguments = {"/bin/sh", "-c", "echo fine"};
    command.options = GetParam().options;
    const FinishedRun run(command);
    EXPECT_EQ(run.outcome().out, "fine\n");
    EXPECT_EQ(run.outcome().err, "");
    EXPECT_TRUE(run.report_files().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Of, Mistakes,
    testing::Values(Mistake{"unknown_key", "no_such_key=1", "no_such_key"},
                    Mistake{"bad_number", "depth=many", "depth"}, Mistake{"depth_zero", "depth=0", "depth"},
                    Mistake{"bad_switch", "stacks=maybe", "stacks"}, Mistake{"bad_choice", "cmdline=some", "cmdline"},
                    Mistake{"bad_cupti", "cupti=some", "cupti"}, Mistake{"bad_verbosity", "verbosity=9", "verbosity"},
                    Mistake{"no_value", "stacks", "stacks"}),
    [](const testing::TestParamInfo<Mistake>& of_test) { return std::string(of_test.param.name); });

TEST(Options, GoodOnesSayNothing) {
    const FinishedRun run(endings_with("stacks=on:depth=20:exports=on:dlsym=on:cupti=off:cmdline=full:verbosity=1"));
    EXPECT_TRUE(run.outcome().exited(0));
    EXPECT_EQ(run.outcome().err, "");
    EXPECT_EQ(copies(run.report(), Direction::host_to_device).calls, 30u);
}

TEST(Options, VerbosityZeroIsSilentEvenOfMistakes) {
    const FinishedRun run(endings_with("verbosity=0:no_such_key=1"));
    EXPECT_TRUE(run.outcome().exited(0));
    EXPECT_EQ(run.outcome().err, "");
}

TEST(Options, EmptyAndOddSeparatorsAreHarmless) {
    for (const char* options : {":", "::", "depth=8:", ":depth=8"}) {
        const FinishedRun run(endings_with(options));
        EXPECT_TRUE(run.outcome().exited(0)) << options;
        EXPECT_EQ(run.outcome().out, "ready\nfailed 0\n") << options;
        EXPECT_EQ(copies(run.report(), Direction::host_to_device).calls, 30u) << options;
    }
}

}  // namespace
}  // namespace pincheck::test
