// Rule hidden-wait: which waits are findings, how they are grouped, and what copies' own findings say of their waits.
#include <gtest/gtest.h>

#include "analyzer/findings.h"
#include "analyzer/hidden_waits.h"
#include "analyzer/wait_text.h"
#include "waits_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;
using report::SiteKind;
using report::WaitCause;
using report::WaitEvidence;

// A run of 10 s with one site.
Capture capture_of(CaptureSite site) {
    Capture capture;
    capture.processes = {process_sample()};
    capture.processes[0].duration_ns = 10 * kSecond;
    capture.modules = modules_sample();
    site.id = 1;
    capture.sites = {std::move(site)};
    return capture;
}

std::vector<Finding> find(const Capture& capture) {
    return pincheck::find(capture, Origins());
}

std::size_t found(SiteKind kind, const char* api, WaitCause cause, std::uint64_t calls, std::uint64_t each_ns) {
    CaptureSite site = call_sample(1, kind, api, calls, each_ns, 10);
    site.waits = {wait_sample(cause, calls, each_ns)};
    const std::vector<Finding> findings = find(capture_of(site));
    for (const Finding& finding : findings) {
        EXPECT_EQ(finding.rule, Rule::hidden_wait);
        EXPECT_EQ(finding.severity, cause == WaitCause::unknown ? Severity::note : Severity::warning);
        EXPECT_EQ(finding.cause, cause);
        EXPECT_EQ(finding.held_ns, calls * each_ns);
        EXPECT_FALSE(finding.why.empty());
    }
    return findings.size();
}

TEST(HiddenWaits, are_findings_by_their_cause) {
    EXPECT_EQ(found(SiteKind::release, "cudaFree", WaitCause::device_wide, 1, 100'000), 1u);
    EXPECT_EQ(found(SiteKind::launch, "cudaLaunchKernel", WaitCause::queue_full, 1, 100'000), 1u);
    EXPECT_EQ(found(SiteKind::synchronize, "cudaStreamSynchronize", WaitCause::legacy_stream, 1, 100'000), 1u);
    EXPECT_EQ(found(SiteKind::launch, "cudaLaunchKernel", WaitCause::lock, 1, 100'000), 1u);
    EXPECT_EQ(found(SiteKind::fill, "cudaMemsetAsync", WaitCause::earlier_work, 1, 100'000), 1u);
}

TEST(HiddenWaits, are_not_costs_nor_what_the_program_asked_for) {
    EXPECT_EQ(found(SiteKind::allocate, "cudaMallocHost", WaitCause::pinning, 100, 30 * kMs), 0u);
    EXPECT_EQ(found(SiteKind::launch, "cudaLaunchKernel", WaitCause::module_loading, 100, 30 * kMs), 0u);
    EXPECT_EQ(found(SiteKind::synchronize, "cudaDeviceSynchronize", WaitCause::requested, 100, 30 * kMs), 0u);
    EXPECT_EQ(found(SiteKind::copy, "cudaMemcpy", WaitCause::synchronous_copy, 100, 30 * kMs), 0u);
    EXPECT_EQ(found(SiteKind::copy, "cudaMemcpy", WaitCause::earlier_work, 100, 30 * kMs), 0u);
    EXPECT_EQ(found(SiteKind::synchronize, "cudaEventSynchronize", WaitCause::earlier_work, 100, 30 * kMs), 0u);
    EXPECT_EQ(found(SiteKind::synchronize, "cudaEventSynchronize", WaitCause::unknown, 100, 30 * kMs), 0u);
}

TEST(HiddenWaits, for_nothing_are_findings_when_they_are_a_habit_that_costs) {
    const auto idle = [](std::uint64_t calls, std::uint64_t each_ns) {
        return found(SiteKind::synchronize, "cudaStreamSynchronize", WaitCause::idle_sync, calls, each_ns);
    };
    EXPECT_EQ(idle(10, kMs), 1u);
    EXPECT_EQ(idle(9, 2 * kMs), 0u) << "too few";
    EXPECT_EQ(idle(1'000, 9'999), 0u) << "less than a thousandth of 10 s";
    EXPECT_EQ(idle(1'000, 10'000), 1u);
}

TEST(HiddenWaits, without_a_known_cause_are_findings_when_they_are_long) {
    const auto unknown = [](std::uint64_t calls, std::uint64_t each_ns) {
        return found(SiteKind::allocate, "cudaMalloc", WaitCause::unknown, calls, each_ns);
    };
    EXPECT_EQ(unknown(1, 9'999'999), 0u);
    EXPECT_EQ(unknown(1, 10 * kMs), 1u);
}

// By what the call is nobody knows whether the device was busy, and releasing takes time by itself.
TEST(HiddenWaits, that_are_presumed_are_findings_when_they_are_long) {
    const auto presumed = [](SiteKind kind, const char* api, WaitCause cause, std::uint64_t each_ns) {
        CaptureSite site = call_sample(1, kind, api, 1, each_ns, 10);
        site.waits = {wait_sample(cause, 1, each_ns, WaitEvidence::call)};
        const std::vector<Finding> findings = find(capture_of(site));
        for (const Finding& finding : findings) {
            EXPECT_TRUE(finding.presumed);
            EXPECT_EQ(finding.cause, cause);
        }
        return findings.size();
    };
    EXPECT_EQ(presumed(SiteKind::release, "cudaFreeHost", WaitCause::device_wide, 9'999'999), 0u);
    EXPECT_EQ(presumed(SiteKind::release, "cudaFreeHost", WaitCause::device_wide, 10 * kMs), 1u);
    EXPECT_EQ(presumed(SiteKind::launch, "cudaLaunchKernel", WaitCause::lock, 9'999'999), 0u);
    EXPECT_EQ(presumed(SiteKind::launch, "cudaLaunchKernel", WaitCause::lock, 10 * kMs), 1u);
}

TEST(HiddenWaits, that_are_presumed_do_not_claim_that_anything_ran) {
    CaptureSite site = call_sample(1, SiteKind::release, "cudaFreeHost", 10, 2 * kMs, 10);
    site.waits = {wait_sample(WaitCause::device_wide, 10, 2 * kMs, WaitEvidence::call)};
    const std::vector<Finding> findings = find(capture_of(site));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].why,
              "Such a call waits until everything on the device is done, work of other streams and threads included. "
              "Whether anything ran, or the release itself took the time, is not known: 10 calls, 20.0 ms in total, "
              "4.00 ms at most.");
}

// One place of which some calls' work was followed and that of others was not.
TEST(HiddenWaits, that_are_presumed_are_not_added_to_those_that_are_known) {
    CaptureSite site = call_sample(1, SiteKind::release, "cudaFree", 20, 15 * kMs, 10);
    site.waits = {wait_sample(WaitCause::device_wide, 10, 20 * kMs, WaitEvidence::order),
                  wait_sample(WaitCause::device_wide, 10, 10 * kMs, WaitEvidence::call)};
    const std::vector<Finding> findings = find(capture_of(site));
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_FALSE(findings[0].presumed);
    EXPECT_EQ(findings[0].held_ns, 200 * kMs);
    EXPECT_TRUE(findings[1].presumed);
    EXPECT_EQ(findings[1].held_ns, 100 * kMs);
}

// A pageable download behind a kernel looks like a slow one to a recorder that does not follow the stream.
TEST(HiddenWaits, of_pageable_copies_are_told_as_in_general_where_they_are_presumed) {
    for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
        CaptureSite site = site_sample(1, direction, MemoryClass::pageable, 10, 4 << 20, 30 * kMs);
        site.stack = {frame_sample(0, 0x10, "step", "/home/u/src/x.cu", 10)};
        const std::string in_general = find(capture_of(site)).at(0).why;
        site.waits = {wait_sample(WaitCause::staging, 10, 30 * kMs, WaitEvidence::call)};
        EXPECT_EQ(find(capture_of(site)).at(0).why, in_general);
        site.waits[0].evidence = WaitEvidence::order;
        EXPECT_NE(find(capture_of(site)).at(0).why, in_general);
        // Presumed ones beside those that are known.
        site.waits.push_back(wait_sample(WaitCause::staging, 5, 20 * kMs, WaitEvidence::call));
        EXPECT_NE(find(capture_of(site)).at(0).why.find("which of them is not known"), std::string::npos);
    }
    CaptureSite managed = site_sample(1, Direction::host_to_device, MemoryClass::managed, 10, 256, 30 * kMs);
    managed.stack = {frame_sample(0, 0x10, "step", "/home/u/src/x.cu", 10)};
    const std::string in_general = find(capture_of(managed)).at(0).why;
    managed.waits = {wait_sample(WaitCause::managed, 10, 30 * kMs, WaitEvidence::call)};
    EXPECT_EQ(find(capture_of(managed)).at(0).why, in_general);
}

TEST(HiddenWaits, say_what_was_waited_for_and_what_to_do) {
    const Capture capture = waiting_capture();
    const auto text = [&](WaitCause cause) {
        for (const Finding& finding : find(capture)) {
            if (finding.cause == cause) {
                return finding.why + " Fix: " + finding.fix;
            }
        }
        return std::string("none");
    };
    const auto says = [&](WaitCause cause, const char* part) {
        EXPECT_NE(text(cause).find(part), std::string::npos) << part << " in: " << text(cause);
    };
    says(WaitCause::device_wide, "80 calls, 240 ms in total, 6.00 ms at most");
    says(WaitCause::device_wide,
         "newest work was cudaMemcpyAsync at /opt/lib/data.cpp:88 in stream #1 (created at src/x.cu:110)");
    says(WaitCause::device_wide, "cudaFreeAsync");
    says(WaitCause::queue_full, "stream #2 was full (1,021 items not complete)");
    says(WaitCause::queue_full, "backpressure");
    says(WaitCause::legacy_stream, "cudaStreamNonBlocking");
    says(WaitCause::legacy_stream, "the legacy default stream");
    says(WaitCause::host_to_host, "use memcpy");
    says(WaitCause::lock, "cudaMallocHost at src/x.cu:70");
    says(WaitCause::idle_sync, "120,000 of 180,000 calls waited for nothing");
    says(WaitCause::unknown, "not known");
}

TEST(HiddenWaits, of_frees_advise_by_what_is_freed) {
    const auto fix = [](const char* api) {
        CaptureSite site = call_sample(1, SiteKind::release, api, 10, kMs, 10);
        site.waits = {wait_sample(WaitCause::device_wide, 10, kMs)};
        return find(capture_of(site)).at(0).fix;
    };
    EXPECT_NE(fix("cudaFree").find("cudaFreeAsync"), std::string::npos);
    EXPECT_NE(fix("cuMemFree_v2").find("cudaFreeAsync"), std::string::npos);
    EXPECT_NE(fix("cudaFreeHost").find("keep the page-locked buffer"), std::string::npos);
    EXPECT_NE(fix("cuMemHostUnregister").find("register the buffer once"), std::string::npos);
}

// E3: what a library does at several places is one thing to the user who called it once.
TEST(HiddenWaits, e3_of_one_library_call_of_the_users_frame_are_one_finding) {
    Capture capture = waiting_capture();
    capture.processes[0].duration_ns = 100 * kSecond;  // either site would be worth a finding
    std::size_t idle = 0;
    for (const Finding& finding : find(capture)) {
        if (finding.cause == WaitCause::idle_sync) {
            ++idle;
            EXPECT_EQ(finding.site, 8u);
            EXPECT_EQ(finding.also, std::vector<std::uint32_t>{9});
            EXPECT_EQ(finding.held_ns, 2 * 60'000ULL * 3'000);
            EXPECT_EQ(finding.heading, 1) << "the user's frame";
            EXPECT_EQ(finding.issuer, Origin::framework);
            EXPECT_NE(finding.why.find("Made by at::reduce, in 2 places of it."), std::string::npos) << finding.why;
        }
    }
    EXPECT_EQ(idle, 1u);
    // From another line of the user's it is another finding.
    Capture other = capture;
    other.sites[8].stack[1].offset += 8;
    EXPECT_EQ(find(other).size(), find(capture).size() + 1);
}

TEST(HiddenWaits, are_led_by_the_site_that_was_held_longest) {
    Capture capture = waiting_capture();
    capture.sites[8].waits[0].ns += 1;
    for (const Finding& finding : find(capture)) {
        if (finding.cause == WaitCause::idle_sync) {
            EXPECT_EQ(finding.site, 9u);
            EXPECT_EQ(finding.also, std::vector<std::uint32_t>{8});
        }
    }
}

TEST(HiddenWaits, of_pageable_copies_are_told_in_their_own_finding) {
    const Capture capture = waiting_capture();
    for (const Finding& finding : find(capture)) {
        if (finding.rule == Rule::hidden_wait) {
            EXPECT_NE(finding.site, 1u);
            EXPECT_NE(finding.site, 2u);
        } else if (finding.site == 1) {
            EXPECT_EQ(finding.rule, Rule::pageable_async_copy);
            EXPECT_EQ(
                finding.why,
                "The call waits for work queued before it in stream #1 (created at src/x.cu:110), newest: "
                "cudaMemcpyAsync at /opt/lib/data.cpp:88 (while kernel train_step(float*) ran); 6,000 calls, 18.6 s "
                "in total, 6.20 ms at most. Another 1.20 s in 240 calls went to the driver, which moved the bytes "
                "through the CPU. Held up 8 threads; delayed work for streams #2, #3.");
            EXPECT_NE(finding.fix.find("The wait for earlier work then moves to there."), std::string::npos);
        } else if (finding.site == 2) {
            EXPECT_EQ(finding.why,
                      "The driver moves every byte of pageable memory through the CPU, inside the call: median 524 us "
                      "or more, 5.50 s in total. 12 of 6,240 calls returned before the copy had ended (staged); the "
                      "calls lasted 99.8 % of the time to completion.");
        }
    }
}

TEST(HiddenWaits, of_page_locked_copies_are_findings_beside_copy_then_sync) {
    CaptureSite site = site_sample(1, Direction::host_to_device, MemoryClass::pinned, 1'000, 4096, 100'000);
    site.stack = {frame_sample(0, 0x10, "step", "/home/u/src/x.cu", 10)};
    site.then_synchronized = 1'000;
    site.waits = {wait_sample(WaitCause::queue_full, 500, 150'000)};
    const std::vector<Finding> findings = find(capture_of(site));
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].rule, Rule::copy_then_sync);
    EXPECT_EQ(findings[1].rule, Rule::hidden_wait);
}

TEST(HiddenWaits, of_managed_copies_are_told_in_their_own_finding) {
    CaptureSite site = site_sample(1, Direction::host_to_device, MemoryClass::managed, 1'000, 256, 100'000);
    site.stack = {frame_sample(0, 0x10, "step", "/home/u/src/x.cu", 10)};
    site.waits = {wait_sample(WaitCause::managed, 1'000, 100'000)};
    const std::vector<Finding> findings = find(capture_of(site));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, Rule::managed_async_copy);
    EXPECT_EQ(findings[0].why,
              "The call waits for work queued before it in its stream; median 65.5 us or more, 100 ms "
              "in total.");
}

TEST(HiddenWaits, of_graph_launches_are_not_told_twice) {
    CaptureSite launch = call_sample(1, SiteKind::graph_launch, "cudaGraphLaunch", 100, kMs, 10);
    launch.waits = {wait_sample(WaitCause::staging, 100, kMs)};
    Capture capture = capture_of(launch);
    EXPECT_EQ(find(capture).size(), 1u);
    CaptureSite copy = site_sample(2, Direction::host_to_device, MemoryClass::pageable, 100, 4096, kMs);
    copy.flags |= report::kSiteInGraph;
    copy.stack = {frame_sample(0, 0x10, "step", "/home/u/src/x.cu", 10)};
    capture.sites.push_back(copy);
    const std::vector<Finding> findings = find(capture);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, Rule::pageable_async_copy);
}

TEST(HiddenWaits, of_a_runtimes_blocking_copy_were_asked_for) {
    CaptureSite site = site_sample(1, Direction::device_to_host, MemoryClass::pageable, 10, 4096, kMs);
    site.api = "cuMemcpyDtoHAsync_v2";
    site.stack = {frame_sample(0, 0x8, "cudaMemcpy"), frame_sample(0, 0x10, "step", "/home/u/src/x.cu", 10)};
    site.waits = {wait_sample(WaitCause::earlier_work, 10, kMs)};
    const Capture capture = capture_of(site);
    EXPECT_TRUE(find(capture).empty());
    EXPECT_EQ(plain_times(capture, Origins()).synchronous_copy.ns, 10 * kMs);
}

TEST(PlainTimes, add_up_costs_and_what_was_asked_for) {
    const PlainTimes times = plain_times(waiting_capture(), Origins());
    EXPECT_EQ(times.pinning.calls, 14u);
    EXPECT_EQ(times.pinning.ns, 14 * 26 * kMs);
    EXPECT_EQ(times.module_loading.calls, 3u);
    EXPECT_EQ(times.requested.ns, 180 * kSecond);
    EXPECT_EQ(times.synchronous_copy.calls, 0u);
    EXPECT_EQ(times.idle_sync.calls, 120'000u);
    EXPECT_EQ(times.synchronisations, 180'000u);
}

TEST(CallShare, tells_staged_from_held) {
    CaptureSite site = site_sample(1, Direction::host_to_device, MemoryClass::pageable, 10, 64 << 20, 12 * kMs);
    EXPECT_EQ(call_share_text(site), "");
    site.transfers = {transfer_sample(site, kMs, 12 * kMs)};
    EXPECT_EQ(call_share_text(site), "The calls lasted 100 % of the time to completion.");
    site.transfers[0].host_ns = 6 * kMs;
    site.transfers[0].returned_early = 10;
    EXPECT_EQ(call_share_text(site),
              "10 of 10 calls returned before the copy had ended (staged); the calls lasted 5.0 % of the time to "
              "completion.");
    site.source.kind = MemoryClass::pinned;
    EXPECT_EQ(call_share_text(site),
              "10 of 10 calls returned before the copy had ended; the calls lasted 5.0 % of the time to completion.");
}

TEST(HeldUp, names_four_streams_and_counts_the_rest) {
    CaptureSite site;
    EXPECT_EQ(held_up_text(site), "");
    site.threads_held = 8;
    EXPECT_EQ(held_up_text(site), "Held up 8 threads.");
    site.waits = {wait_sample(WaitCause::earlier_work, 1, 1), wait_sample(WaitCause::staging, 1, 1)};
    site.waits[0].delayed_streams = {7};
    EXPECT_EQ(held_up_text(site), "Held up 8 threads; delayed work for stream #7.");
    site.waits[1].delayed_streams = {2, 3, 5, 7, 11, 13};
    EXPECT_EQ(held_up_text(site), "Held up 8 threads; delayed work for streams #2, #3, #5, #7 and 2 more.");
    site.threads_held = 1;
    EXPECT_TRUE(held_up_text(site).starts_with("Delayed work for streams #2"));
}

}  // namespace
}  // namespace pincheck::test
