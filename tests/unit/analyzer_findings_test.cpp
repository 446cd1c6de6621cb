// Rules: what is said of which copy, in whose code, and in which order.
#include <gtest/gtest.h>

#include "analyzer/findings.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;

constexpr Direction kUp = Direction::host_to_device;
constexpr Direction kDown = Direction::device_to_host;
constexpr FrameText kUser{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
constexpr FrameText kTorch{"/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so"};
constexpr FrameText kNccl{"/usr/lib/libnccl.so.2"};
constexpr FrameText kFfi{"/usr/lib/libffi.so.8"};
constexpr FrameText kPython{"/usr/bin/python3.11"};

std::vector<Finding> find(const CaptureMaker& maker) {
    return pincheck::find(maker.loaded.capture, Origins());
}

// "" when there is none.
std::string rule_of(const CaptureMaker& maker) {
    const std::vector<Finding> findings = find(maker);
    EXPECT_LE(findings.size(), 1u);
    for (const RuleInfo& rule : rules()) {
        if (!findings.empty() && rule.rule == findings[0].rule) {
            EXPECT_EQ(rule.severity, findings[0].severity);
            EXPECT_EQ(rule_by_slug(rule.slug)->rule, rule.rule);
            return rule.slug;
        }
    }
    return "";
}

TEST(Rules, pageable_async_copies_of_the_user_are_errors_in_both_directions) {
    for (const Direction direction : {kUp, kDown}) {
        CaptureMaker maker;
        maker.copy(direction, MemoryClass::pageable, {kUser});
        EXPECT_EQ(rule_of(maker), "pageable-async-copy");
        EXPECT_EQ(find(maker)[0].severity, Severity::error);
        EXPECT_EQ(find(maker)[0].issuer, Origin::user);
        EXPECT_EQ(find(maker)[0].heading, 0);
        EXPECT_EQ(find(maker)[0].held_ns, 300 * kMs);
    }
}

TEST(Rules, page_locked_copies_are_fine) {
    for (const MemoryClass memory : {MemoryClass::pinned, MemoryClass::registered, MemoryClass::unknown}) {
        CaptureMaker maker;
        maker.copy(kUp, memory, {kUser});
        EXPECT_EQ(rule_of(maker), "") << static_cast<int>(memory);
    }
}

TEST(Rules, a_synchronous_copy_is_never_reported) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {kUser}).flags = 0;
    EXPECT_EQ(rule_of(maker), "");
}

TEST(Rules, a_blocking_copy_built_by_a_static_runtime_is_not_asynchronous) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {{"/home/me/train", "cudaMemcpy+0x1f"}, kUser}).api =
        "cuMemcpyDtoHAsync_v2";
    EXPECT_EQ(rule_of(maker), "");
    CaptureMaker other;
    other.copy(kDown, MemoryClass::pageable, {{"/home/me/train", "cudaMemcpyAsync+0x1f"}, kUser}).api =
        "cuMemcpyDtoHAsync_v2";
    EXPECT_EQ(rule_of(other), "pageable-async-copy");
    EXPECT_EQ(find(other)[0].api, "cudaMemcpyAsync");
    EXPECT_EQ(find(other)[0].heading, 1);
}

TEST(Rules, host_to_host_copies_belong_to_another_rule) {
    CaptureMaker maker;
    maker.copy(Direction::host_to_host, MemoryClass::pageable, {kUser});
    EXPECT_EQ(rule_of(maker), "");
}

TEST(Rules, copies_that_all_failed_or_were_empty_moved_nothing) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUser}).failed = 100;
    maker.copy(kUp, MemoryClass::pageable, {kUser}, 100, 0);
    EXPECT_EQ(rule_of(maker), "");
}

// T1: the same two calls, in a library and in the user's program.
TEST(Rules, t1_a_frameworks_blocking_copy_is_copy_then_sync_and_the_users_is_pageable) {
    CaptureMaker library;
    library.copy(kDown, MemoryClass::pageable, {kTorch, kPython}).then_synchronized = 100;
    EXPECT_EQ(rule_of(library), "copy-then-sync");
    EXPECT_EQ(find(library)[0].issuer, Origin::framework);
    CaptureMaker user;
    user.copy(kDown, MemoryClass::pageable, {kUser}).then_synchronized = 100;
    EXPECT_EQ(rule_of(user), "pageable-async-copy");
    EXPECT_NE(find(user)[0].fix.find("cudaMemcpy says so"), std::string::npos);
}

TEST(Rules, a_non_blocking_copy_that_the_user_asked_a_framework_for_is_pageable) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kTorch, kPython}).then_synchronized = 99;
    EXPECT_EQ(rule_of(maker), "pageable-async-copy");
    EXPECT_EQ(find(maker)[0].issuer, Origin::framework);
    // A killed process may have died between a copy and its wait.
    maker.loaded.capture.processes[0].ended = false;
    EXPECT_EQ(rule_of(maker), "copy-then-sync");
}

TEST(Rules, failed_copies_have_no_wait) {
    CaptureMaker maker;
    CaptureSite& site = maker.copy(kUp, MemoryClass::pageable, {kTorch});
    site.failed = 10;
    site.then_synchronized = 90;
    EXPECT_EQ(rule_of(maker), "copy-then-sync");
}

TEST(Rules, a_vendors_copies_stay_pageable_and_carry_the_vendor) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {kNccl, kTorch, kUser}).then_synchronized = 100;
    EXPECT_EQ(rule_of(maker), "pageable-async-copy");
    EXPECT_EQ(find(maker)[0].issuer, Origin::vendor);
}

TEST(Rules, an_interpreter_that_calls_cuda_itself_is_the_user) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {kFfi, kPython}).then_synchronized = 100;
    EXPECT_EQ(rule_of(maker), "pageable-async-copy");
    EXPECT_EQ(find(maker)[0].issuer, Origin::user);
    CaptureMaker wrapped;
    wrapped.copy(kDown, MemoryClass::pageable, {kFfi, kTorch, kPython}).then_synchronized = 100;
    EXPECT_EQ(rule_of(wrapped), "copy-then-sync") << "the first frame that is not the system's decides";
}

TEST(Rules, pinned_copies_of_the_user_that_are_always_waited_for_use_no_asynchrony) {
    const auto rule_with = [](std::uint64_t calls, std::uint64_t waited, FrameText who) {
        CaptureMaker maker;
        maker.copy(kUp, MemoryClass::pinned, {who}, calls).then_synchronized = waited;
        return rule_of(maker);
    };
    EXPECT_EQ(rule_with(10, 10, kUser), "copy-then-sync");
    EXPECT_EQ(rule_with(9, 9, kUser), "") << "too few to be a habit";
    EXPECT_EQ(rule_with(100, 99, kUser), "");
    EXPECT_EQ(rule_with(100, 100, kTorch), "") << "a library's own business";
}

TEST(Rules, managed_and_partly_registered) {
    CaptureMaker managed;
    managed.copy(kUp, MemoryClass::managed, {kUser});
    EXPECT_EQ(rule_of(managed), "managed-async-copy");
    CaptureMaker straddles;
    CaptureSite& site = straddles.copy(kUp, MemoryClass::partly_registered, {kUser}, 4);
    site.failed = 4;
    site.last_error = 1;
    site.flags = 0;
    EXPECT_EQ(rule_of(straddles), "straddles-registration") << "synchronous ones fail too";
    EXPECT_NE(find(straddles)[0].why.find("4 of 4 calls failed (error 1)"), std::string::npos)
        << find(straddles)[0].why;
    site.memory_boundary = 8192;
    EXPECT_NE(find(straddles)[0].why.find("8192 bytes into it"), std::string::npos) << find(straddles)[0].why;
}

TEST(Rules, captured_copies_are_findings_without_a_cost) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUser}).flags |= report::kSiteCaptured;
    EXPECT_EQ(rule_of(maker), "pageable-async-copy");
    EXPECT_EQ(find(maker)[0].held_ns, 0u);
    EXPECT_EQ(find(maker)[0].why.find("in total"), std::string::npos);
}

TEST(Rules, launches_of_graphs_are_judged_instead_of_the_calls_that_were_captured) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {kUser}, 1).flags |= report::kSiteCaptured;
    CaptureSite& launches = maker.copy(kDown, MemoryClass::pageable, {}, 500);
    launches.flags |= report::kSiteInGraph;
    launches.stack = maker.loaded.capture.sites[0].stack;
    maker.copy(kDown, MemoryClass::pageable, {kUser}, 1).flags |= report::kSiteCaptured;  // elsewhere, never launched
    const std::vector<Finding> findings = find(maker);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].site, 2u);
    EXPECT_GT(findings[0].held_ns, 0u);
    EXPECT_NE(findings[0].why.find("Every launch of the graph"), std::string::npos) << findings[0].why;
    EXPECT_EQ(findings[1].site, 3u);
}

TEST(Rules, launches_that_copy_page_locked_memory_leave_no_finding_of_the_captured_call) {
    // What a call captured is asked again when the graph is instantiated: that answer counts.
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUser}, 1).flags |= report::kSiteCaptured;
    CaptureSite& launches = maker.copy(kUp, MemoryClass::pinned, {}, 500);
    launches.flags |= report::kSiteInGraph;
    launches.stack = maker.loaded.capture.sites[0].stack;
    EXPECT_EQ(rule_of(maker), "");
}

TEST(Rules, batches_wait_by_direction_and_order_of_access) {
    const auto waits = [](Direction direction, report::SourceOrder order) {
        CaptureMaker maker;
        CaptureSite& site = maker.copy(direction, MemoryClass::pageable, {kUser});
        site.api = "cuMemcpyBatchAsync_v2";
        site.source_order = order;
        EXPECT_EQ(rule_of(maker), "pageable-async-copy");
        return find(maker)[0].why.find("waits for all work") != std::string::npos;
    };
    EXPECT_TRUE(waits(kUp, report::SourceOrder::stream));
    EXPECT_FALSE(waits(kDown, report::SourceOrder::stream));
    EXPECT_FALSE(waits(kUp, report::SourceOrder::during_call));
    EXPECT_TRUE(waits(kDown, report::SourceOrder::during_call));
    EXPECT_FALSE(waits(kUp, report::SourceOrder::any));
    EXPECT_FALSE(waits(kDown, report::SourceOrder::any));
}

TEST(Rules, host_memory_of_a_pool_waits_like_managed_memory) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::host_pool, {kUser});
    EXPECT_EQ(rule_of(maker), "managed-async-copy");
    EXPECT_NE(find(maker)[0].why.find("memory pool"), std::string::npos) << find(maker)[0].why;
    EXPECT_NE(find(maker)[0].fix.find("cudaMemPoolSetAccess"), std::string::npos) << find(maker)[0].fix;
}

TEST(Rules, with_the_hosts_page_tables_measured_blocking_decides) {
    CaptureMaker maker;
    maker.loaded.capture.processes[0].devices[0].host_page_tables = true;
    CaptureSite& site = maker.copy(kDown, MemoryClass::pageable, {kUser}, 100, 4096, 50'000);
    EXPECT_EQ(rule_of(maker), "");
    site.host_ns_max = 2 * kMs;
    EXPECT_EQ(rule_of(maker), "pageable-async-copy") << "nothing is known of it";
    // A long call is no wait when there was nothing to wait for: the machine was busy.
    const auto with = [&](report::WaitCause cause) {
        CaptureWait wait;
        wait.cause = cause;
        wait.evidence = report::WaitEvidence::order;
        wait.calls = 1;
        wait.ns = wait.ns_max = 2 * kMs;
        maker.loaded.capture.sites[0].waits = {wait};
        return rule_of(maker);
    };
    EXPECT_EQ(with(report::WaitCause::staging), "");
    EXPECT_EQ(with(report::WaitCause::lock), "hidden-wait") << "which is no matter of the memory";
    EXPECT_EQ(with(report::WaitCause::earlier_work), "pageable-async-copy");
    EXPECT_EQ(with(report::WaitCause::unknown), "pageable-async-copy");
}

TEST(Rules, why_says_what_kind_of_wait_with_numbers) {
    const auto why = [](Direction direction, std::uint64_t bytes, std::uint64_t each_ns) {
        CaptureMaker maker;
        maker.copy(direction, MemoryClass::pageable, {kUser}, 100, bytes, each_ns);
        return find(maker)[0].why;
    };
    EXPECT_EQ(why(kDown, 4, 3 * kMs),
              "The call waits for all work queued before it in its stream: median 2.10 ms or more, 300 ms in total.");
    EXPECT_NE(why(kUp, 64 << 20, 13 * kMs).find("Above 2 MiB"), std::string::npos);
    EXPECT_NE(why(kUp, 1 << 20, 100'000).find("No call was long enough to have waited"), std::string::npos);
    EXPECT_NE(why(kUp, 4096, 30 * kMs).find("waits when its staging memory is full"), std::string::npos);
}

TEST(Rules, downloads_are_told_to_wait_before_reading_and_uploads_before_changing) {
    for (const FrameText& who : {kUser, kTorch}) {
        CaptureMaker maker;
        maker.copy(kDown, MemoryClass::pageable, {who});
        maker.copy(kUp, MemoryClass::pageable, {who});
        const std::vector<Finding> findings = find(maker);
        EXPECT_NE(findings.at(0).fix.find("before reading it"), std::string::npos);
        EXPECT_NE(findings.at(1).fix.find("chang"), std::string::npos);
    }
}

// A4: four-byte downloads that hold their threads come before a large upload that does not.
TEST(Order, a4_by_time_held_and_not_by_bytes) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUser}, 100, 64 << 20, 1 * kMs);
    CaptureSite& small = maker.copy(kDown, MemoryClass::pageable, {kUser}, 100, 4, 25 * kMs);
    small.threads = 8;
    const std::vector<Finding> findings = find(maker);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].site, 2u);
}

TEST(Order, recurring_before_once) {
    CaptureMaker maker;
    CaptureSite& burst = maker.copy(kUp, MemoryClass::pageable, {kUser}, 100, 64 << 20, 10 * kMs);
    burst.first_ns = 1'000 * kMs;
    burst.last_ns = 1'999 * kMs;
    maker.copy(kUp, MemoryClass::pageable, {kUser}, 1, 64 << 20, 5'000 * kMs);
    maker.copy(kDown, MemoryClass::pageable, {kUser}, 100, 4, 1 * kMs);
    const std::vector<Finding> findings = find(maker);
    ASSERT_EQ(findings.size(), 3u);
    EXPECT_EQ(findings[0].site, 3u);
    EXPECT_FALSE(findings[0].once);
    EXPECT_EQ(findings[1].site, 2u);
    EXPECT_TRUE(findings[1].once);
    EXPECT_TRUE(findings[2].once);
    burst.last_ns = 2'000 * kMs;
    EXPECT_FALSE(in_one_burst(maker.loaded.capture, burst)) << "a tenth of the time is no burst";
}

TEST(RuleTable, has_a_text_for_each_rule_and_no_two_of_a_name) {
    EXPECT_EQ(rules().size(), 16u);
    for (const RuleInfo& rule : rules()) {
        EXPECT_EQ(rule_by_slug(rule.slug), &rule);
        EXPECT_GT(std::string(rule.explain).size(), 200u) << rule.slug;
    }
    EXPECT_EQ(rule_by_slug("pageable"), nullptr);
}

}  // namespace
}  // namespace pincheck::test
