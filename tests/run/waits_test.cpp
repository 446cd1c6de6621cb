// From calls that hold the host (tests/programs/held_calls.cu, and the samples) to what a reader is told of them.
#include <set>
#include <string>

#include "told.h"

namespace pincheck::test {
namespace {

TEST(Scenario, AReleaseBehindAKernelAndACopyBesideItAreHiddenWaits) {
    const Told told("beside_release", {1, 2});
    const Finding* const release = told.wait(WaitCause::device_wide, "release_pinned");
    ASSERT_NE(release, nullptr) << told.screen;
    EXPECT_EQ(release->rule, Rule::hidden_wait);
    EXPECT_GE(release->held_ns, 2 * kSecond) << "behind both gates";
    EXPECT_NE(release->fix.find("keep the page-locked buffer"), std::string::npos) << release->fix;
    const Finding* const copy = told.wait(WaitCause::lock, "upload");
    ASSERT_NE(copy, nullptr) << told.screen;
    EXPECT_GE(copy->held_ns, kSecond);
    EXPECT_NE(copy->why.find("cudaFreeHost at "), std::string::npos) << copy->why;
    // They are told and not gated.
    EXPECT_EQ(told.judgement.verdict, Verdict::pass) << told.screen;
    EXPECT_NE(told.screen.find("cudaFreeHost"), std::string::npos) << told.screen;
}

TEST(Scenario, WhatTheProgramAskedForAndWhatItCostsAreNoHiddenWaits) {
    const Told asked("beside_wait", {1});
    EXPECT_EQ(asked.waits(WaitCause::requested), 0u) << asked.screen;
    EXPECT_EQ(asked.waits(WaitCause::lock), 0u) << asked.screen;
    EXPECT_GE(plain_times(asked.loaded.capture, asked.origins).requested.ns, kSecond) << asked.screen;
    EXPECT_NE(asked.screen.find("\nWaits "), std::string::npos) << asked.screen;
    const Told cost("lock_pages", {}, {}, "threshold=1");
    EXPECT_EQ(cost.waits(WaitCause::pinning), 0u) << cost.screen;
    EXPECT_GE(plain_times(cost.loaded.capture, cost.origins).pinning.calls, 2u) << cost.screen;
    EXPECT_NE(cost.screen.find("\nCosts "), std::string::npos) << cost.screen;
}

// What was in front of a call is named, with its stream.
TEST(Scenario, E1_ReleasesSayWhichStreamTheyWaitedFor) {
    const Told told("E1", {1, 1, 1});
    for (const char* function : {"release_pinned", "release_device", "unregister"}) {
        const Finding* const release = told.wait(WaitCause::device_wide, function);
        ASSERT_NE(release, nullptr) << function << "\n" << told.screen;
        EXPECT_FALSE(release->presumed);
        EXPECT_NE(release->why.find("created at "), std::string::npos) << release->why;
    }
    EXPECT_EQ(told.judgement.verdict, Verdict::pass) << told.screen;
    const Told idle("releases_idle", {}, {}, "threshold=1");
    EXPECT_EQ(idle.waits(WaitCause::device_wide), 0u) << idle.screen;
}

TEST(Scenario, Q1_AFullQueueIsTold) {
    const Told told("Q1", {1});
    const Finding* const launch = told.wait(WaitCause::queue_full, "launch_work");
    ASSERT_NE(launch, nullptr) << told.screen;
    EXPECT_GE(launch->held_ns, kSecond);
    EXPECT_NE(launch->why.find("was full"), std::string::npos) << launch->why;
    EXPECT_NE(launch->why.find("created at "), std::string::npos) << launch->why;
    EXPECT_EQ(told.judgement.verdict, Verdict::pass) << told.screen;
    EXPECT_EQ(Told("queue_not_full", {}, {}, "threshold=1").waits(WaitCause::queue_full), 0u);
}

TEST(Scenario, E3_TheLegacyStreamIsNamedAndIdleWaitsAreCounted) {
    const Told told("E3_legacy", {1});
    const auto copy = std::ranges::find(told.findings, Rule::pageable_async_copy, &Finding::rule);
    ASSERT_NE(copy, told.findings.end()) << told.screen;
    EXPECT_GE(copy->held_ns, kSecond);
    EXPECT_NE(copy->why.find("the legacy default stream"), std::string::npos) << copy->why;
    EXPECT_NE(copy->why.find("created at "), std::string::npos) << copy->why;
    const Told idle("E3_idle");
    EXPECT_EQ(plain_times(idle.loaded.capture, idle.origins).idle_sync.calls, 100u) << idle.screen;
    EXPECT_TRUE(idle.says("waited for nothing")) << idle.screen;
    const Finding* const wait = idle.wait(WaitCause::idle_sync, "wait_for");
    ASSERT_NE(wait, nullptr) << idle.screen;
    EXPECT_NE(wait->why.find("100 of 100 calls"), std::string::npos) << wait->why;
    EXPECT_EQ(idle.judgement.verdict, Verdict::pass) << idle.screen;
    EXPECT_EQ(Told("needed_waits").waits(WaitCause::idle_sync), 0u);
}

TEST(Scenario, A4_SmallDownloadsSayWhatTheyWaitedForAndWhomTheyHeldUp) {
    const Told told("A4", {8});
    // That the results rely on these waits is a finding too.
    const auto copies = std::ranges::find(told.findings, Rule::pageable_async_copy, &Finding::rule);
    ASSERT_NE(copies, told.findings.end()) << told.screen;
    const Finding& worst = *copies;
    EXPECT_GE(worst.held_ns, 8 * kSecond);
    EXPECT_NE(worst.why.find("work queued before it"), std::string::npos) << worst.why;
    EXPECT_TRUE(told.says("Held up 8 threads")) << told.screen;
}

// nvcc makes functions of a kernel that lie between the launch and the runtime.
TEST(Scenario, Q2_ALaunchIsHeadedByItsLineAndNotByTheKernels) {
    const Told told("Q2", {}, {{"SIMCUDA_LOAD_US", "3000"}});
    std::set<std::string> headings;
    for (const CaptureSite& site : told.loaded.capture.sites) {
        const int heading = heading_frame(told.loaded.capture, site, told.origins);
        if (site.kind != report::SiteKind::launch || heading < 0) {
            continue;
        }
        const SourceLine* line = shown_line(site.stack[static_cast<std::size_t>(heading)], told.origins);
        ASSERT_NE(line, nullptr);
        const std::string name = bare_name(line->function);
        headings.insert(name.substr(name.rfind(':') + 1));
        EXPECT_EQ(called_api(told.loaded.capture, site, told.origins), "cudaLaunchKernel") << name;
    }
    EXPECT_TRUE(headings.contains("launch_work")) << told.screen;
    EXPECT_TRUE(headings.contains("launch_other_work")) << told.screen;
    EXPECT_FALSE(headings.contains("work")) << told.screen;
    EXPECT_GE(plain_times(told.loaded.capture, told.origins).module_loading.ns, 2 * 3'000'000u);
}

// Every call of it counts as held, so that each has some cause; none of them is told a second time.
TEST(Scenario, PageableCopiesTellTheirWaitsThemselves) {
    const Told told("staging", {}, {}, "threshold=1");
    EXPECT_EQ(told.waits(WaitCause::staging), 0u) << told.screen;
    EXPECT_EQ(told.waits(WaitCause::earlier_work), 0u) << told.screen;
    EXPECT_EQ(std::ranges::count(told.findings, Rule::pageable_async_copy, &Finding::rule), 2) << told.screen;
    const Told pinned("staging_pinned", {}, {}, "threshold=1");
    EXPECT_EQ(std::ranges::count(pinned.findings, Rule::pageable_async_copy, &Finding::rule), 0) << pinned.screen;
    EXPECT_EQ(pinned.waits(WaitCause::staging), 0u) << pinned.screen;
}

// ---- The samples say in their heads what is reported of them: the wrong half, and nothing of the right one.

TEST(Scenario, Q1_QueueFullSample) {
    const Told wrong = Told::sample("queue_full", "--run-ahead");
    EXPECT_NE(wrong.wait(WaitCause::queue_full, "main"), nullptr) << wrong.screen;
    EXPECT_EQ(wrong.judgement.verdict, Verdict::pass) << wrong.screen;
    EXPECT_EQ(Told::sample("queue_full").waits(WaitCause::queue_full), 0u);
}

TEST(Scenario, E1_HiddenFreeSample) {
    const Told wrong = Told::sample("hidden_free", "--in-loop");
    const Finding* const release = wrong.wait(WaitCause::device_wide, "main");
    ASSERT_NE(release, nullptr) << wrong.screen;
    EXPECT_FALSE(release->presumed);
    EXPECT_EQ(release->api, "cudaFreeHost");
    EXPECT_EQ(wrong.judgement.verdict, Verdict::pass) << wrong.screen;
    EXPECT_EQ(Told::sample("hidden_free").waits(WaitCause::device_wide), 0u);
}

TEST(Scenario, E3_DefaultStreamSample) {
    const Told wrong = Told::sample("default_stream", "--forgot");
    const auto copy = std::ranges::find(wrong.findings, Rule::pageable_async_copy, &Finding::rule);
    ASSERT_NE(copy, wrong.findings.end()) << wrong.screen;
    EXPECT_NE(copy->why.find("made without cudaStreamNonBlocking wait for each other"), std::string::npos) << copy->why;
    const Told right = Told::sample("default_stream");
    EXPECT_EQ(std::ranges::count(right.findings, Rule::pageable_async_copy, &Finding::rule), 0) << right.screen;
    EXPECT_EQ(right.waits(WaitCause::legacy_stream), 0u) << right.screen;
}

}  // namespace
}  // namespace pincheck::test
