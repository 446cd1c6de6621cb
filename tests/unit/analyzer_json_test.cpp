// The JSON export: valid whatever a report holds, and every key documented.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analyzer/render_json.h"
#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using Json = nlohmann::json;
using report::Direction;
using report::MemoryClass;

constexpr FrameText kUser{"/home/me/train", "step(Batch&)", "/src/train.cpp", 41};

// A capture in which every list has something.
CaptureMaker full_capture() {
    CaptureMaker maker;
    maker.copy(Direction::host_to_device, MemoryClass::pageable, {{"/usr/lib/libcudart.so.13"}, kUser});
    maker.copy(Direction::device_to_host, MemoryClass::pageable, {{"/usr/lib/libnccl.so.2"}, kUser});
    CaptureSite& waiting = maker.loaded.capture.sites[0];
    waiting.waits.push_back({report::WaitCause::earlier_work,
                             report::WaitEvidence::device,
                             90,
                             270 * kMs,
                             4 * kMs,
                             1,
                             2,
                             1,
                             1,
                             2,
                             "kernel",
                             7,
                             {1}});
    waiting.sizes.push_back({report::size_class(64 << 10), 100, 0, 100 << 16, 1 << 16, 1 << 16, 300, 3, {}});
    waiting.transfers.push_back({report::size_class(64 << 10), 100, 100 << 16, 9, 1, 2, 100, 300, 400, 5, 6, 7});
    maker.loaded.capture.streams.push_back({1, 0, 2, report::StreamKind::created, 1, 0, true});
    CaptureRace race;
    race.rule = report::RaceRule::source_overwritten_in_flight;
    race.level = report::RaceLevel::trap;
    race.flags = report::kRaceInSystemCall | report::kRaceByChecksum | report::kRacePresumed;
    race.copy_site = 1;
    race.other_site = 2;
    race.count = 9;
    race.corrupting = 5;
    race.latent = 3;
    race.call = "read";
    race.address = 0xffffffffffff0000;
    maker.loaded.capture.races = {race};
    CaptureRead read;
    read.site = 2;
    read.pin_site = 1;
    read.call = "write";
    read.samples = 4;
    read.bytes = 4096;
    read.end = 17;
    maker.loaded.capture.reads = {read};
    CaptureProcess& process = maker.loaded.capture.processes[0];
    process.command_line = {"./train", "--fast"};
    process.coverage.push_back({report::CoverageKind::route, "lookup"});
    process.losses.push_back({report::Loss::ranges, 2, 12});
    process.in_call.push_back({7, "main", "cudaMemcpy", 5});
    process.problems.push_back("cut");
    maker.loaded.errors.push_back("x.pcr is empty");
    return maker;
}

// Settings of every kind, of which one lets the worst finding pass.
PolicyOptions full_policy() {
    PolicyOptions options;
    options.config = "ci/pincheck.toml";
    options.fail_on = {"error"};
    options.today = std::chrono::year(2026) / 12 / 1;
    options.thresholds.push_back({Rule::hidden_wait, 3, std::nullopt, 5 * kMs});
    options.suppressions.push_back({"rows.toml",
                                    4,
                                    {Rule::pageable_async_copy},
                                    "",
                                    "",
                                    "step",
                                    "",
                                    false,
                                    "known",
                                    std::chrono::sys_days(std::chrono::year(2027) / 1 / 31)});
    options.suppressions.push_back({"rows.toml",
                                    9,
                                    {},
                                    "libx.so",
                                    "",
                                    "",
                                    "",
                                    true,
                                    "gone",
                                    std::chrono::sys_days(std::chrono::year(2026) / 1 / 31)});
    auto baseline = std::make_shared<Baseline>();
    baseline->file = "main.json";
    baseline->findings = 1;
    baseline->entries["v1:11"] = {{"p", Severity::error, true, {}}};
    options.baseline = baseline;
    options.worse.count = 50;
    return options;
}

Json rendered(const CaptureMaker& maker, const PolicyOptions& options = {}) {
    return Json::parse(render_json(maker.loaded, maker.judged(options), Origins()));
}

void collect_keys(const Json& json, const std::string& prefix, std::set<std::string>& keys) {
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

// What stands in backquotes in the first column of the tables, up to those of the next format.
std::set<std::string> documented_keys() {
    std::ifstream file(PINCHECK_JSON_SCHEMA);
    std::set<std::string> keys;
    for (std::string line; std::getline(file, line) && (keys.empty() || !line.starts_with("# "));) {
        if (line.starts_with("| `")) {
            const std::string cell = line.substr(2, line.find(" | ", 2) - 2);
            std::istringstream names(cell);
            for (std::string name; names >> name;) {
                name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return c == '`' || c == ','; }),
                           name.end());
                EXPECT_TRUE(keys.insert(name).second) << name << " is described twice";
            }
        }
    }
    return keys;
}

TEST(Json, has_exactly_the_documented_keys) {
    CaptureMaker maker = full_capture();
    std::vector<CaptureProcess>& processes = maker.loaded.capture.processes;
    processes.resize(4, processes.front());
    processes[2].held_ns = 5'000 * kMs;  // it deviates
    std::set<std::string> keys;
    collect_keys(rendered(maker, full_policy()), "", keys);
    const std::set<std::string> documented = documented_keys();
    std::vector<std::string> differing;
    std::ranges::set_symmetric_difference(keys, documented, std::back_inserter(differing));
    EXPECT_EQ(differing, std::vector<std::string>{});
    EXPECT_GT(keys.size(), 80u);
}

TEST(Json, tells_verdict_findings_and_sites) {
    const Json json = rendered(full_capture());
    EXPECT_EQ(json["schema"], 1);
    EXPECT_EQ(json["verdict"], "violated");
    EXPECT_EQ(json["counts"]["gated"], 1);
    ASSERT_EQ(json["findings"].size(), 4u);
    EXPECT_EQ(json["findings"][0]["rule"], "pageable-async-copy");
    EXPECT_EQ(json["findings"][0]["gated"], true);
    EXPECT_EQ(json["findings"][0]["heading_frame"], 1);
    EXPECT_EQ(json["findings"][0]["heading"], "step(Batch&) (train.cpp:41)");
    EXPECT_EQ(json["findings"][1]["gated"], false);
    EXPECT_EQ(json["findings"][1]["issuer"], "vendor");
    EXPECT_EQ(json["sites"][0]["source"]["class"], "pageable");
    EXPECT_EQ(json["sites"][0]["flags"], Json({"async", "exact-stack"}));
    EXPECT_EQ(json["sites"][0]["stack"][0]["origin"], "cuda");
    EXPECT_EQ(json["sites"][0]["waits"][0]["cause"], "earlier-work");
    EXPECT_EQ(json["sites"][0]["waits"][0]["evidence"], "device");
    EXPECT_EQ(json["sites"][0]["waits"][0]["delayed_streams"], Json({1}));
    EXPECT_EQ(json["sites"][0]["sizes"][0]["from_bytes"], 64 << 10);
    EXPECT_EQ(json["sites"][0]["transfers"][0]["call_share"], 0.75);
    EXPECT_EQ(json["findings"][0]["saving"]["state"], "withheld");
    EXPECT_EQ(json["findings"][0]["cause"], nullptr);
    EXPECT_EQ(json["findings"][0]["count"], 0);
    EXPECT_EQ(json["findings"][0]["races"], Json::array());
    const Json& race = json["findings"][2];
    EXPECT_EQ(race["rule"], "source-overwritten-in-flight");
    EXPECT_EQ(race["severity"], "note");
    EXPECT_EQ(race["presumed"], true);
    EXPECT_EQ(race["count"], 9);
    EXPECT_EQ(race["corrupting"], 5);
    EXPECT_EQ(race["latent"], 3);
    EXPECT_EQ(race["held_ns"], 0);
    EXPECT_EQ(race["other_site"], 2);
    EXPECT_EQ(race["races"], Json({0}));
    EXPECT_EQ(json["races"][0]["level"], "trap");
    EXPECT_EQ(json["races"][0]["flags"], Json({"presumed", "in-system-call", "by-checksum"}));
    EXPECT_EQ(json["races"][0]["call"], "read");
    EXPECT_EQ(json["races"][0]["address"].get<std::uint64_t>(), 0xffffffffffff0000);
    const Json& reading = json["findings"][3];
    EXPECT_EQ(reading["rule"], "write-combined-read");
    EXPECT_EQ(reading["severity"], "warning");
    EXPECT_EQ(reading["api"], "write()");
    EXPECT_EQ(reading["count"], 4);
    EXPECT_EQ(reading["reads"], Json({0}));
    EXPECT_EQ(json["reads"][0]["pin_site"], 1);
    EXPECT_EQ(json["streams"][0]["kind"], "created");
    EXPECT_EQ(json["processes"][0]["rank"], nullptr);
    EXPECT_EQ(json["errors"][0], "x.pcr is empty");
    CaptureMaker none;
    none.loaded.capture.processes.clear();
    EXPECT_EQ(rendered(none)["verdict"], "no-conclusion");
    EXPECT_EQ(rendered(CaptureMaker())["verdict"], "pass");
}

TEST(Json, tells_what_decided) {
    const Json json = rendered(full_capture(), full_policy());
    EXPECT_EQ(json["verdict"], "no-conclusion");
    EXPECT_EQ(json["verdict_why"], json["reasons"][0]);
    EXPECT_EQ(json["counts"]["suppressed"], 1);
    EXPECT_EQ(json["policy"]["config"], "ci/pincheck.toml");
    EXPECT_EQ(json["policy"]["fail_on"], Json({"error"}));
    EXPECT_EQ(json["policy"]["thresholds"], Json::parse(R"([{"rule": "hidden-wait", "count": 3, "bytes": null,
        "held_ns": 5000000}])"));
    EXPECT_EQ(json["policy"]["suppressions"][0], Json::parse(R"({"file": "rows.toml", "line": 4,
        "rules": ["pageable-async-copy"], "module": null, "function": "step", "source": null, "fingerprint": null,
        "frames": "heading", "reason": "known", "expires": "2027-01-31", "expired": false, "matched": 2})"));
    EXPECT_EQ(json["policy"]["suppressions"][1]["expired"], true);
    EXPECT_EQ(json["policy"]["suppressions"][1]["matched"], 0);
    EXPECT_EQ(json["policy"]["suppressions"][1]["rules"], Json::array());
    EXPECT_EQ(json["policy"]["baseline"], Json::parse(R"({"file": "main.json", "findings": 1, "fixed": 1})"));
    EXPECT_EQ(json["policy"]["worse"], Json::parse(R"({"count": 50, "bytes": null, "held": null})"));
    const Json& suppressed = json["findings"][0];
    EXPECT_EQ(suppressed["decision"], "suppressed");
    EXPECT_EQ(suppressed["decision_why"], "suppressed by rows.toml:4: known");
    EXPECT_EQ(suppressed["suppression"], 0);
    EXPECT_EQ(suppressed["since"], "new");
    EXPECT_EQ(suppressed["amounts"], Json::parse(R"({"count": 100, "bytes": 6553600, "held_ns": 300000000})"));
    EXPECT_EQ(json["findings"][1]["decision"], "library");
    EXPECT_EQ(json["findings"][2]["decision"], "note");

    const Json plain = rendered(full_capture());
    EXPECT_EQ(plain["verdict_why"], "pageable-async-copy at 1 site");
    EXPECT_EQ(plain["findings"][0]["decision"], "default");
    EXPECT_EQ(plain["findings"][0]["suppression"], nullptr);
    EXPECT_EQ(plain["findings"][0]["since"], "no-baseline");
    EXPECT_EQ(plain["policy"]["config"], nullptr);
    EXPECT_EQ(plain["policy"]["baseline"], nullptr);
}

TEST(Json, stays_valid_and_harmless_whatever_the_texts) {
    constexpr char kHostile[] = "a\n\x1b[2J\x07\xff\xc0\x80\xe2\x80\xae\xc2\x9b\"\\\0z";
    const std::string hostile(kHostile, sizeof kHostile - 1);
    CaptureMaker maker = full_capture();
    CaptureProcess& process = maker.loaded.capture.processes[0];
    for (std::string* text :
         {&process.file, &process.executable, &process.working_directory, &process.host, &process.options,
          &process.tool_version, &process.command_line[0], &process.devices[0].name, &process.coverage[0].text,
          &process.in_call[0].name, &process.in_call[0].api, &process.problems[0], &maker.loaded.errors[0],
          &maker.loaded.capture.sites[0].api, &maker.loaded.capture.modules[0].path}) {
        *text = hostile;
    }
    SourceLine& line = maker.loaded.capture.sites[0].stack[1].lines[0];
    line.function = line.file = hostile;
    maker.loaded.capture.races[0].call = hostile;
    PolicyOptions options = full_policy();
    Suppression& row = options.suppressions[0];
    for (std::string* setting : {&options.config, &row.file, &row.reason, &row.source}) {
        *setting = hostile;
    }
    const std::string text = render_json(maker.loaded, maker.judged(options), Origins());
    for (const char c : text) {
        ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{static_cast<unsigned char>(c)};
    }
    const Json json = Json::parse(text);
    EXPECT_TRUE(json["processes"][0]["host"].get<std::string>().starts_with("a\n\x1b[2J\x07\xef\xbf\xbd"));
    EXPECT_EQ(json["sites"][0]["stack"][1]["lines"][0]["line"], 41);
}

TEST(Json, tells_hidden_waits_and_plain_times) {
    CaptureMaker maker;
    CaptureSite& site = maker.copy(Direction::host_to_device, MemoryClass::pinned, {kUser});
    site.kind = report::SiteKind::release;
    site.api = "cudaFree";
    site.waits.push_back(
        {report::WaitCause::device_wide, report::WaitEvidence::order, 9, 27 * kMs, 4 * kMs, 1, 2, 1, 0, 0, "", 0, {}});
    site.waits.push_back({report::WaitCause::pinning, report::WaitEvidence::call, 5, 50, 40, 1, 2, 1, 0, 0, "", 0, {}});
    const Json json = rendered(maker);
    ASSERT_EQ(json["findings"].size(), 1u);
    EXPECT_EQ(json["findings"][0]["rule"], "hidden-wait");
    EXPECT_EQ(json["findings"][0]["cause"], "device-wide");
    EXPECT_EQ(json["findings"][0]["held_ns"], 27 * kMs);
    EXPECT_EQ(json["findings"][0]["gated"], false);
    EXPECT_EQ(json["findings"][0]["also_sites"], Json::array());
    EXPECT_EQ(json["findings"][0]["saving"]["state"], "none");
    EXPECT_EQ(json["plain_times"]["pinning"]["calls"], 5);
    EXPECT_EQ(json["plain_times"]["pinning"]["ns"], 50);
}

TEST(Json, keeps_large_numbers) {
    CaptureMaker maker;
    maker.copy(Direction::host_to_device, MemoryClass::pinned, {kUser}).bytes = UINT64_MAX;
    EXPECT_EQ(rendered(maker)["sites"][0]["bytes"].get<std::uint64_t>(), UINT64_MAX);
}

}  // namespace
}  // namespace pincheck::test
