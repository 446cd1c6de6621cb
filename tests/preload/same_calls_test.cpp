// Every call gives back under the tool what it gives back without it: codes, outputs, errno, the last error (I7, P5).
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

Command calls(const std::string& program, std::vector<std::string> more = {}) {
    Command command;
    command.arguments = {program_path(program)};
    if (program.starts_with("same_calls_driver")) {
        more.insert(more.begin(), "in-callback");
    }
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return command;
}

void expect_same(const Command& command, std::size_t least_lines) {
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    const std::string& out = without.outcome().out;
    EXPECT_GT(static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')), least_lines);
    // Not because the tool was not there.
    EXPECT_GT(copies(with.report(), Direction::host_to_device).calls, 5u);
}

class SameCalls : public testing::TestWithParam<const char*> {};

TEST_P(SameCalls, I7_P5_EverythingThatComesBack) {
    expect_same(calls(GetParam()), 90);
}
// The driver begins to fail in the middle, for good.
TEST_P(SameCalls, I7_P5_AlsoWhenTheDriverFails) {
    for (const char* failing : {"cuMemcpyHtoDAsync_v2:700:2", "cuMemHostAlloc:2:2", "cuEventSynchronize:719",
                                "cuPointerGetAttributes:999", "cuCtxGetDevice:201"}) {
        Command command = calls(GetParam());
        command.environment["SIMCUDA_FAIL"] = failing;
        const FinishedRun with(command);
        const FinishedRun without(command.without_tool());
        EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << failing;
        EXPECT_EQ(with.outcome().out, without.outcome().out) << failing;
        EXPECT_EQ(with.outcome().err, without.outcome().err) << failing;
    }
}
TEST_P(SameCalls, I7_P5_WithoutADevice) {
    Command command = calls(GetParam());
    command.environment["SIMCUDA_DEVICES"] = "0";
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
}
TEST_P(SameCalls, I7_P5_WithEachRouteSwitchedOff) {
    for (const char* options : {"exports=off", "dlsym=off", "stacks=off", "depth=1", "exports=off:dlsym=off"}) {
        Command command = calls(GetParam());
        command.options = options;
        const FinishedRun with(command);
        const FinishedRun without(command.without_tool());
        EXPECT_EQ(with.outcome().out, without.outcome().out) << options;
        EXPECT_EQ(with.outcome().err, without.outcome().err) << options;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, SameCalls,
                         testing::Values("same_calls_runtime_shared", "same_calls_runtime_static",
                                         "same_calls_driver_linked", "same_calls_driver_dlsym",
                                         "same_calls_driver_lookup"),
                         [](const auto& of_test) { return std::string(of_test.param).substr(11); });

// Each of the runtime's calls as the very first of a process, before there is a context.
class FirstCall : public testing::TestWithParam<const char*> {};

TEST_P(FirstCall, I7_P5_IsTheSameBeforeAnyContext) {
    const FinishedRun plain(calls(GetParam()).without_tool());
    const std::string& out = plain.outcome().out;
    const std::string said = "first calls ";
    const std::size_t at = out.find(said);
    ASSERT_NE(at, std::string::npos) << describe(plain.outcome());
    const int count = std::stoi(out.substr(at + said.size()));
    ASSERT_GE(count, 15);
    for (int which = 0; which < count; ++which) {
        expect_same(calls(GetParam(), {std::to_string(which)}), 90);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, FirstCall, testing::Values("same_calls_runtime_shared", "same_calls_runtime_static"),
                         [](const auto& of_test) { return std::string(of_test.param).substr(11); });

}  // namespace
}  // namespace pincheck::test
