// Targets built with sanitizers run under the tool as they run without it (K7).
#include <gtest/gtest.h>

#include "facts.h"
#include "run_program.h"
#include "shell.h"

namespace pincheck::test {
namespace {

using namespace report;

Command sanitized(const std::string& program) {
    Command command;
    command.arguments = {program_path(program), "return"};
    // The leak checker stops threads by ptrace, which containers forbid; leaks are not what is asked here.
    command.environment["ASAN_OPTIONS"] = "detect_leaks=0";
    return command;
}

void expect_works(const Command& command) {
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << "without the tool: " << describe(without.outcome());
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text()) << describe(with.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(copies(with.report(), Direction::host_to_device, MemoryClass::pageable).calls, 15u);
    EXPECT_EQ(copies(with.report(), Direction::host_to_device, MemoryClass::pinned).calls, 15u);
}

TEST(Sanitizers, K7_AddressStatic) {
    expect_works(sanitized("endings_asan_static"));
}
TEST(Sanitizers, K7_Undefined) {
    expect_works(sanitized("endings_ubsan"));
}

// The shared runtime insists on coming first.
TEST(Sanitizers, K7_AddressSharedWithItsRuntimeFirst) {
    std::string runtime = shell_output(std::string(PINCHECK_TEST_CXX) + " -print-file-name=libasan.so");
    while (!runtime.empty() && runtime.back() == '\n') {
        runtime.pop_back();
    }
    ASSERT_EQ(runtime.rfind('/', 0), 0u) << runtime;
    Command command = sanitized("endings_asan_shared");
    command.preload = {runtime, tool_library()};
    expect_works(command);
}

TEST(Sanitizers, K7_Thread) {
    // Some kernels lay programs out where this sanitizer cannot work: then there is nothing to compare.
    const FinishedRun without(sanitized("endings_tsan").without_tool());
    if (!without.outcome().exited(0)) {
        GTEST_SKIP() << "the thread sanitizer does not run here: " << describe(without.outcome());
    }
    expect_works(sanitized("endings_tsan"));
}

}  // namespace
}  // namespace pincheck::test
