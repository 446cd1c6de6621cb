// What fails a gate, what is only counted, and when there is no conclusion.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using report::CoverageKind;
using report::Direction;
using report::Loss;
using report::MemoryClass;

constexpr Direction kUp = Direction::host_to_device;
constexpr Direction kDown = Direction::device_to_host;
constexpr FrameText kUser{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};
constexpr FrameText kTorch{"/opt/libtorch_cuda.so"};
constexpr FrameText kVendor{"/opt/libcusolver.so.11"};

PolicyOptions strict() {
    PolicyOptions options;
    options.strict = true;
    return options;
}
PolicyOptions fail_on(std::vector<std::string> names) {
    PolicyOptions options;
    options.fail_on = std::move(names);
    return options;
}

TEST(Gate, passes_when_there_is_nothing) {
    const CaptureMaker maker;
    EXPECT_EQ(maker.judged().verdict, Verdict::pass);
    EXPECT_TRUE(maker.judged().reasons.empty());
}

TEST(Gate, t1_fails_for_the_user_and_not_for_the_library) {
    CaptureMaker user;
    user.copy(kDown, MemoryClass::pageable, {kUser}).then_synchronized = 100;
    EXPECT_EQ(user.judged().verdict, Verdict::violated);
    EXPECT_EQ(user.judged().gated.size(), 1u);
    CaptureMaker library;
    library.copy(kDown, MemoryClass::pageable, {kTorch}).then_synchronized = 100;
    EXPECT_EQ(library.judged().verdict, Verdict::pass);
    EXPECT_EQ(library.judged().not_gated.size(), 1u);
    EXPECT_EQ(library.judged(strict()).verdict, Verdict::violated);
    EXPECT_EQ(library.judged(fail_on({"copy-then-sync"})).verdict, Verdict::violated);
}

TEST(Gate, fails_for_a_non_blocking_copy_through_a_framework) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kTorch});
    EXPECT_EQ(maker.judged().verdict, Verdict::violated);
}

// M3: user code and a vendor's library both copy down into pageable memory.
TEST(Gate, m3_only_the_users_copy_is_actionable) {
    CaptureMaker maker;
    maker.copy(kDown, MemoryClass::pageable, {kVendor, kUser});
    EXPECT_EQ(maker.judged().verdict, Verdict::pass);
    maker.copy(kDown, MemoryClass::pageable, {kUser});
    const Judgement judgement = maker.judged();
    ASSERT_EQ(judgement.gated.size(), 1u);
    EXPECT_EQ(judgement.gated[0].site, 2u);
    ASSERT_EQ(judgement.not_gated.size(), 1u);
    EXPECT_EQ(judgement.not_gated[0].issuer, Origin::vendor);
    EXPECT_EQ(maker.judged(strict()).gated.size(), 2u);
    EXPECT_EQ(maker.judged(fail_on({"error"})).gated.size(), 1u) << "a vendor's copies gate with --strict only";
}

TEST(Gate, warnings_gate_only_when_asked_for) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::managed, {kUser});
    EXPECT_EQ(maker.judged().verdict, Verdict::pass);
    EXPECT_EQ(maker.judged(strict()).verdict, Verdict::violated);
    EXPECT_EQ(maker.judged(fail_on({"warning"})).verdict, Verdict::violated);
    EXPECT_EQ(maker.judged(fail_on({"copy-then-sync", "managed-async-copy"})).verdict, Verdict::violated);
    EXPECT_EQ(maker.judged(fail_on({"copy-then-sync"})).verdict, Verdict::pass);
}

TEST(Gate, fail_on_replaces_the_default) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUser});
    EXPECT_EQ(maker.judged(fail_on({"managed-async-copy"})).verdict, Verdict::pass);
    EXPECT_EQ(maker.judged(fail_on({"pageable-async-copy"})).verdict, Verdict::violated);
}

TEST(Gate, straddling_copies_gate) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::partly_registered, {kUser}).failed = 100;
    EXPECT_EQ(maker.judged().verdict, Verdict::violated);
}

TEST(AllowStaged, exempts_uploads_that_showed_no_wait) {
    PolicyOptions allow;
    allow.allow_staged = true;
    struct Case {
        Direction direction;
        std::uint64_t bytes;
        std::uint64_t longest_ns;
        Verdict verdict;
    };
    constexpr std::uint64_t kMiB = 1 << 20;
    for (const Case& one :
         {Case{kUp, 4096, 40'000, Verdict::pass}, Case{kUp, 4096, kMs - 1, Verdict::pass},
          Case{kUp, 4096, kMs, Verdict::violated}, Case{kUp, 2 * kMiB, 20 * kMs, Verdict::pass},
          Case{kUp, 2 * kMiB, 21 * kMs, Verdict::violated}, Case{kUp, 2 * kMiB + 1, 10'000, Verdict::violated},
          Case{kDown, 4096, 40'000, Verdict::violated}}) {
        CaptureMaker maker;
        maker.copy(one.direction, MemoryClass::pageable, {kUser}, 100, one.bytes, 10'000).host_ns_max = one.longest_ns;
        EXPECT_EQ(maker.judged(allow).verdict, one.verdict) << one.bytes << " B, " << one.longest_ns << " ns";
        EXPECT_EQ(maker.judged().verdict, Verdict::violated);
    }
}

// ---- No conclusion

void expect_blind(const CaptureMaker& maker, const std::string& reason, const PolicyOptions& options = {}) {
    const Judgement judgement = maker.judged(options);
    EXPECT_EQ(judgement.verdict, Verdict::no_conclusion) << reason;
    ASSERT_EQ(judgement.reasons.size(), 1u) << reason;
    EXPECT_NE(judgement.reasons[0].find(reason), std::string::npos) << judgement.reasons[0];
    // What gates gates, however little was seen.
    CaptureMaker worse = maker;
    worse.copy(kUp, MemoryClass::pageable, {kUser});
    EXPECT_EQ(worse.judged(options).verdict, Verdict::violated);
    EXPECT_EQ(worse.judged(options).reasons.size(), 1u);
}

TEST(Blind, without_a_report_or_a_call) {
    PolicyOptions allow;
    allow.allow_no_cuda = true;
    CaptureMaker none;
    none.loaded.capture.processes.clear();
    expect_blind(none, "no report");
    EXPECT_EQ(none.judged(allow).verdict, Verdict::pass);
    EXPECT_EQ(none.judged(allow, {"the program is static"}).verdict, Verdict::no_conclusion);
    EXPECT_EQ(none.judged({}, {"the program is static"}).reasons.size(), 1u);
    CaptureMaker quiet;
    quiet.loaded.capture.processes[0].cuda_calls = 0;
    expect_blind(quiet, "no CUDA call");
    EXPECT_EQ(quiet.judged(allow).verdict, Verdict::pass);
}

TEST(Blind, with_an_unreadable_or_damaged_file) {
    CaptureMaker unreadable;
    unreadable.loaded.errors.push_back("x.pcr is empty");
    expect_blind(unreadable, "x.pcr is empty");
    PolicyOptions allow;
    allow.allow_no_cuda = true;
    expect_blind(unreadable, "x.pcr is empty", allow);
    CaptureMaker cut;
    cut.loaded.capture.processes[0].problems = {"the file ends 10 bytes early", "and more"};
    expect_blind(cut, "job.pcr: the file ends 10 bytes early (and 1 more problem");
}

TEST(Gate, hidden_waits_gate_only_when_asked_for) {
    CaptureMaker maker;
    CaptureSite& site = maker.copy(report::Direction::none, MemoryClass::none, {kUser}, 100, 0);
    site.kind = report::SiteKind::release;
    site.api = "cudaFree";
    site.waits.push_back({report::WaitCause::device_wide,
                          report::WaitEvidence::order,
                          100,
                          300 * kMs,
                          3 * kMs,
                          1,
                          2,
                          1,
                          0,
                          0,
                          "",
                          0,
                          {}});
    EXPECT_EQ(maker.judged().verdict, Verdict::pass);
    EXPECT_EQ(maker.judged().not_gated.size(), 1u);
    PolicyOptions options;
    options.fail_on = {"hidden-wait"};
    EXPECT_EQ(maker.judged(options).verdict, Verdict::violated);
    options.fail_on = {"error"};
    EXPECT_EQ(maker.judged(options).verdict, Verdict::pass);
    options.fail_on = {"warning"};
    EXPECT_EQ(maker.judged(options).verdict, Verdict::violated);
    options = {};
    options.strict = true;
    EXPECT_EQ(maker.judged(options).verdict, Verdict::violated);
}

// A thread that lost its CPU must not fail a job.
TEST(Gate, hidden_waits_that_only_the_time_shows_never_gate) {
    for (const report::WaitCause cause :
         {report::WaitCause::device_wide, report::WaitCause::lock, report::WaitCause::unknown}) {
        CaptureMaker maker;
        CaptureSite& site = maker.copy(report::Direction::none, MemoryClass::none, {kUser}, 100, 0);
        site.kind = report::SiteKind::release;
        site.api = "cudaFree";
        CaptureWait& wait = site.waits.emplace_back();
        wait.cause = cause;
        wait.evidence = report::WaitEvidence::call;
        wait.calls = 100;
        wait.ns = 100 * 1'000 * kMs;
        wait.ns_max = 1'000 * kMs;
        for (const std::vector<std::string>& fail_on :
             {std::vector<std::string>{}, {"hidden-wait"}, {"warning", "error"}}) {
            PolicyOptions options;
            options.strict = fail_on.empty();
            options.fail_on = fail_on;
            EXPECT_EQ(maker.judged(options).verdict, Verdict::pass);
            ASSERT_EQ(maker.judged(options).not_gated.size(), 1u);
            EXPECT_EQ(maker.judged(options).not_gated[0].severity, Severity::note);
        }
    }
}

TEST(Blind, with_losses_that_hide_calls_and_no_others) {
    for (std::uint32_t kind = 1; kind < report::kLossKinds; ++kind) {
        const auto loss = static_cast<Loss>(kind);
        const bool hides = loss == Loss::sites || loss == Loss::threads || loss == Loss::counters ||
                           loss == Loss::image_full || loss == Loss::unrecorded || loss == Loss::unseen_copies ||
                           loss == Loss::races;
        CaptureMaker maker;
        maker.loaded.capture.processes[0].losses.push_back({loss, 7, 0});
        if (hides) {
            expect_blind(maker, "7 times");
        } else {
            EXPECT_EQ(maker.judged().verdict, Verdict::pass) << kind;
        }
        maker.loaded.capture.processes[0].losses[0].count = 0;
        EXPECT_EQ(maker.judged().verdict, Verdict::pass) << kind;
    }
    CaptureMaker full_disk;
    full_disk.loaded.capture.processes[0].losses.push_back({Loss::write_failed, 1, 28});
    full_disk.loaded.capture.processes[0].ended = false;
    expect_blind(full_disk, "write-failed");
}

TEST(Blind, with_functions_that_were_not_seen) {
    for (const CoverageKind kind : {CoverageKind::unknown_address, CoverageKind::foreign_provider}) {
        CaptureMaker maker;
        maker.loaded.capture.processes[0].coverage.push_back({kind, "cuMemcpyHtoDAsync"});
        expect_blind(maker, "copies through cuMemcpyHtoDAsync were not seen");
    }
    CaptureMaker bypassed;
    bypassed.loaded.capture.processes[0].coverage.push_back({CoverageKind::bypassed, "/opt/plugin.so (dlsym)"});
    expect_blind(bypassed, "CUDA calls of /opt/plugin.so (dlsym) were not seen");
    for (const CoverageKind kind :
         {CoverageKind::library, CoverageKind::route, CoverageKind::no_unwinder, CoverageKind::exports_off,
          CoverageKind::unlisted, CoverageKind::device_times, CoverageKind::no_device_times}) {
        CaptureMaker maker;
        maker.loaded.capture.processes[0].coverage.push_back({kind, "x"});
        EXPECT_EQ(maker.judged().verdict, Verdict::pass);
    }
}

TEST(Blind, with_async_copies_of_unknown_memory) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::unknown, {kUser}, 3);
    expect_blind(maker, "the memory of 3 asynchronous copies is not known");
    maker.loaded.capture.sites[0].flags = 0;
    EXPECT_EQ(maker.judged().verdict, Verdict::pass) << "synchronous";
}

TEST(Blind, not_because_a_process_was_killed) {
    CaptureMaker maker;
    maker.loaded.capture.processes[0].ended = false;
    EXPECT_EQ(maker.judged().verdict, Verdict::pass);
}

TEST(Blind, says_each_reason_once) {
    CaptureMaker maker;
    maker.loaded.capture.processes[0].coverage.push_back({CoverageKind::unknown_address, "cuX"});
    maker.loaded.capture.processes.push_back(maker.loaded.capture.processes[0]);
    EXPECT_EQ(maker.judged().reasons.size(), 1u);
}

}  // namespace
}  // namespace pincheck::test
