// Device memory of another process is device memory: both processes' copies of it are in their reports.
#include <gtest/gtest.h>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

constexpr std::uint64_t kBytes = 10000;  // of each copy

Totals all_succeeded(std::uint64_t calls) {
    return {.calls = calls, .failed = 0, .bytes = calls * kBytes, .then_synchronized = 0};
}

// Whether the call was followed by a wait is no matter here.
Totals made(const Report& report, Direction direction, MemoryClass host) {
    Totals totals = copies(report, direction, host);
    totals.then_synchronized = 0;
    return totals;
}

// Copies with something else than device memory on the device's side, and copies by another call.
std::uint64_t others(const Report& report) {
    return totals(report,
                  [&](const SiteRecord& site) {
                      if (site.kind != SiteKind::copy) {
                          return false;
                      }
                      const bool to_device = site.direction != Direction::device_to_host;
                      const bool from_device = site.direction != Direction::host_to_device;
                      return (to_device && site.destination.kind != MemoryClass::device) ||
                             (from_device && site.source.kind != MemoryClass::device) ||
                             api_of(report, site) != "cudaMemcpyAsync";
                  })
        .calls;
}

class IpcMemory : public testing::Test {
  protected:
    static Command command() {
        Command command;
        command.arguments = {program_path("ipc_copies")};
        return command;
    }
    void SetUp() override {
        ASSERT_TRUE(run_.outcome().exited(0)) << describe(run_.outcome());
        auto reports = run_.reports();
        ASSERT_EQ(reports.size(), 2u);
        Report& first = reports.begin()->second;
        Report& second = reports.rbegin()->second;
        ASSERT_TRUE(first.process && second.process);
        const bool first_is_parent = second.process->parent_pid == first.process->pid;
        ASSERT_TRUE(first_is_parent || first.process->parent_pid == second.process->pid);
        parent_ = std::move(first_is_parent ? first : second);
        child_ = std::move(first_is_parent ? second : first);
    }

    FinishedRun run_{command()};
    Report parent_, child_;
};

TEST_F(IpcMemory, CopiesOfTheProcessThatSharesItAreCounted) {
    EXPECT_EQ(made(parent_, Direction::host_to_device, MemoryClass::pinned), all_succeeded(3));
    EXPECT_EQ(made(parent_, Direction::host_to_device, MemoryClass::pageable), all_succeeded(2));
    EXPECT_EQ(made(parent_, Direction::device_to_host, MemoryClass::pinned), all_succeeded(1));
    EXPECT_EQ(made(parent_, Direction::device_to_host, MemoryClass::pageable), all_succeeded(1));
    EXPECT_EQ(copies(parent_, Direction::device_to_device).calls, 0u);
}

TEST_F(IpcMemory, CopiesOfTheProcessThatOpensItAreCounted) {
    EXPECT_EQ(made(child_, Direction::device_to_host, MemoryClass::pinned), all_succeeded(4));
    EXPECT_EQ(made(child_, Direction::device_to_host, MemoryClass::pageable), all_succeeded(5));
    EXPECT_EQ(made(child_, Direction::host_to_device, MemoryClass::pageable), all_succeeded(2));
    EXPECT_EQ(made(child_, Direction::host_to_device, MemoryClass::pinned), all_succeeded(1));
    EXPECT_EQ(copies(child_, Direction::device_to_device).calls, 1u);
    EXPECT_EQ(copies(child_, Direction::device_to_device).bytes, kBytes);
}

TEST_F(IpcMemory, IsDeviceMemoryInBothReports) {
    for (const Report* report : {&parent_, &child_}) {
        EXPECT_EQ(others(*report), 0u);
        EXPECT_EQ(losses_text(*report), "");
        EXPECT_EQ(report->problems, std::vector<std::string>{});
        EXPECT_EQ(report->header.state, FileState::ended);
    }
}

TEST_F(IpcMemory, ProgramDoesAsWithoutTheTool) {
    const FinishedRun plain(command().without_tool());
    EXPECT_EQ(run_.outcome().out, plain.outcome().out);
    EXPECT_EQ(run_.outcome().err, plain.outcome().err);
    EXPECT_EQ(run_.outcome().status_text(), plain.outcome().status_text());
}

}  // namespace
}  // namespace pincheck::test
