// A fork's child starts afresh: own file, no CUDA call of the tool's, the parent undisturbed (K3).
#include <gtest/gtest.h>

#include <algorithm>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

Command fork_mode(const std::string& mode) {
    Command command;
    command.arguments = {program_path("forks"), mode};
    return command;
}

struct Family {
    Report parent;
    std::vector<Report> children;
};

Family family_of(const FinishedRun& run) {
    Family family;
    for (const auto& file : run.report_files()) {
        ReadResult result = read_report(file.string());
        if (result.error != ReadError::none) {
            continue;  // a child that ended by _exit at once; endings_test.cpp asks for its file
        }
        Report& report = result.report;
        // The parent is the one that made 30 uploads or more.
        if (copies(report, Direction::host_to_device).calls >= 30) {
            family.parent = std::move(report);
        } else {
            family.children.push_back(std::move(report));
        }
    }
    return family;
}

void expect_same_as_without(const FinishedRun& run, const Command& command) {
    const FinishedRun plain(command.without_tool());
    EXPECT_EQ(run.outcome().out, plain.outcome().out);
    EXPECT_EQ(run.outcome().err, plain.outcome().err);
    EXPECT_EQ(run.outcome().status_text(), plain.outcome().status_text());
}

class Fork : public testing::TestWithParam<const char*> {};

TEST_P(Fork, K3_ProgramIsTheSameAndTheParentsFileIsWhole) {
    const FinishedRun run(fork_mode(GetParam()));
    expect_same_as_without(run, fork_mode(GetParam()));
    const Family family = family_of(run);
    EXPECT_EQ(copies(family.parent, Direction::host_to_device, MemoryClass::pageable).calls, 15u);
    EXPECT_EQ(family.parent.header.state, FileState::ended);
    EXPECT_EQ(family.parent.problems, std::vector<std::string>{});
    EXPECT_EQ(losses_text(family.parent), "");
    ASSERT_TRUE(family.parent.process);
    EXPECT_EQ(family.parent.process->after_cuda_fork, 0u);
}

INSTANTIATE_TEST_SUITE_P(Mode, Fork,
                         testing::Values("before-exit", "before-_exit", "after-exit", "after-_exit", "after-exec",
                                         "after-idle", "after-busy", "vfork-exec", "raw-clone", "after-_Fork",
                                         "posix_spawn", "after-load-exit", "after-load-_exit", "after-walks-exit"),
                         [](const auto& of_test) {
                             std::string name = of_test.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(ForkBeforeCuda, K3_ChildAndParentEachHaveAllTheirCopies) {
    const Family family = family_of(FinishedRun(fork_mode("before-exit")));
    ASSERT_EQ(family.children.size(), 1u);
    const Report& child = family.children.front();
    EXPECT_EQ(copies(child, Direction::host_to_device, MemoryClass::pinned).calls, 5u);
    EXPECT_EQ(copies(child, Direction::host_to_device, MemoryClass::pageable).calls, 5u);
    EXPECT_EQ(child.header.state, FileState::ended);
    ASSERT_TRUE(child.process);
    EXPECT_EQ(child.process->after_cuda_fork, 0u);
    ASSERT_TRUE(family.parent.process);
    EXPECT_EQ(child.process->parent_pid, family.parent.process->pid);
}

// CUDA does not work there: every call fails, and the report must not look like a clean one.
TEST(ForkAfterCuda, K3_ChildsFileIsFlagged) {
    const Family family = family_of(FinishedRun(fork_mode("after-exit")));
    ASSERT_EQ(family.children.size(), 1u);
    const Report& child = family.children.front();
    ASSERT_TRUE(child.process);
    EXPECT_EQ(child.process->after_cuda_fork, 1u);
    EXPECT_NE(child.process->pid, family.parent.process->pid);
    const Totals all = totals(child, [](const SiteRecord& site) { return site.kind == SiteKind::copy; });
    EXPECT_EQ(all.calls, 10u);
    EXPECT_EQ(all.failed, 10u);
    EXPECT_TRUE(child.ranges.empty());
}

// Twenty of them, made while four threads are in the middle of copies.
TEST(ForkAfterCuda, K3_EachChildOfABusyParentHasItsOwnFile) {
    const Family family = family_of(FinishedRun(fork_mode("after-load-exit")));
    ASSERT_EQ(family.children.size(), 20u);
    for (const Report& child : family.children) {
        ASSERT_TRUE(child.process);
        EXPECT_EQ(child.process->after_cuda_fork, 1u);
        EXPECT_EQ(child.header.state, FileState::ended);
        const Totals all = totals(child, [](const SiteRecord& site) { return site.kind == SiteKind::copy; });
        EXPECT_EQ(all.calls, 10u);
        EXPECT_EQ(all.failed, 10u);
        EXPECT_EQ(lost(child, Loss::unrecorded) + lost(child, Loss::counters) + lost(child, Loss::threads), 0u);
    }
}

TEST(ForkAfterCuda, K3_ChildWithoutACallLeavesNoFile) {
    EXPECT_EQ(family_of(FinishedRun(fork_mode("after-idle"))).children.size(), 0u);
    EXPECT_EQ(family_of(FinishedRun(fork_mode("after-busy"))).children.size(), 0u);
}

TEST(ForkAfterCuda, K3_ExecdChildIsAProgramOfItsOwn) {
    for (const char* mode : {"after-exec", "vfork-exec", "posix_spawn"}) {
        const Family family = family_of(FinishedRun(fork_mode(mode)));
        ASSERT_EQ(family.children.size(), 1u) << mode;
        EXPECT_EQ(copies(family.children.front(), Direction::host_to_device).calls, 6u) << mode;
        ASSERT_TRUE(family.children.front().process);
        EXPECT_EQ(family.children.front().process->after_cuda_fork, 0u) << mode;
    }
}

}  // namespace
}  // namespace pincheck::test
