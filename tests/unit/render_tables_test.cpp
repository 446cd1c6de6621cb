// The exports for tables and time series: word for word against tests/golden/export_*, and what their readers rely on.
// tests/exports/valid.py reads them by a parser of the format.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "export_looks.h"

namespace pincheck::test {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> lines_of(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream stream(text);
    std::vector<Json> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(Json::parse(line));
    }
    return lines;
}

std::vector<Json> lines_of(const Look& look, const ExportOptions& options = {}) {
    return lines_of(exported(look, "jsonl", options));
}

std::vector<std::string> keys_of(const Json& line) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : line.items()) {
        EXPECT_TRUE(value.is_primitive()) << key;
        keys.push_back(key);
    }
    return keys;
}

std::vector<Json> of_kind(const std::vector<Json>& lines, const std::string& kind) {
    std::vector<Json> result;
    std::ranges::copy_if(lines, std::back_inserter(result), [&](const Json& line) { return line["kind"] == kind; });
    return result;
}

Look two_processes() {
    Look look = failing_look();
    std::vector<CaptureProcess>& processes = look.loaded.capture.processes;
    processes.push_back(processes[0]);
    processes[0].rank = 0;
    processes[1].rank = 1;
    processes[1].pid = 4128;
    return look;
}

// By section of json_schema.md: what stands in backquotes in the first column of its tables.
std::map<std::string, std::set<std::string>> documented(const std::string& format) {
    std::ifstream file(PINCHECK_JSON_SCHEMA);
    std::map<std::string, std::set<std::string>> keys;
    std::string section;
    bool is_in = false;
    for (std::string line; std::getline(file, line);) {
        is_in = line.starts_with("# ") ? line == "# `pincheck export --format=" + format + "`" : is_in;
        section = line.starts_with('#') ? line.substr(line.rfind(' ') + 1) : section;
        if (is_in && line.starts_with("| `")) {
            const std::string cell = line.substr(2, line.find(" | ", 2) - 2);
            static const std::regex name("`([^`]+)`");
            for (std::sregex_iterator at(cell.begin(), cell.end(), name); at != std::sregex_iterator(); ++at) {
                EXPECT_TRUE(keys[section].insert((*at)[1]).second) << *at->begin();
            }
        }
    }
    return keys;
}

TEST(Jsonl, is_as_expected) {
    expect_golden("fail.jsonl", exported(failing_look(), "jsonl"));
    expect_golden("hostile.jsonl", exported(hostile_look(), "jsonl"));
}

TEST(Jsonl, has_exactly_the_documented_keys_on_every_line) {
    std::map<std::string, std::set<std::string>> sections = documented("jsonl");
    std::set<std::string> kinds;
    std::map<std::string, std::vector<std::string>> of_kinds;
    for (const Look& look : {failing_look(), racing_look(), hostile_look(), blind_look(), two_processes()}) {
        for (const Json& line : lines_of(look)) {
            const std::string kind = line["kind"];
            const std::vector<std::string> keys = keys_of(line);
            EXPECT_EQ(of_kinds.try_emplace(kind, keys).first->second, keys) << kind;
            if (kinds.insert(kind).second) {
                std::set<std::string> expected = sections["line"];
                expected.merge(sections[kind]);
                EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), expected) << kind;
                EXPECT_EQ(keys.size(), expected.size()) << kind << ": a key twice";
            }
        }
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"job", "finding", "site", "process"}));
}

TEST(Jsonl, tells_findings_by_columns) {
    const std::vector<Json> lines = lines_of(failing_look());
    const std::vector<Json> findings = of_kind(lines, "finding");
    ASSERT_EQ(findings.size(), 5u);
    EXPECT_EQ(lines[0]["kind"], "job");
    EXPECT_EQ(lines[0]["findings_gated"], 4);
    EXPECT_EQ(lines[0]["findings_not_gated"], 1);
    const Json& first = findings[0];
    EXPECT_EQ(first["schema"], 1);
    EXPECT_EQ(first["verdict"], "violated");
    EXPECT_EQ(first["host"], "node1");
    EXPECT_EQ(first["pid"], 4127);
    EXPECT_EQ(first["rule"], "pageable-async-copy");
    EXPECT_EQ(first["decision"], "default");
    EXPECT_EQ(first["direction"], "device-to-host");
    EXPECT_EQ(first["source_class"], "device");
    EXPECT_EQ(first["destination_class"], "pageable");
    EXPECT_EQ(first["calls"], 6'240);
    EXPECT_EQ(first["bytes"], 4 * 6'240);
    EXPECT_EQ(first["function"], "Meter::update(float*)");
    EXPECT_EQ(first["file"], "/home/u/src/meter.cu") << "as it was compiled, until something else is asked for";
    EXPECT_EQ(first["line"], 41);
    EXPECT_EQ(first["module"], "/home/u/train");
    EXPECT_EQ(first["first"], "2023-11-14T22:13:20.001000Z");
    EXPECT_EQ(first["last"], "2023-11-14T22:16:40.000000Z");
    EXPECT_EQ(lines_of(failing_look(), in_tree())[1]["file"], "src/meter.cu");
    EXPECT_EQ(of_kind(lines, "site").size(), 5u);
    EXPECT_EQ(of_kind(lines, "site")[0]["site"], first["site"]);
    const std::vector<Json> races = of_kind(lines_of(racing_look()), "finding");
    EXPECT_TRUE(std::ranges::any_of(races, [](const Json& race) {
        return race["rule"] == "source-overwritten-in-flight" && race["corrupting"] == 50 && race["latent"] == 7;
    }));
}

TEST(Jsonl, of_several_processes_has_what_they_have_in_common) {
    const std::vector<Json> lines = lines_of(two_processes());
    for (const char* kind : {"job", "finding", "site"}) {
        const Json line = of_kind(lines, kind).at(0);
        EXPECT_EQ(line["host"], "node1") << kind;
        EXPECT_EQ(line["processes"], 2) << kind;
        EXPECT_TRUE(line["rank"].is_null() && line["pid"].is_null()) << kind;
    }
    EXPECT_TRUE(of_kind(lines, "finding").at(0)["first"].is_null()) << "which process made it is not known";
    const std::vector<Json> processes = of_kind(lines, "process");
    ASSERT_EQ(processes.size(), 2u);
    EXPECT_EQ(processes[1]["rank"], 1);
    EXPECT_EQ(processes[1]["pid"], 4128);
    EXPECT_EQ(processes[1]["first"], "2023-11-14T22:13:20.000000Z");
}

TEST(Jsonl, has_a_line_of_its_job_when_nothing_was_found) {
    const std::vector<Json> lines = lines_of(blind_look());
    EXPECT_EQ(lines[0]["kind"], "job");
    EXPECT_EQ(lines[0]["verdict"], "no-conclusion");
    EXPECT_EQ(of_kind(lines, "finding").size(), 0u);
    Look none;
    none.loaded.errors = {"cannot read x.pcr"};
    EXPECT_EQ(lines_of(none).size(), 1u);
    EXPECT_EQ(lines_of(none)[0]["unreadable_files"], 1);
}

TEST(Jsonl, is_plain_ascii_and_keeps_what_the_user_calls_the_job) {
    ExportOptions options = in_tree();
    options.redact = true;
    options.job = "é\n\"7\"";
    const std::string text = exported(hostile_look(), "jsonl", options);
    for (const char c : text) {
        ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{static_cast<unsigned char>(c)};
    }
    for (const Json& line : lines_of(text)) {
        EXPECT_EQ(line["job"], options.job);
        EXPECT_TRUE(line["host"].is_null() && line["pid"].is_null());
        EXPECT_TRUE(!line.contains("first") || line["first"].is_null());
    }
}

TEST(Jsonl, has_no_time_that_a_damaged_report_makes_up) {
    Look look = failing_look();
    CaptureProcess& process = look.loaded.capture.processes[0];
    process.start_realtime_ns = process.duration_ns = UINT64_MAX;
    EXPECT_TRUE(of_kind(lines_of(look), "process").at(0)["first"].is_null());
    process.start_realtime_ns = INT64_MAX;
    process.duration_ns = 0;
    EXPECT_EQ(of_kind(lines_of(look), "process").at(0)["last"], "2262-04-11T23:47:16.854775Z");
    process.duration_ns = 1;
    EXPECT_TRUE(of_kind(lines_of(look), "process").at(0)["last"].is_null());
}

TEST(Openmetrics, is_as_expected) {
    ExportOptions options;
    options.job = "4711 \"a\\b\"\n";
    expect_golden("fail.om", exported(failing_look(), "openmetrics", options));
    expect_golden("hostile.om", exported(hostile_look(), "openmetrics", options));
}

// What precedes the samples names them; families are not interleaved, since each is written at once.
TEST(Openmetrics, has_exactly_the_documented_metrics_and_labels) {
    std::set<std::string> metrics;
    for (const Look& look : {failing_look(), hostile_look(), two_processes(), blind_look()}) {
        std::istringstream lines(exported(look, "openmetrics"));
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("# TYPE ")) {
                const std::size_t end = line.find(' ', 7);
                metrics.insert(line.substr(7, end - 7) + (line.substr(end) == " info" ? "_info" : ""));
            }
        }
    }
    EXPECT_EQ(metrics, documented("openmetrics").begin()->second);
}

TEST(Openmetrics, tells_the_verdict_and_the_amounts) {
    Look look = failing_look();
    look.loaded.capture.sites[0].waits.push_back({});
    look.loaded.capture.sites[0].waits[0].cause = report::WaitCause::earlier_work;
    look.loaded.capture.sites[0].waits[0].calls = 3;
    look.loaded.capture.sites[0].waits[0].ns = 1'500'000'001;
    const std::string text = exported(look, "openmetrics");
    for (
        const char* line :
        {"pincheck_verdict{verdict=\"violated\"} 1", "pincheck_verdict{verdict=\"pass\"} 0",
         "pincheck_findings{rule=\"pageable-async-copy\",gated=\"true\"} 4",
         "pincheck_findings{rule=\"hidden-wait\",gated=\"true\"} 0",
         "pincheck_finding_held_seconds{rule=\"pageable-async-copy\",direction=\"device-to-host\",source=\"device\","
         "destination=\"pageable\"} 20.800000480",
         "pincheck_calls{kind=\"copy\"} 12863",
         "pincheck_copies{direction=\"device-to-host\",source=\"device\",destination=\"pageable\",async=\"true\"} 6440",
         "pincheck_copied_bytes{direction=\"device-to-host\",source=\"device\",destination=\"pageable\",async=\"true\"}"
         " 25760",
         "pincheck_held_calls{cause=\"earlier-work\"} 3", "pincheck_held_seconds{cause=\"earlier-work\"} 1.500000001",
         "pincheck_pinned_bytes 1288490188", "pincheck_pinned_ranges 14", "pincheck_processes{ended=\"true\"} 1",
         "pincheck_duration_seconds 214.000000000", "pincheck_losses{kind=\"counters\"} 0"}) {
        EXPECT_NE(text.find(std::string("\n") + line + '\n'), text.npos) << line << '\n' << text;
    }
    EXPECT_TRUE(text.ends_with("\n# EOF\n"));
    const std::string races = exported(racing_look(), "openmetrics");
    EXPECT_NE(races.find("\npincheck_race_findings{rule=\"source-overwritten-in-flight\",outcome=\"unknown\"} 3\n"),
              races.npos);
    EXPECT_NE(races.find("\npincheck_losses{kind=\"stacks\"} 3\n"), races.npos);
}

// However many sites, processes and kinds that nobody knows a report has.
TEST(Openmetrics, has_as_many_samples_as_the_labels_allow) {
    const auto samples = [](const Look& look) {
        const std::string text = exported(look, "openmetrics");
        return std::ranges::count(text, '\n');
    };
    Look look = failing_look();
    const auto before = samples(look);
    std::vector<CaptureSite>& sites = look.loaded.capture.sites;
    for (std::uint32_t i = 0; i < 2'000; ++i) {
        sites.push_back(sites[0]);
        sites.back().id = static_cast<std::uint32_t>(sites.size());
        sites.back().api = "f" + std::to_string(i);
        sites.back().stack[0].offset += i + 1;
        sites.back().stack[0].lines[0].function = "g" + std::to_string(i);
        look.loaded.capture.processes.push_back(look.loaded.capture.processes[0]);
        look.loaded.capture.processes.back().host = "h" + std::to_string(i);
    }
    EXPECT_EQ(samples(look), before);
    for (int i = 0; i < 100; ++i) {
        CaptureSite& site = sites[static_cast<std::size_t>(i) + 10];
        site.kind = static_cast<report::SiteKind>(100 + i);
        site.direction = static_cast<report::Direction>(100 + i);
        site.source.kind = static_cast<report::MemoryClass>(100 + i);
        site.waits.resize(1);
        site.waits[0].cause = static_cast<report::WaitCause>(100 + i);
        look.loaded.capture.processes[0].losses.push_back({static_cast<report::Loss>(1'000 + i), 1, 0});
    }
    EXPECT_LT(samples(look), before + 12);
}

}  // namespace
}  // namespace pincheck::test
