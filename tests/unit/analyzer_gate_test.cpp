// What a gate's settings let pass: thresholds, suppressions, and all of them together.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;

constexpr Direction kUp = Direction::host_to_device;
constexpr Direction kDown = Direction::device_to_host;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr FrameText kUpdate{"/home/me/train", "Meter::update(float*)", "/home/me/src/meter.cu", 41};
constexpr FrameText kMain{"/home/me/train", "main", "/home/me/src/main.cu", 7};

using Days = std::chrono::sys_days;
constexpr Days day(int year, unsigned month, unsigned day) {
    return std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
}

Threshold threshold(const std::string& text) {
    Threshold result;
    EXPECT_EQ(parse_threshold(text, result), "") << text;
    return result;
}

Suppression row(std::string function, std::vector<Rule> rules = {Rule::pageable_async_copy}) {
    Suppression result;
    result.file = "gate.toml";
    result.line = 3;
    result.rules = std::move(rules);
    result.function = std::move(function);
    result.reason = "looked at";
    return result;
}

Judgement judged_with(const CaptureMaker& maker, const Suppression& suppression) {
    PolicyOptions options;
    options.suppressions = {suppression};
    options.today = day(2026, 12, 1);
    return maker.judged(options);
}

bool suppresses(const CaptureMaker& maker, const Suppression& suppression) {
    return judged_with(maker, suppression).verdict == Verdict::pass;
}

// ---- Thresholds

TEST(Thresholds, let_pass_what_is_at_or_below_every_limit) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate}, 10, kMiB, 500'000);  // 10 MiB, 5 ms
    for (const auto& [limits, verdict] :
         std::vector<std::pair<std::string, Verdict>>{{"count=10", Verdict::pass},
                                                      {"count=9", Verdict::violated},
                                                      {"bytes=10MiB", Verdict::pass},
                                                      {"bytes=10485759", Verdict::violated},
                                                      {"held=5ms", Verdict::pass},
                                                      {"held=4999us", Verdict::violated},
                                                      {"count=10,bytes=10MiB,held=5ms", Verdict::pass},
                                                      {"count=9,bytes=10MiB,held=5ms", Verdict::violated},
                                                      {"count=1000,held=4ms", Verdict::violated}}) {
        PolicyOptions options;
        options.thresholds = {threshold("pageable-async-copy:" + limits)};
        EXPECT_EQ(maker.judged(options).verdict, verdict) << limits;
        options.thresholds[0].rule = Rule::managed_async_copy;
        EXPECT_EQ(maker.judged(options).verdict, Verdict::violated) << "another rule's";
    }
}

TEST(Thresholds, of_time_let_nothing_pass_whose_time_is_not_measured) {
    CaptureMaker maker;
    CaptureSite& site = maker.copy(kUp, MemoryClass::pageable, {kUpdate}, 10);
    site.flags = static_cast<std::uint16_t>(site.flags | report::kSiteCaptured);
    PolicyOptions options;
    options.thresholds = {threshold("pageable-async-copy:held=1s")};
    ASSERT_EQ(maker.found().at(0).amounts.held_ns, 0u);
    EXPECT_EQ(maker.judged(options).verdict, Verdict::violated);
    options.thresholds = {threshold("pageable-async-copy:count=10")};
    EXPECT_EQ(maker.judged(options).verdict, Verdict::pass);
}

TEST(Thresholds, are_told_and_never_drop_a_finding) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate}, 10);
    PolicyOptions options;
    options.thresholds = {threshold("pageable-async-copy:count=12,held=1s")};
    const Judgement judgement = maker.judged(options);
    ASSERT_EQ(judgement.not_gated.size(), 1u);
    EXPECT_EQ(judgement.not_gated[0].ruling.decision, Decision::within_threshold);
    EXPECT_EQ(judgement.not_gated[0].ruling.why, "within the threshold of count=12, held=1.00 s");
}

TEST(Thresholds, count_races_and_waits_by_what_they_are) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pinned, {kUpdate}, 1'000);
    CaptureRace race;
    race.rule = report::RaceRule::source_overwritten_in_flight;
    race.level = report::RaceLevel::watch;
    race.copy_site = 1;
    race.count = 7;
    maker.loaded.capture.races = {race};
    PolicyOptions options;
    options.thresholds = {threshold("source-overwritten-in-flight:count=7")};
    EXPECT_EQ(maker.judged(options).verdict, Verdict::pass);
    options.thresholds = {threshold("source-overwritten-in-flight:count=6")};
    EXPECT_EQ(maker.judged(options).verdict, Verdict::violated);

    CaptureMaker waiting;
    CaptureSite& site = waiting.copy(Direction::none, MemoryClass::none, {kUpdate}, 100, 0);
    site.kind = report::SiteKind::release;
    site.api = "cudaFree";
    CaptureWait& wait = site.waits.emplace_back();
    wait.cause = report::WaitCause::device_wide;
    wait.evidence = report::WaitEvidence::order;
    wait.calls = 40;
    wait.ns = 300 * kMs;
    ASSERT_EQ(waiting.found().size(), 1u);
    EXPECT_EQ(waiting.found()[0].amounts, (Amounts{40, 0, 300 * kMs})) << "40 of 100 calls waited";
}

TEST(Thresholds, are_read_or_refused) {
    EXPECT_EQ(threshold("pageable-async-copy:bytes=3").bytes, 3u);
    EXPECT_EQ(threshold("pageable-async-copy:bytes=2GiB").bytes, 2048 * kMiB);
    EXPECT_EQ(threshold("hidden-wait:held=7s,count=0").held_ns, 7'000'000'000u);
    for (const char* text : {"",
                             ":",
                             "pageable-async-copy",
                             "pageable-async-copy:",
                             "pageable-async-copy:count",
                             "nothing:count=1",
                             "pageable-async-copy:count=",
                             "pageable-async-copy:count=-1",
                             "pageable-async-copy:count=1.5",
                             "pageable-async-copy:count=1,",
                             "pageable-async-copy:count=1,count=2",
                             "pageable-async-copy:size=1",
                             "pageable-async-copy:bytes=1KB",
                             "pageable-async-copy:bytes=99999999999TiB",
                             "pageable-async-copy:held=5",
                             "pageable-async-copy:held=5 ms",
                             "hidden-wait:bytes=1",
                             "source-overwritten-in-flight:held=1s",
                             "straddles-registration:bytes=1",
                             "pageable-async-copy:count=18446744073709551616"}) {
        Threshold result;
        EXPECT_NE(parse_threshold(text, result), "") << text;
    }
}

// ---- Suppressions

TEST(Suppressions, match_the_frame_that_heads_the_finding) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {{"/usr/lib/libcudart.so.13"}, kUpdate, kMain});
    for (const auto& [function, holds] : std::vector<std::pair<std::string, bool>>{{"Meter::update", true},
                                                                                   {"Meter::update(float\\*)", true},
                                                                                   {"Meter::*", true},
                                                                                   {"*update*", true},
                                                                                   {"M?ter::update", true},
                                                                                   {"[LM]eter::update", true},
                                                                                   {"update", false},
                                                                                   {"Meter", false},
                                                                                   {"meter::update", false},
                                                                                   {"main", false}}) {
        EXPECT_EQ(suppresses(maker, row(function)), holds) << function;
    }
    Suppression outer = row("main");
    outer.any_frame = true;
    EXPECT_TRUE(suppresses(maker, outer));
    outer.function = "cuda*";
    EXPECT_FALSE(suppresses(maker, outer)) << "CUDA's own frames do not count";
}

TEST(Suppressions, match_files_and_modules_by_base_name_or_by_the_end_of_the_path) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate});
    const auto with = [&](std::string Suppression::*member, const std::string& pattern) {
        Suppression result = row("");
        result.*member = pattern;
        return suppresses(maker, result);
    };
    for (const auto& [pattern, holds] : std::vector<std::pair<std::string, bool>>{{"meter.cu", true},
                                                                                  {"*.cu", true},
                                                                                  {"src/meter.cu", true},
                                                                                  {"me/src/*", true},
                                                                                  {"/home/me/src/meter.cu", true},
                                                                                  {"/home/*", true},
                                                                                  {"/src/meter.cu", false},
                                                                                  {"rc/meter.cu", false},
                                                                                  {"eter.cu", false}}) {
        EXPECT_EQ(with(&Suppression::source, pattern), holds) << pattern;
    }
    EXPECT_TRUE(with(&Suppression::module, "train"));
    EXPECT_TRUE(with(&Suppression::module, "me/train"));
    EXPECT_FALSE(with(&Suppression::module, "libtrain.so"));
    maker.loaded.capture.modules[0].path += " (deleted)";
    EXPECT_TRUE(with(&Suppression::module, "train")) << "built anew meanwhile";
}

TEST(Suppressions, need_all_that_they_name_in_one_frame) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate, kMain});
    Suppression both = row("Meter::update");
    both.source = "meter.cu";
    EXPECT_TRUE(suppresses(maker, both));
    both.source = "main.cu";
    EXPECT_FALSE(suppresses(maker, both));
    both.any_frame = true;
    EXPECT_FALSE(suppresses(maker, both)) << "they are two frames";
    both.function = "main";
    EXPECT_TRUE(suppresses(maker, both));
}

TEST(Suppressions, match_their_rules_only) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate});
    EXPECT_FALSE(suppresses(maker, row("*", {Rule::hidden_wait})));
    EXPECT_TRUE(suppresses(maker, row("*", {Rule::hidden_wait, Rule::pageable_async_copy})));
    EXPECT_TRUE(suppresses(maker, row("*", {}))) << "every rule";
}

TEST(Suppressions, match_a_fingerprint_and_what_has_no_stack) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {});
    EXPECT_FALSE(suppresses(maker, row("*")));
    Suppression exact = row("");
    exact.fingerprint = maker.found()[0].identity.fingerprint;
    EXPECT_TRUE(suppresses(maker, exact));
    exact.fingerprint = "v1:0000000000000000";
    EXPECT_FALSE(suppresses(maker, exact));
}

TEST(Suppressions, of_a_race_match_either_party) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pinned, {kUpdate});
    maker.copy(kUp, MemoryClass::pinned, {kMain});
    CaptureRace race;
    race.rule = report::RaceRule::unordered_copies;
    race.level = report::RaceLevel::order;
    race.copy_site = 1;
    race.other_site = 2;
    race.count = 1;
    maker.loaded.capture.races = {race};
    EXPECT_TRUE(suppresses(maker, row("Meter::update", {Rule::unordered_copies})));
    EXPECT_TRUE(suppresses(maker, row("main", {Rule::unordered_copies})));
}

TEST(Suppressions, hold_until_the_end_of_their_last_day) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate});
    PolicyOptions options;
    options.suppressions = {row("Meter::update")};
    options.suppressions[0].expires = day(2026, 11, 30);
    for (const auto& [today, verdict] : std::vector<std::pair<Days, Verdict>>{{day(2026, 1, 1), Verdict::pass},
                                                                              {day(2026, 11, 30), Verdict::pass},
                                                                              {day(2026, 12, 1), Verdict::violated},
                                                                              {day(2030, 1, 1), Verdict::violated}}) {
        options.today = today;
        const Judgement judgement = maker.judged(options);
        EXPECT_EQ(judgement.verdict, verdict) << date_text(today);
        EXPECT_EQ(judgement.matched, std::vector<std::size_t>{1}) << "that it fits is told, expired or not";
    }
}

TEST(Suppressions, that_match_nothing_are_counted_and_others_are_not_hidden_by_the_first) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate});
    maker.copy(kUp, MemoryClass::managed, {kMain});
    PolicyOptions options;
    Suppression warning = row("main", {Rule::managed_async_copy});
    options.suppressions = {row("Meter::*"), row("Meter::update"), row("gone"), warning};
    const Judgement judgement = maker.judged(options);
    EXPECT_EQ(judgement.matched, (std::vector<std::size_t>{1, 1, 0, 1})) << "the last one fits what does not gate";
    const auto suppressed = std::ranges::find(judgement.not_gated, Decision::suppressed,
                                              [](const Finding& one) { return one.ruling.decision; });
    ASSERT_NE(suppressed, judgement.not_gated.end());
    EXPECT_EQ(suppressed->ruling.suppression, 0u);
    EXPECT_EQ(suppressed->ruling.why, "suppressed by gate.toml:3: looked at");
}

TEST(Suppressions, are_written_for_a_finding_so_that_they_fit_it) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {{"/home/me/tr*in [x]", "Buffer::operator[](int)", "/s/a\"b.cu", 3}});
    const std::string fingerprint = maker.found()[0].identity.fingerprint;
    EXPECT_EQ(row_for(maker.loaded.capture, maker.found()[0], Origins()),
              "[[suppression]]\n"
              "rule = \"pageable-async-copy\"\n"
              "module = \"tr\\\\*in \\\\[x]\"\n"
              "function = \"Buffer::operator\\\\[]\"\n"
              "file = \"a\\\"b.cu\"\n"
              "# fingerprint = \"" +
                  fingerprint +
                  "\"  # this API, direction and memory only\n"
                  "reason = \"\"  # why this may stay; a row without a reason is not accepted\n");
    Suppression fits = row("Buffer::operator\\[]");
    fits.module = "tr\\*in \\[x]";
    fits.source = "a\"b.cu";
    EXPECT_TRUE(suppresses(maker, fits));
    CaptureMaker hostile;
    hostile.copy(kUp, MemoryClass::pageable, {{"/home/me/train", "a\x1b[2J\xff", "/s/\xc3\xa4.cu", 3}});
    const std::string row_text = row_for(hostile.loaded.capture, hostile.found()[0], Origins());
    EXPECT_NE(row_text.find("\nfunction = \"a?\\\\[2J?\"\nfile = \"\xc3\xa4.cu\"\n"), std::string::npos) << row_text;
    EXPECT_TRUE(suppresses(hostile, row("a?\\[2J?")));
    CaptureMaker stripped;
    stripped.copy(kUp, MemoryClass::pageable, {{"/home/me/train"}});
    EXPECT_NE(row_for(stripped.loaded.capture, stripped.found()[0], Origins()).find("\nfingerprint = \"v1:"),
              std::string::npos);
}

// ---- All together

// The rule in one sentence: what is selected gates, unless something lets it pass, whatever else is set.
TEST(Gate, all_settings_compose) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate}, 100, 4096, 10'000);                             // staged
    maker.copy(kDown, MemoryClass::pageable, {{"/opt/libcusolver.so.11", "solve"}, kMain}, 5, 4096);  // a vendor's
    maker.copy(kUp, MemoryClass::managed, {{"/home/me/train", "managed()", "/m.cu", 5}}, 1'000);      // a warning
    const std::vector<Finding> findings = maker.found();
    ASSERT_EQ(findings.size(), 3u);
    auto baseline = std::make_shared<Baseline>();
    for (const Finding& finding : findings) {
        baseline->entries[finding.identity.fingerprint] = {
            {finding.identity.place, finding.severity, true, finding.amounts}};
    }
    const std::vector<std::string> all_fail_on[] = {{}, {"error"}, {"warning"}, {"managed-async-copy"}};
    for (const std::vector<std::string>& fail_on : all_fail_on) {
        for (unsigned bits = 0; bits < 32; ++bits) {
            PolicyOptions options;
            options.fail_on = fail_on;
            options.strict = (bits & 1) != 0;
            options.allow_staged = (bits & 2) != 0;
            if ((bits & 4) != 0) {
                options.suppressions = {row("Meter::update")};
            }
            if ((bits & 8) != 0) {
                options.thresholds = {threshold("pageable-async-copy:count=100")};
            }
            if ((bits & 16) != 0) {
                options.baseline = baseline;
            }
            const auto expected = [&](const Finding& finding) {
                const bool vendor = finding.issuer == Origin::vendor;
                const bool pageable = finding.rule == Rule::pageable_async_copy;
                if (vendor && !options.strict) {
                    return Decision::library;
                }
                const bool named = fail_on.empty() ? options.strict || pageable : pageable == (fail_on[0] == "error");
                return !named                                                 ? Decision::not_selected
                       : options.allow_staged && pageable && !vendor          ? Decision::staged
                       : !options.suppressions.empty() && pageable && !vendor ? Decision::suppressed
                       : !options.thresholds.empty() && pageable              ? Decision::within_threshold
                       : options.baseline                                     ? Decision::in_baseline
                       : !fail_on.empty()                                     ? Decision::fail_on
                       : options.strict                                       ? Decision::strict
                                                                              : Decision::by_default;
            };
            const Judgement judgement = maker.judged(options);
            EXPECT_EQ(judgement.gated.size() + judgement.not_gated.size(), 3u);
            for (const std::vector<Finding>* list : {&judgement.gated, &judgement.not_gated}) {
                for (const Finding& finding : *list) {
                    EXPECT_STREQ(name_of(finding.ruling.decision), name_of(expected(finding)))
                        << slug_of(finding.rule) << " bits " << bits << " fail-on "
                        << (fail_on.empty() ? "" : fail_on[0]);
                    EXPECT_EQ(gates(finding.ruling.decision), list == &judgement.gated);
                    EXPECT_NE(finding.ruling.why, "");
                }
            }
            EXPECT_EQ(judgement.verdict, judgement.gated.empty() ? Verdict::pass : Verdict::violated);
        }
    }
}

TEST(Gate, settings_never_turn_a_blind_run_into_a_pass) {
    CaptureMaker maker;
    maker.copy(kUp, MemoryClass::pageable, {kUpdate});
    maker.loaded.errors.push_back("x.pcr is empty");
    EXPECT_EQ(judged_with(maker, row("*")).verdict, Verdict::no_conclusion);
}

}  // namespace
}  // namespace pincheck::test
