// What became of findings: matched as a baseline matches them, and told apart from noise.
#include "analyzer/diff.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "analyzer/diff_run.h"
#include "analyzer/render_json.h"
#include "analyzer/render_json_diff.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using Changes = std::vector<Change>;

ListedFinding listed(const std::string& fingerprint, const std::string& place, std::uint64_t count = 100,
                     Severity severity = Severity::error, std::uint64_t held_ns = 0) {
    ListedFinding finding;
    finding.fingerprint = fingerprint;
    finding.place = place;
    finding.rule = "pageable-async-copy";
    finding.severity = severity;
    finding.amounts = {count, 4 * count, held_ns};
    return finding;
}

ListedRun run_of(std::vector<ListedFinding> findings) {
    ListedRun run;
    run.findings = std::move(findings);
    run.processes = 1;
    run.cuda_calls = 1'000;
    run.duration_ns = 1'000 * kMs;
    return run;
}

Diff diff_of(std::vector<ListedFinding> then, std::vector<ListedFinding> now, const DiffLimits& limits = {}) {
    return diff_runs(run_of(std::move(then)), run_of(std::move(now)), limits);
}

Changes changes_of(const Diff& diff) {
    Changes changes;
    for (const DiffEntry& entry : diff.entries) {
        changes.push_back(entry.change);
    }
    return changes;
}

TEST(Diff, tells_new_fixed_and_unchanged) {
    const Diff diff = diff_of({listed("a", "1"), listed("b", "1")}, {listed("c", "1"), listed("b", "1")});
    ASSERT_EQ(changes_of(diff), (Changes{Change::fresh, Change::fixed, Change::unchanged}));
    EXPECT_FALSE(diff.entries[0].then);
    EXPECT_EQ(diff.entries[0].now->finding, 0u);
    EXPECT_FALSE(diff.entries[1].now);
    EXPECT_EQ(diff.entries[1].then->finding, 0u);
    EXPECT_EQ(diff.entries[2].then->finding, 1u);
    EXPECT_EQ(diff.entries[2].now->finding, 1u);
    EXPECT_EQ(diff.count(Change::fresh), 1u);
    EXPECT_EQ(diff.count(Change::worse), 0u);
}

TEST(Diff, of_nothing_is_nothing) {
    EXPECT_TRUE(diff_of({}, {}).entries.empty());
    EXPECT_EQ(changes_of(diff_of({listed("a", "1")}, {})), Changes{Change::fixed});
    EXPECT_EQ(changes_of(diff_of({}, {listed("a", "1")})), Changes{Change::fresh});
}

TEST(Diff, holds_counts_against_the_threshold) {
    for (const auto& [then, now, percent, change] :
         std::vector<std::tuple<std::uint64_t, std::uint64_t, unsigned, Change>>{
             {100, 110, 10, Change::unchanged},
             {100, 111, 10, Change::worse},
             {100, 90, 10, Change::unchanged},
             {100, 89, 10, Change::better},
             {10, 11, 10, Change::unchanged},
             {30, 33, 10, Change::unchanged},
             {1, 2, 10, Change::worse},
             {0, 1, 10, Change::worse},
             {1, 0, 10, Change::better},
             {100, 101, 0, Change::worse},
             {100, 100, 0, Change::unchanged},
             {100, 300, 200, Change::unchanged},
             {100, 301, 200, Change::worse},
             {UINT64_MAX / 4, 0, 100'000, Change::unchanged},
             {UINT64_MAX / 4, 0, 10, Change::better},
             {0, UINT64_MAX / 4, 100'000, Change::worse}}) {
        const Diff diff = diff_of({listed("a", "1", then)}, {listed("a", "1", now)}, {percent, 50});
        EXPECT_EQ(changes_of(diff), Changes{change}) << then << " -> " << now << ", " << percent << " %";
    }
}

TEST(Diff, holds_bytes_against_the_threshold_too) {
    ListedFinding bigger = listed("a", "1");
    bigger.amounts.bytes *= 2;
    EXPECT_EQ(changes_of(diff_of({listed("a", "1")}, {bigger})), Changes{Change::worse});
    EXPECT_EQ(changes_of(diff_of({bigger}, {listed("a", "1")})), Changes{Change::better});
}

TEST(Diff, takes_little_change_of_held_time_for_noise) {
    for (const auto& [then, now, change] :
         std::vector<std::tuple<std::uint64_t, std::uint64_t, Change>>{{10 * kMs, 15 * kMs, Change::unchanged},
                                                                       {10 * kMs, 15 * kMs + 1, Change::worse},
                                                                       {10 * kMs, 5 * kMs, Change::unchanged},
                                                                       {10 * kMs, 5 * kMs - 1, Change::better},
                                                                       {1'000, kMs, Change::unchanged},
                                                                       {0, kMs, Change::worse},
                                                                       {kMs, 0, Change::better},
                                                                       {kMs - 1, 0, Change::unchanged}}) {
        const Diff diff =
            diff_of({listed("a", "1", 1, Severity::error, then)}, {listed("a", "1", 1, Severity::error, now)});
        EXPECT_EQ(changes_of(diff), Changes{change}) << then << " -> " << now;
    }
}

TEST(Diff, calls_worse_what_is_worse_in_any_respect) {
    EXPECT_EQ(changes_of(diff_of({listed("a", "1", 100, Severity::error, 10 * kMs)},
                                 {listed("a", "1", 10, Severity::error, 90 * kMs)})),
              Changes{Change::worse});
    EXPECT_EQ(changes_of(diff_of({listed("a", "1", 100, Severity::note)}, {listed("a", "1", 10, Severity::error)})),
              Changes{Change::worse});
    EXPECT_EQ(changes_of(diff_of({listed("a", "1", 100, Severity::error)}, {listed("a", "1", 100, Severity::note)})),
              Changes{Change::better});
}

TEST(Diff, follows_lines_that_moved) {
    const Diff diff = diff_of({listed("a", "1")}, {listed("a", "9", 200)});
    ASSERT_EQ(changes_of(diff), Changes{Change::worse});
    EXPECT_TRUE(diff.entries[0].moved);
    const Diff two = diff_of({listed("a", "1"), listed("a", "2")}, {listed("a", "8"), listed("a", "9")});
    ASSERT_EQ(changes_of(two), Changes{Change::unchanged});
    EXPECT_EQ(two.entries[0].then->places, 2u);
    EXPECT_EQ(two.entries[0].now->places, 2u);
    EXPECT_EQ(two.entries[0].now->amounts.count, 200u);
}

TEST(Diff, compares_a_place_that_stayed_with_itself) {
    const Diff diff = diff_of({listed("a", "1"), listed("a", "2")}, {listed("a", "1", 500), listed("a", "9")});
    ASSERT_EQ(changes_of(diff), (Changes{Change::worse, Change::unchanged}));
    EXPECT_FALSE(diff.entries[0].moved);
    EXPECT_EQ(diff.entries[0].then->amounts.count, 100u);
    EXPECT_TRUE(diff.entries[1].moved);
}

TEST(Diff, says_of_fewer_places_that_it_is_better) {
    const Diff fewer = diff_of({listed("a", "1"), listed("a", "2")}, {listed("a", "9", 200)});
    ASSERT_EQ(changes_of(fewer), Changes{Change::better}) << "as many calls, at one place less";
    EXPECT_EQ(fewer.entries[0].then->places, 2u);
    EXPECT_EQ(fewer.entries[0].now->places, 1u);
    EXPECT_EQ(changes_of(diff_of({listed("a", "1"), listed("a", "2")}, {listed("a", "2")})),
              (Changes{Change::fixed, Change::unchanged}));
}

// As a baseline does: nobody can tell which of them is new, so that none is known.
TEST(Diff, calls_new_what_may_be) {
    const Diff more = diff_of({listed("a", "1")}, {listed("a", "8"), listed("a", "9")});
    ASSERT_EQ(changes_of(more), Changes{Change::fresh});
    EXPECT_EQ(more.entries[0].then->places, 1u);
    EXPECT_EQ(more.entries[0].now->places, 2u);
    EXPECT_EQ(changes_of(diff_of({listed("a", "1")}, {listed("a", "1"), listed("a", "2")})),
              (Changes{Change::fresh, Change::unchanged}));
}

TEST(Diff, takes_findings_of_one_place_for_one) {
    ListedFinding gated = listed("a", "1", 100, Severity::error);
    gated.gated = true;
    const Diff diff = diff_of({listed("a", "1", 50, Severity::note), gated}, {listed("a", "1", 150, Severity::error)});
    ASSERT_EQ(changes_of(diff), Changes{Change::unchanged});
    EXPECT_EQ(diff.entries[0].then->amounts.count, 150u);
    EXPECT_EQ(diff.entries[0].then->severity, Severity::error);
    EXPECT_TRUE(diff.entries[0].then->gated);
    EXPECT_EQ(diff.entries[0].then->places, 1u);
    EXPECT_EQ(diff.entries[0].then->finding, 0u);
}

TEST(Diff, puts_the_worst_first) {
    const auto held = [](const char* fingerprint, std::uint64_t ms, Severity severity = Severity::error) {
        return listed(fingerprint, "1", 100, severity, ms * kMs);
    };
    const Diff diff = diff_of({held("a", 10), held("b", 10), held("c", 5, Severity::note)},
                              {held("a", 30), held("b", 90), held("c", 6), held("y", 2), held("x", 1)});
    std::vector<std::size_t> order;
    for (const DiffEntry& entry : diff.entries) {
        order.push_back(entry.now->finding);
    }
    EXPECT_EQ(order, (std::vector<std::size_t>{3, 4, 2, 1, 0}))
        << "new ones as in their run; then what became an error";
}

TEST(Diff, says_when_runs_cannot_be_compared) {
    const ListedRun then = run_of({});
    ListedRun now = then;
    EXPECT_TRUE(diff_runs(then, now, {}).is_comparable());
    now.cuda_calls = 1'100;
    now.duration_ns = 1'500 * kMs;
    EXPECT_TRUE(diff_runs(then, now, {}).is_comparable());
    now.cuda_calls = 1'101;
    EXPECT_TRUE(diff_runs(then, now, {}).cuda_calls);
    EXPECT_FALSE(diff_runs(then, now, {}).duration);
    now.duration_ns = 1'501 * kMs;
    EXPECT_TRUE(diff_runs(then, now, {}).duration);
    now = then;
    now.processes = 2;
    EXPECT_TRUE(diff_runs(then, now, {}).processes);
    EXPECT_FALSE(diff_runs(then, now, {}).is_comparable());
}

// ---- Where runs come from

CaptureMaker with_copies(std::initializer_list<std::uint32_t> places, std::uint64_t calls = 100) {
    CaptureMaker maker;
    for (const std::uint32_t line : places) {
        maker.copy(report::Direction::host_to_device, report::MemoryClass::pageable,
                   {{"/home/me/train", "step(Batch&)", "/src/train.cpp", line}}, calls);
    }
    return maker;
}

ListedRun from_reports(const CaptureMaker& maker) {
    Look look;
    look.loaded = maker.loaded;
    look.judgement = maker.judged();
    return listed(look);
}

ListedRun from_export(const CaptureMaker& maker) {
    const report::test::TempFile file;
    std::ofstream(file.path()) << render_json(maker.loaded, maker.judged(), Origins());
    ListedRun run;
    EXPECT_EQ(read_exported(file.path(), run), "");
    return run;
}

// A run and its own export differ in nothing, and neither does what is shown of them.
TEST(DiffRun, is_the_same_from_reports_and_from_an_export) {
    CaptureMaker maker = with_copies({41, 43});
    maker.loaded.errors = {"x.pcr is empty"};
    maker.loaded.capture.processes.push_back(maker.loaded.capture.processes[0]);
    maker.loaded.capture.processes[1].duration_ns *= 2;
    const ListedRun reports = from_reports(maker);
    ListedRun exported = from_export(maker);
    exported.file = reports.file;
    ASSERT_EQ(reports.findings.size(), 2u);
    EXPECT_EQ(reports.findings[0].heading, "step(Batch&) (train.cpp:41)");
    EXPECT_TRUE(reports.findings[0].gated);
    EXPECT_EQ(reports.processes, 2u);
    EXPECT_EQ(reports.cuda_calls, 200u);
    EXPECT_EQ(reports.duration_ns, 20'000 * kMs);
    EXPECT_FALSE(reports.reasons.empty());
    const auto shown = [](const ListedRun& run) { return diff_json(run, run, diff_runs(run, run, {}), {}); };
    EXPECT_EQ(shown(reports), shown(exported));
    EXPECT_EQ(changes_of(diff_runs(reports, exported, {})), (Changes{Change::unchanged, Change::unchanged}));
    EXPECT_EQ(changes_of(diff_runs(exported, from_reports(with_copies({41}, 300)), {})),
              (Changes{Change::worse, Change::fixed}));
}

TEST(DiffRun, knows_an_export_by_its_contents) {
    const auto is = [](const std::string& contents) {
        const report::test::TempFile file;
        std::ofstream(file.path()) << contents;
        return is_exported(file.path());
    };
    EXPECT_TRUE(is("{\"schema\": 1}"));
    EXPECT_TRUE(is(" \n\t{"));
    EXPECT_FALSE(is(""));
    EXPECT_FALSE(is("PINCHECK"));
    EXPECT_FALSE(is_exported("/proc"));
    EXPECT_FALSE(is_exported("/no/such.pcr"));
    EXPECT_TRUE(is_exported("/no/such.json"));
}

// ---- JSON

void collect_keys(const nlohmann::json& json, const std::string& prefix, std::set<std::string>& keys) {
    for (const auto& [key, value] : json.items()) {
        const std::string name = json.is_array() ? prefix : prefix.empty() ? key : prefix + "." + key;
        if (json.is_object()) {
            keys.insert(name);
        }
        if (value.is_structured()) {
            collect_keys(value, name, keys);
        }
    }
}

TEST(DiffJson, has_the_documented_keys) {
    ListedRun then = run_of({listed("a", "1"), listed("b", "1")});
    ListedRun now = run_of({listed("a", "1"), listed("c", "1")});
    now.reasons = {"\xff\x1b[2J"};
    now.findings[0].heading = "\xff\xe2\x80\xae";
    const std::string text = diff_json(then, now, diff_runs(then, now, {}), {});
    EXPECT_EQ(std::ranges::count_if(text, [](char c) { return c != '\n' && (c < 0x20 || c > 0x7e); }), 0);
    std::set<std::string> keys;
    collect_keys(nlohmann::json::parse(text), "", keys);
    std::set<std::string> documented;
    std::ifstream file(PINCHECK_DIFF_SCHEMA);
    const std::regex name("`([a-z_.]+)`");
    for (std::string line; std::getline(file, line);) {
        const std::string cell = line.starts_with("| `") ? line.substr(0, line.find(" |", 2)) : "";
        for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at) {
            documented.insert((*at)[1]);
        }
    }
    EXPECT_EQ(keys, documented);
}

// A comparison is no run: nothing may take it for a baseline that has no findings.
TEST(DiffJson, is_no_export) {
    const ListedRun run = run_of({listed("v1:1", "1")});
    const report::test::TempFile file;
    std::ofstream(file.path()) << diff_json(run, run, diff_runs(run, run, {}), {});
    ListedRun read;
    EXPECT_NE(read_exported(file.path(), read).find("is no export of pincheck"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
