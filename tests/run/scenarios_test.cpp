// Patterns that people have reported in public (tests/programs/scenarios.cu), from the program to the verdict.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "analyzer/findings.h"
#include "analyzer/policy.h"
#include "analyzer/render_text_parts.h"
#include "run_command.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;

// One run under `pincheck run --check`, and what the analyzer makes of its report.
struct Judged {
    explicit Judged(std::vector<std::string> arguments, const char* mode = nullptr)
        : run(command(std::move(arguments), mode)) {
        const auto folders = job_folders(run.folder());
        EXPECT_EQ(folders.size(), 1u) << describe(run.outcome());
        if (!folders.empty()) {
            loaded = load_capture({folders.front()});
            findings = find(loaded.capture, origins);
            judgement = judge(loaded, findings, origins, {}, {});
        }
    }
    // `mode`: a setting of the simulated device that is switched on.
    static Command command(std::vector<std::string> arguments, const char* mode) {
        arguments.insert(arguments.begin(), program_path("scenarios"));
        Command command = run_command({"--check"}, arguments);
        command.environment["SIMCUDA_KERNEL_US"] = "3000";
        if (mode != nullptr) {
            command.environment[mode] = "1";
        }
        return command;
    }
    const CaptureSite& site(const Finding& finding) const { return loaded.capture.sites[finding.site - 1]; }
    // The function that a finding is headed by.
    std::string heading(const Finding& finding) const {
        if (finding.heading < 0) {
            return "?";
        }
        const SourceLine* line = shown_line(site(finding).stack[static_cast<std::size_t>(finding.heading)], origins);
        return line == nullptr ? "?" : line->function;
    }
    bool stack_has(const Finding& finding, const std::string& function) const {
        const auto& stack = site(finding).stack;
        return std::any_of(stack.begin(), stack.end(), [&](const CaptureFrame& frame) {
            return std::any_of(frame.lines.begin(), frame.lines.end(), [&](const SourceLine& line) {
                return line.function.find(function) != std::string::npos;
            });
        });
    }
    std::size_t gated(Rule rule) const {
        return static_cast<std::size_t>(
            std::ranges::count(judgement.gated, rule, [](const Finding& finding) { return finding.rule; }));
    }

    FinishedRun run;
    Origins origins;
    LoadResult loaded;
    std::vector<Finding> findings;
    Judgement judgement;
};

TEST(Scenario, A1_BothDirectionsOfAPageableBufferAreGated) {
    const Judged judged({"A1"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 2u);
    std::set<Direction> directions;
    for (const Finding& finding : judged.judgement.gated) {
        directions.insert(judged.site(finding).direction);
        EXPECT_TRUE(judged.stack_has(finding, "A1")) << judged.heading(finding);
        EXPECT_EQ(judged.site(finding).bytes, 2 * (64ull << 20));
        // The download waits for the kernel, and the second upload too.
        EXPECT_GT(finding.held_ns, 3'000'000u);
        EXPECT_NE(finding.fix.find("once, outside the loop"), std::string::npos) << finding.fix;
    }
    EXPECT_EQ(directions, (std::set{Direction::host_to_device, Direction::device_to_host}));
}

// Reaching pageable memory from the device (HMM) does not make its copies asynchronous.
TEST(Scenario, A1_IsGatedAlsoWhereTheDeviceReachesPageableMemory) {
    const Judged judged({"A1"}, "SIMCUDA_PAGEABLE_ACCESS");
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    EXPECT_EQ(judged.gated(Rule::pageable_async_copy), 2u);
    EXPECT_TRUE(judged.loaded.capture.processes.at(0).devices.at(0).pageable_access);
}

// With the host's page tables (Grace) what was measured decides: nothing waits here.
TEST(Scenario, T1_IsNotGatedWhereTheDeviceSharesTheHostsPageTables) {
    const Judged judged({"T1_user"}, "SIMCUDA_HOST_PAGE_TABLES");
    EXPECT_TRUE(judged.run.outcome().exited(0)) << describe(judged.run.outcome());
    EXPECT_TRUE(judged.loaded.capture.processes.at(0).devices.at(0).host_page_tables);
    const auto copy = std::ranges::find(judged.loaded.capture.sites, SiteKind::copy, &CaptureSite::kind);
    ASSERT_NE(copy, judged.loaded.capture.sites.end());
    EXPECT_EQ(copy->source.kind, MemoryClass::pageable) << "it is what it is, and no finding";
}

TEST(Scenario, A2_FileMappingIsNamedWithItsPath) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "weights of a model.bin";
    std::ofstream(file) << std::string(4 << 20, 'w');
    const Judged judged({"A2", file});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 1u);
    const CaptureSite& site = judged.site(judged.judgement.gated.front());
    EXPECT_EQ(site.memory_file, file.string());
    EXPECT_EQ(site.calls, 4u);
    for (const CaptureSite& other : judged.loaded.capture.sites) {
        EXPECT_TRUE(other.memory_file.empty() || other.id == site.id) << other.api << ": a wait has no memory";
    }
    EXPECT_EQ(host_memory_text(site), "pageable (file mapping of " + file.string() + ")");
    EXPECT_TRUE(has(judged.run.outcome().err, "file mapping of")) << judged.run.outcome().err;
}

TEST(Scenario, A3_CopiesOfAWrapperAreToldApartByTheFunctionsThatUseIt) {
    const Judged judged({"A3"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 4u) << judged.run.outcome().err;
    for (const char* user : {"first_user", "second_user"}) {
        EXPECT_EQ(std::ranges::count_if(judged.judgement.gated,
                                        [&](const Finding& finding) { return judged.stack_has(finding, user); }),
                  2)
            << user;
    }
    for (const Finding& finding : judged.judgement.gated) {
        EXPECT_EQ(judged.site(finding).calls, 3u);
        EXPECT_TRUE(judged.stack_has(finding, "scenario_transfer"));
    }
}

TEST(Scenario, A4_SmallCopiesThatWaitComeBeforeLargeOnesThatDoNot) {
    const Judged judged({"A4"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 2u) << judged.run.outcome().err;
    const Finding& worst = judged.judgement.gated.front();
    EXPECT_TRUE(judged.stack_has(worst, "small_downloads")) << judged.heading(worst);
    EXPECT_EQ(judged.site(worst).bytes_max, 4u);
    EXPECT_EQ(judged.site(worst).threads, 8u);
    EXPECT_TRUE(judged.site(worst).memory_on_stack);
    EXPECT_TRUE(judged.stack_has(judged.judgement.gated.back(), "large_uploads"));
    // Four kernels of 3 ms each, in eight threads; and no more than the program's own clock saw around the calls.
    EXPECT_GE(worst.held_ns, 8 * 4 * 2'900'000u);
    std::uint64_t own_ns = 0;
    ASSERT_EQ(std::sscanf(judged.run.outcome().out.c_str(), "downloads %" SCNu64, &own_ns), 1)
        << judged.run.outcome().out;
    EXPECT_LE(worst.held_ns, own_ns);
}

TEST(Scenario, A5_MemoryLockedByTheSystemIsPageableAndTheSameRangeRegisteredIsNot) {
    const Judged judged({"A5"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 1u) << judged.run.outcome().err;
    EXPECT_TRUE(judged.stack_has(judged.judgement.gated.front(), "locked_by_the_system"));
    const auto registered = std::ranges::find_if(judged.loaded.capture.sites, [](const CaptureSite& site) {
        return site.kind == SiteKind::copy && site.source.kind == MemoryClass::registered;
    });
    ASSERT_NE(registered, judged.loaded.capture.sites.end());
    EXPECT_EQ(registered->calls, 1u);
}

TEST(Scenario, A6_PinnedMemoryBehindALibrarysPinnedBufferIsNoFinding) {
    const Judged judged({"A6"});
    EXPECT_TRUE(judged.run.outcome().exited(0)) << describe(judged.run.outcome());
    EXPECT_TRUE(judged.findings.empty()) << judged.run.outcome().err;
}

TEST(Scenario, S2_WhatAHostFunctionFillsLaterIsPageableAndOldDataIsUploaded) {
    const Judged judged({"S2"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    EXPECT_TRUE(has(judged.run.outcome().out, "uploaded 0\n")) << judged.run.outcome().out;
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 1u);
    EXPECT_TRUE(judged.stack_has(judged.judgement.gated.front(), "S2"));
}

#if PINCHECK_TEST_CUDA_MAJOR >= 13
TEST(Scenario, D1_BatchCopiesAreOneSiteForEachOrderOfAccess) {
    const Judged judged({"D1"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    std::map<report::SourceOrder, std::uint64_t> calls;
    for (const CaptureSite& site : judged.loaded.capture.sites) {
        if (site.kind == SiteKind::copy) {
            EXPECT_EQ(site.source.kind, MemoryClass::pageable);
            EXPECT_EQ(site.direction, Direction::host_to_device);
            calls[site.source_order] += site.calls;
        }
    }
    EXPECT_EQ(calls, (std::map<report::SourceOrder, std::uint64_t>{{report::SourceOrder::stream, 1},
                                                                   {report::SourceOrder::during_call, 1}}));
}
#endif

TEST(Scenario, T1_ALibrarysBlockingCopyIsNotGated) {
    const Judged judged({"T1_library"});
    EXPECT_TRUE(judged.run.outcome().exited(0)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.judgement.not_gated.size(), 1u);
    EXPECT_EQ(judged.judgement.not_gated.front().rule, Rule::copy_then_sync);
}

TEST(Scenario, T1_TheSameTwoCallsOfTheUserAreGated) {
    const Judged judged({"T1_user"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.gated(Rule::pageable_async_copy), 1u);
    EXPECT_TRUE(judged.stack_has(judged.judgement.gated.front(), "mine_and_wait"));
}

TEST(Scenario, M3_AVendorsDownloadIsInformation) {
    const Judged judged({"M3_vendor"});
    EXPECT_TRUE(judged.run.outcome().exited(0)) << describe(judged.run.outcome());
    // The copy, and that its result relies on the driver's wait.
    EXPECT_EQ(judged.judgement.not_gated.size(), 2u);
    const auto copy = std::ranges::find(judged.judgement.not_gated, Rule::pageable_async_copy, &Finding::rule);
    ASSERT_NE(copy, judged.judgement.not_gated.end());
    EXPECT_EQ(copy->issuer, Origin::vendor);
    EXPECT_TRUE(has(judged.run.outcome().err, "in vendor libraries  1 site, 5 copies")) << judged.run.outcome().err;
}

TEST(Scenario, M3_OnlyTheUsersDownloadIsActionable) {
    const Judged judged({"M3_both"});
    EXPECT_TRUE(judged.run.outcome().exited(1)) << describe(judged.run.outcome());
    ASSERT_EQ(judged.judgement.gated.size(), 1u) << judged.run.outcome().err;
    EXPECT_TRUE(judged.stack_has(judged.judgement.gated.front(), "my_download"));
    EXPECT_EQ(std::ranges::count(judged.judgement.not_gated, Rule::pageable_async_copy, &Finding::rule), 1);
    EXPECT_EQ(std::ranges::count(judged.judgement.not_gated, Rule::relies_on_staging, &Finding::rule), 2);
}

}  // namespace
}  // namespace pincheck::test
