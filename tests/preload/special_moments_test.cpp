// Calls that do not come back, copies into a capture, and calls on the driver's own threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

Command moment(const char* which) {
    Command command;
    command.arguments = {program_path("special_moments"), which};
    return command;
}

bool somebody_is_in_a_call(const Report& report) {
    for (const ThreadSlot& slot : report.threads) {
        if (slot.in_call_since_ns != 0) {
            return true;
        }
    }
    return false;
}

TEST(HungCall, K4_ReportNamesTheCallAndItsStack) {
    const TemporaryFolder folder;
    Running running(moment("hang"), folder.path());
    ASSERT_TRUE(running.wait_for_line("hanging"));
    // The file may be of a moment in one of the calls before.
    ASSERT_TRUE(report_becomes(folder.path(), [](const Report& report) {
        return std::ranges::any_of(report.threads, [&](const ThreadSlot& slot) {
            const std::string* api = slot.in_call_since_ns != 0 ? report.string(slot.in_call_api) : nullptr;
            return api != nullptr && *api == "cudaMemcpyAsync";
        });
    }));
    running.signal(SIGKILL);
    EXPECT_TRUE(running.wait().killed_by(SIGKILL));
    const auto files = report_files_in(folder.path());
    ASSERT_EQ(files.size(), 1u);
    const ReadResult read = read_report(files[0].string());
    ASSERT_EQ(read.error, ReadError::none) << read.message;
    const Report& report = read.report;
    EXPECT_EQ(report.header.state, FileState::running);
    ASSERT_TRUE(somebody_is_in_a_call(report));
    for (const ThreadSlot& slot : report.threads) {
        if (slot.in_call_since_ns != 0) {
            ASSERT_NE(report.string(slot.in_call_api), nullptr);
            EXPECT_EQ(*report.string(slot.in_call_api), "cudaMemcpyAsync");
            EXPECT_LE(slot.in_call_since_ns, report.header.snapshot_ns);
        }
    }
    // The site of the call that never returned is there with its stack, and no finished call.
    int sites = 0;
    for (const auto& [id, site] : report.sites) {
        if (site.record.direction == Direction::device_to_host) {
            ++sites;
            EXPECT_EQ(site.record.destination.kind, MemoryClass::pageable);
            const auto stack = report.stacks.find(site.record.stack);
            ASSERT_NE(stack, report.stacks.end());
            EXPECT_GE(stack->second.frames.size(), 2u);
        }
    }
    EXPECT_EQ(sites, 1);
    EXPECT_EQ(copies(report, Direction::device_to_host).calls, 0u);
}

TEST(Capture, CopiesIntoACaptureAreToldFromExecutedOnes) {
    const FinishedRun run(moment("capture"));
    const FinishedRun plain(moment("capture").without_tool());
    ASSERT_TRUE(plain.outcome().exited(0)) << describe(plain.outcome());
    EXPECT_EQ(run.outcome().out, plain.outcome().out);
    EXPECT_EQ(run.outcome().status_text(), plain.outcome().status_text());
    const Report report = run.report();
    std::uint64_t captured = 0;
    std::uint64_t executed_pinned = 0;
    std::uint64_t executed_pageable = 0;
    for (const CounterSlot& counter : report.counters) {
        const auto site = report.sites.find(counter.site);
        ASSERT_NE(site, report.sites.end());
        const SiteRecord& record = site->second.record;
        if (record.kind != SiteKind::copy) {
            continue;
        }
        std::uint64_t calls = 0;
        for (const std::uint64_t bucket : counter.histogram) {
            calls += bucket;
        }
        if ((record.flags & kSiteCaptured) != 0) {
            captured += calls;
            // Pointer queries do not disturb a capture: nothing stays unknown.
            EXPECT_TRUE(record.source.kind == MemoryClass::pinned || record.source.kind == MemoryClass::pageable);
        } else if (record.source.kind == MemoryClass::pinned) {
            executed_pinned += calls;
        } else if (record.source.kind == MemoryClass::pageable) {
            executed_pageable += calls;
        }
    }
    EXPECT_EQ(captured, 5u);
    // Executed once by themselves, and by two launches of the graph.
    EXPECT_EQ(executed_pinned, 3u + 2 * 3);
    EXPECT_EQ(executed_pageable, 2u + 2 * 2);
}

TEST(HostFunction, TheDriverIsNotAskedOnItsOwnThread) {
    const FinishedRun run(moment("host-function"));
    const FinishedRun plain(moment("host-function").without_tool());
    EXPECT_EQ(run.outcome().out, plain.outcome().out);
    EXPECT_EQ(run.outcome().status_text(), plain.outcome().status_text());
    const Report report = run.report();
    int driver_threads = 0;
    for (const ThreadSlot& slot : report.threads) {
        driver_threads += (slot.flags & kThreadDriverOwned) != 0 ? 1 : 0;
    }
    EXPECT_EQ(driver_threads, 1);
    const Totals uploads = copies(report, Direction::host_to_device, MemoryClass::pinned);
    EXPECT_EQ(uploads.calls, 2u);  // the refused one is classified by the program's own pin
    EXPECT_EQ(uploads.failed, 1u);
}

}  // namespace
}  // namespace pincheck::test
