// What the screens say of a gate's settings, word for word.
#include <algorithm>

#include "golden.h"
#include "render_test_sample.h"

namespace pincheck {
namespace {

using test::finding_sample;
using test::frame_sample;
using test::kMs;
using test::kSecond;
using test::site_sample;

// One of everything that lets pass, and one that is new.
Judged settled(bool with_new) {
    using report::Direction;
    using report::MemoryClass;
    Judged job;
    Capture& capture = job.loaded.capture;
    capture.processes = {test::process_sample()};
    capture.modules = test::modules_sample();
    const char* const functions[] = {"Meter::update(float*)", "Cache::fill()", "to_device(Batch&)", "Log::flush()",
                                     "Ring::push(int)"};
    for (std::uint32_t i = 0; i < 5; ++i) {
        CaptureSite& site = capture.sites.emplace_back(
            site_sample(i + 1, Direction::device_to_host, MemoryClass::pageable, 100 >> i, 64 << 10, 3 * kMs));
        site.stack = {frame_sample(0, 0x1000 + i, functions[i], "/home/u/src/train.cu", 41 + i)};
    }
    if (!with_new) {
        capture.sites.pop_back();
    }
    job.findings = find(capture, Origins());
    PolicyOptions options;
    options.config = "pincheck.toml";
    options.today = std::chrono::year(2026) / 12 / 1;
    const auto add_row = [&](std::uint32_t line, const char* function, const char* reason) -> Suppression& {
        Suppression& row = options.suppressions.emplace_back();
        row.file = "ci/suppressions.toml";
        row.line = line;
        row.function = function;
        row.reason = reason;
        return row;
    };
    add_row(2, "Meter::update", "four bytes an epoch; ticket 1234");
    add_row(9, "Meter::old", "gone");
    add_row(16, "Ring::*", "until the ring is rewritten").expires = std::chrono::year(2026) / 11 / 30;
    add_row(23, "Ring::gone", "long ago").expires = std::chrono::year(2025) / 1 / 31;
    Threshold& threshold = options.thresholds.emplace_back();
    threshold.rule = Rule::pageable_async_copy;
    threshold.count = 12;
    threshold.held_ns = kSecond;
    auto baseline = std::make_shared<Baseline>();
    baseline->file = "ci/main.json";
    baseline->findings = 3;
    for (const Finding& finding : job.findings) {
        if (finding.site == 2 || finding.site == 3) {
            baseline->entries[finding.identity.fingerprint] = {
                {finding.identity.place, Severity::error, true, {finding.site == 2 ? 10u : 1'000u, 0, 0}}};
        }
    }
    baseline->entries["v1:1111111111111111"] = {{"gone", Severity::error, true, {}}};
    options.worse.count = with_new ? std::optional<std::uint32_t>(50) : std::nullopt;
    options.baseline = baseline;
    job.judgement = judge(job.loaded, job.findings, Origins(), options, {});
    return job;
}

ScreenOptions plain() {
    ScreenOptions options;
    options.checking = true;
    options.plain_numbers = false;
    return options;
}

TEST(GateScreen, tells_what_was_let_pass_and_what_is_new) {
    expect_golden("gate_fail", screen(settled(true), plain()));
}

TEST(GateScreen, lists_all) {
    ScreenOptions options = plain();
    options.all = true;
    expect_golden("gate_all", screen(settled(true), options));
}

TEST(GateScreen, passes_and_says_by_what) {
    expect_golden("gate_pass", screen(settled(false), plain()));
    const Judged job = settled(false);
    expect_golden("gate_pass_line", verdict_line(job.loaded, job.judgement, plain()), 120);
}

TEST(GateScreen, fits_a_narrow_terminal) {
    ScreenOptions options = plain();
    options.width = 60;
    options.all = true;
    expect_golden("gate_narrow", screen(settled(true), options), 60);
}

TEST(GateScreen, a_blind_run_has_fixed_nothing) {
    Judged job = settled(false);
    job.loaded.errors = {"x.pcr is empty"};
    PolicyOptions options = job.judgement.policy;
    job.judgement = judge(job.loaded, job.findings, Origins(), options, {});
    const std::string text = screen(job, plain());
    EXPECT_NE(text.find("baseline ci/main.json: 3 findings\n"), std::string::npos) << text;
}

TEST(GateScreen, is_tidy_whatever_files_and_reasons_say) {
    Judged job = settled(true);
    PolicyOptions options = job.judgement.policy;
    const std::string hostile = "a\n\x1b[2J\x07\xff\xe2\x80\xae" + std::string(500, 'x');
    options.config = hostile;
    for (Suppression& row : options.suppressions) {
        row.file = row.reason = hostile;
    }
    auto baseline = std::make_shared<Baseline>(*options.baseline);
    baseline->file = hostile;
    options.baseline = baseline;
    job.judgement = judge(job.loaded, job.findings, Origins(), options, {});
    ScreenOptions all = plain();
    all.all = true;
    expect_tidy(screen(job, all), all.width);
}

TEST(GateSite, says_what_let_it_pass) {
    const Judged job = settled(true);
    const auto& findings = job.judgement.not_gated;
    const auto suppressed =
        std::ranges::find(findings, Decision::suppressed, [](const Finding& one) { return one.ruling.decision; });
    ASSERT_NE(suppressed, findings.end());
    const std::string text =
        site_text(job.loaded.capture, job.loaded.capture.sites[0], {*suppressed}, Origins(), plain());
    EXPECT_NE(text.find("Suppressed by ci/suppressions.toml:2: four bytes an epoch; ticket 1234."), std::string::npos)
        << text;
}

}  // namespace
}  // namespace pincheck
