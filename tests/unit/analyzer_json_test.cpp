// The JSON export: valid whatever a report holds, and every key documented.
#include <gtest/gtest.h>

#include <fstream>
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
    CaptureProcess& process = maker.loaded.capture.processes[0];
    process.command_line = {"./train", "--fast"};
    process.coverage.push_back({report::CoverageKind::route, "lookup"});
    process.losses.push_back({report::Loss::ranges, 2, 12});
    process.in_call.push_back({7, "main", "cudaMemcpy", 5});
    process.problems.push_back("cut");
    maker.loaded.errors.push_back("x.pcr is empty");
    return maker;
}

Json rendered(const CaptureMaker& maker) {
    return Json::parse(render_json(maker.loaded, maker.judged(), Origins()));
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

// What stands in backquotes in the first column of the tables.
std::set<std::string> documented_keys() {
    std::ifstream file(PINCHECK_JSON_SCHEMA);
    std::set<std::string> keys;
    for (std::string line; std::getline(file, line);) {
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
    std::set<std::string> keys;
    collect_keys(rendered(full_capture()), "", keys);
    EXPECT_EQ(keys, documented_keys());
    EXPECT_GT(keys.size(), 80u);
}

TEST(Json, tells_verdict_findings_and_sites) {
    const Json json = rendered(full_capture());
    EXPECT_EQ(json["schema"], 1);
    EXPECT_EQ(json["verdict"], "violated");
    EXPECT_EQ(json["counts"]["gated"], 1);
    ASSERT_EQ(json["findings"].size(), 2u);
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
    EXPECT_EQ(json["streams"][0]["kind"], "created");
    EXPECT_EQ(json["processes"][0]["rank"], nullptr);
    EXPECT_EQ(json["errors"][0], "x.pcr is empty");
    CaptureMaker none;
    none.loaded.capture.processes.clear();
    EXPECT_EQ(rendered(none)["verdict"], "no-conclusion");
    EXPECT_EQ(rendered(CaptureMaker())["verdict"], "pass");
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
    const std::string text = render_json(maker.loaded, maker.judged(), Origins());
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
