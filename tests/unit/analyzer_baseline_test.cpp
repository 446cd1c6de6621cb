// What an earlier run excuses: only what was there then, as bad as it was then.
#include <gtest/gtest.h>

#include <fstream>

#include "analyzer/render_json.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;

constexpr Direction kUp = Direction::host_to_device;
constexpr Direction kDown = Direction::device_to_host;

FrameText step(std::uint32_t line, const char* file = "/src/train.cpp") {
    return {"/home/me/train", "step(Batch&)", file, line};
}

// What a run exported and another one read.
std::shared_ptr<const Baseline> exported(const CaptureMaker& maker, const PolicyOptions& options = {}) {
    const report::test::TempFile file;
    std::ofstream(file.path()) << render_json(maker.loaded, maker.judged(options), Origins());
    auto baseline = std::make_shared<Baseline>();
    EXPECT_EQ(read_baseline(file.path(), *baseline), "");
    baseline->file = "old.json";
    return baseline;
}

PolicyOptions against(const CaptureMaker& maker, const std::string& worse = "") {
    PolicyOptions options;
    options.baseline = exported(maker);
    if (!worse.empty()) {
        EXPECT_EQ(parse_worse(worse, options.worse), "");
    }
    return options;
}

CaptureMaker with_copies(std::initializer_list<FrameText> places, std::uint64_t calls = 100) {
    CaptureMaker maker;
    for (const FrameText& place : places) {
        maker.copy(kUp, MemoryClass::pageable, {place}, calls);
    }
    return maker;
}

TEST(Baseline, excuses_what_was_there) {
    const CaptureMaker then = with_copies({step(41)});
    const Judgement judgement = then.judged(against(then));
    EXPECT_EQ(judgement.verdict, Verdict::pass);
    ASSERT_EQ(judgement.not_gated.size(), 1u);
    EXPECT_EQ(judgement.not_gated[0].ruling.decision, Decision::in_baseline);
    EXPECT_EQ(judgement.not_gated[0].ruling.since, Since::known);
    EXPECT_EQ(judgement.not_gated[0].ruling.why, "known: in old.json");
    EXPECT_EQ(judgement.fixed, 0u);
}

TEST(Baseline, excuses_nothing_new) {
    const CaptureMaker then = with_copies({step(41)});
    CaptureMaker now = with_copies({step(41)});
    now.copy(kUp, MemoryClass::pageable, {{"/home/me/train", "other()", "/src/train.cpp", 90}});
    const Judgement judgement = now.judged(against(then));
    EXPECT_EQ(judgement.verdict, Verdict::violated);
    ASSERT_EQ(judgement.gated.size(), 1u);
    EXPECT_EQ(judgement.gated[0].site, 2u);
    EXPECT_EQ(judgement.gated[0].ruling.why, "new: not in old.json");
    EXPECT_EQ(judgement.not_gated.size(), 1u);
    EXPECT_EQ(now.judged(against(CaptureMaker())).gated.size(), 2u) << "an empty baseline";
}

TEST(Baseline, counts_what_was_fixed) {
    const CaptureMaker then = with_copies({step(41), step(43)});
    EXPECT_EQ(with_copies({step(41)}).judged(against(then)).fixed, 1u);
    EXPECT_EQ(with_copies({step(99)}).judged(against(then)).fixed, 1u);
    EXPECT_EQ(CaptureMaker().judged(against(then)).fixed, 2u);
    EXPECT_EQ(CaptureMaker().judged(against(then)).verdict, Verdict::pass);
    CaptureMaker warning;
    warning.copy(kUp, MemoryClass::managed, {step(41)});
    EXPECT_EQ(CaptureMaker().judged(against(warning)).fixed, 0u) << "it never gated";
}

// A baseline that was written under another baseline is as good.
TEST(Baseline, counts_what_was_excused_when_it_was_written) {
    const CaptureMaker then = with_copies({step(41)});
    PolicyOptions options;
    options.baseline = exported(then, against(then));
    EXPECT_EQ(then.judged(options).verdict, Verdict::pass);
    EXPECT_EQ(CaptureMaker().judged(options).fixed, 1u);
}

TEST(Baseline, follows_lines_that_shift) {
    const CaptureMaker then = with_copies({step(41), step(43)});
    EXPECT_EQ(with_copies({step(51), step(53)}).judged(against(then)).verdict, Verdict::pass);
    EXPECT_EQ(with_copies({step(41), step(53)}).judged(against(then)).verdict, Verdict::pass);
    EXPECT_EQ(with_copies({step(53, "/ci/train.cpp")}).judged(against(then)).verdict, Verdict::pass);
}

TEST(Baseline, tells_a_second_copy_in_a_function_by_its_line) {
    const CaptureMaker then = with_copies({step(41)});
    const Judgement judgement = with_copies({step(41), step(43)}).judged(against(then));
    ASSERT_EQ(judgement.gated.size(), 1u);
    EXPECT_EQ(judgement.gated[0].site, 2u);
}

TEST(Baseline, excuses_none_where_nobody_can_tell_which_is_new) {
    const CaptureMaker then = with_copies({step(41)});
    const Judgement judgement = with_copies({step(51), step(53)}).judged(against(then));
    ASSERT_EQ(judgement.gated.size(), 2u);
    EXPECT_EQ(judgement.gated[0].ruling.why, "new: old.json has 1 of these 2, which only their lines tell apart");
}

// Two processes that met the same place from different callers first are no second place.
TEST(Baseline, takes_sites_of_one_place_for_one) {
    const auto raced = [](std::initializer_list<const char*> callers) {
        CaptureMaker maker;
        for (const char* caller : callers) {
            CaptureSite& site = maker.copy(kUp, MemoryClass::pinned, {step(41), {"/home/me/train", caller}});
            site.flags = report::kSiteAsync;
            CaptureRace race;
            race.rule = report::RaceRule::source_overwritten_in_flight;
            race.level = report::RaceLevel::watch;
            race.copy_site = site.id;
            race.count = 1;
            maker.loaded.capture.races.push_back(race);
        }
        return maker;
    };
    EXPECT_EQ(raced({"one", "other"}).judged(against(raced({"one"}))).verdict, Verdict::pass);
    EXPECT_EQ(raced({"one"}).judged(against(raced({"one", "other"}))).fixed, 0u);
}

TEST(Baseline, does_not_excuse_what_is_an_error_only_now) {
    const auto raced = [](std::uint16_t flags) {
        CaptureMaker maker;
        maker.copy(kUp, MemoryClass::pinned, {step(41)});
        CaptureRace race;
        race.rule = report::RaceRule::source_overwritten_in_flight;
        race.level = report::RaceLevel::order;
        race.flags = flags;
        race.copy_site = race.other_site = 1;
        race.count = 1;
        maker.loaded.capture.races = {race};
        return maker;
    };
    const CaptureMaker presumed = raced(report::kRacePresumed);
    ASSERT_EQ(presumed.found().at(0).severity, Severity::note);
    ASSERT_EQ(presumed.found()[0].identity.fingerprint, raced(0).found().at(0).identity.fingerprint);
    EXPECT_EQ(raced(0).judged(against(presumed)).verdict, Verdict::violated);
    EXPECT_EQ(raced(0).judged(against(raced(0))).verdict, Verdict::pass);
}

TEST(Worse, gates_what_grew_by_more_than_is_allowed) {
    const CaptureMaker then = with_copies({step(41)}, 10);
    for (const auto& [calls, worse, verdict] :
         std::vector<std::tuple<std::uint64_t, std::string, Verdict>>{{1'000, "", Verdict::pass},
                                                                      {15, "count=+50%", Verdict::pass},
                                                                      {16, "count=+50%", Verdict::violated},
                                                                      {10, "count=+0%", Verdict::pass},
                                                                      {11, "count=+0%", Verdict::violated},
                                                                      {5, "count=+0%", Verdict::pass},
                                                                      {21, "bytes=+100%", Verdict::violated},
                                                                      {20, "bytes=+100%", Verdict::pass},
                                                                      {21, "held=+100%", Verdict::violated},
                                                                      {20, "held=+100%", Verdict::pass}}) {
        const Judgement judgement = with_copies({step(41)}, calls).judged(against(then, worse));
        EXPECT_EQ(judgement.verdict, verdict) << calls << ' ' << worse;
    }
    const Judgement judgement = with_copies({step(47)}, 30).judged(against(then, "count=+50%"));
    ASSERT_EQ(judgement.gated.size(), 1u);
    EXPECT_EQ(judgement.gated[0].ruling.since, Since::worse);
    EXPECT_EQ(judgement.gated[0].ruling.why, "worse than in old.json: count 10 -> 30 (+200 %)");
}

TEST(Worse, is_judged_by_the_sum_over_one_fingerprint) {
    const CaptureMaker then = with_copies({step(41), step(43)}, 10);
    CaptureMaker now = with_copies({step(41)}, 19);
    now.copy(kUp, MemoryClass::pageable, {step(43)}, 1);
    EXPECT_EQ(now.judged(against(then, "count=+0%")).verdict, Verdict::pass);
}

TEST(Worse, is_read_or_refused) {
    Worse worse;
    EXPECT_EQ(parse_worse("count=+50%", worse), "");
    EXPECT_EQ(parse_worse("held=+7%", worse), "");
    EXPECT_EQ(worse.count, 50u);
    EXPECT_EQ(worse.held, 7u);
    EXPECT_FALSE(worse.bytes);
    for (const char* text : {"", "count", "count=", "count=50%", "count=+50", "count=+%", "count=+-5%", "size=+5%",
                             "count=+99999999999%", "count=+5%x"}) {
        EXPECT_NE(parse_worse(text, worse), "") << text;
    }
}

// ---- Files

TEST(Baseline, refuses_what_is_no_baseline) {
    const std::string good = R"({"fingerprint": "v1:00", "place": "p", "severity": "error", "gated": true,
        "amounts": {"count": 1, "bytes": 2, "held_ns": 3}})";
    const auto read = [](const std::string& text) {
        const report::test::TempFile file;
        std::ofstream(file.path()) << text;
        Baseline baseline;
        const std::string wrong = read_baseline(file.path(), baseline);
        EXPECT_TRUE(wrong.empty() ||
                    wrong.find("; write it with 'pincheck export --no-config --format=json -o ") != wrong.npos);
        return wrong;
    };
    EXPECT_EQ(read(R"({"schema": 1, "findings": []})"), "");
    EXPECT_EQ(read(R"({"schema": 1, "findings": [)" + good + "]}"), "");
    // Of other parts anything may come.
    EXPECT_EQ(read(R"({"sites": [{"findings": 7}], "schema": 1, "findings": [)" + good + R"(], "x": {"schema": 2}})"),
              "");
    for (const auto& [text, wrong] : std::vector<std::pair<std::string, std::string>>{
             {"", "is not JSON"},
             {"{", "is not JSON"},
             {R"({"schema": 1, "findings": []} x)", "is not JSON"},
             {std::string(100'000, '['), "is not JSON"},
             {"\xff\xfe", "is not JSON"},
             {R"({"schema": 1, "findings": [], "sites": [1e999]})", "has a number in it that is none"},
             {"[]", "is no export"},
             {"7", "is no export"},
             {"{}", "is no export"},
             {R"({"schema": 1})", "is no export"},
             {R"({"findings": []})", "is no export"},
             {R"({"schema": 1, "findings": {}})", "is no export"},
             {R"({"schema": 2, "findings": []})", "has schema 2, and this pincheck reads 1"},
             {R"({"schema": "1", "findings": []})", "has schema \"1\""},
             {R"({"schema": 1, "findings": [7]})", "holds something that is no finding"},
             {R"({"schema": 1, "findings": [{}]})", "has findings without fingerprints"},
             {R"({"schema": 1, "findings": [{"fingerprint": 7}]})", "has findings without fingerprints"},
             {R"({"schema": 1, "findings": [{"fingerprint": "v2:00"}]})", "fingerprints of another version"}}) {
        EXPECT_NE(read(text).find(wrong), std::string::npos) << text.substr(0, 80) << ": " << read(text);
    }
    // Odd types are read as nothing.
    EXPECT_EQ(read(R"({"schema": 1, "findings": [{"fingerprint": "v1:00", "place": [], "severity": {}, "gated": 1,
        "amounts": {"count": -1, "bytes": 1.5, "held_ns": "x"}}]})"),
              "");
    Baseline none;
    EXPECT_NE(read_baseline("/no/such.json", none), "");
    EXPECT_NE(read_baseline("/proc", none), "");
}

}  // namespace
}  // namespace pincheck::test
