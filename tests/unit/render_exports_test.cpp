// The exports for CI systems: word for word against tests/golden/export_*, structure, limits, and hostile names.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "analyzer/render_github.h"
#include "analyzer/render_junit.h"
#include "analyzer/render_markdown.h"
#include "analyzer/render_sarif.h"
#include "export_looks.h"

namespace pincheck::test {
namespace {

using Json = nlohmann::ordered_json;

Json sarif_run(const Look& look, const ExportOptions& options = in_tree()) {
    const std::string text = exported(look, "sarif", options);
    for (const char c : text) {
        EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{static_cast<unsigned char>(c)};
    }
    const Json json = Json::parse(text);
    EXPECT_EQ(json["version"], "2.1.0");
    EXPECT_TRUE(json["$schema"].get<std::string>().ends_with("/sarif-schema-2.1.0.json"));
    EXPECT_EQ(json["runs"].size(), 1u);
    return json["runs"][0];
}

// What the standard and GitHub demand of a location with a file.
void expect_place(const Json& location, const Json& run) {
    const Json& artifact = location["physicalLocation"]["artifactLocation"];
    const std::string uri = artifact["uri"];
    EXPECT_TRUE(std::regex_match(uri, std::regex("(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F][0-9A-F])+"))) << uri;
    EXPECT_EQ(artifact.contains("uriBaseId"), !uri.starts_with("file:")) << uri;
    EXPECT_EQ(uri.find("../"), uri.npos) << uri;
    EXPECT_EQ(run["artifacts"].at(artifact["index"].get<std::size_t>())["location"]["uri"], uri);
    EXPECT_GE(location["physicalLocation"]["region"]["startLine"].get<int>(), 1);
}

void expect_result(const Json& result, const Json& run) {
    const Json& rules = run["tool"]["driver"]["rules"];
    EXPECT_EQ(rules.at(result["ruleIndex"].get<std::size_t>())["id"], result["ruleId"]);
    EXPECT_TRUE(result["level"] == "error" || result["level"] == "warning" || result["level"] == "note");
    EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
    for (const Json& location : result["locations"]) {
        EXPECT_TRUE(location.contains("physicalLocation") || location.contains("logicalLocations"));
        if (location.contains("physicalLocation")) {
            expect_place(location, run);
        }
    }
    std::set<int> ids;
    for (const Json& related : result.value("relatedLocations", Json::array())) {
        expect_place(related, run);
        EXPECT_TRUE(ids.insert(related["id"].get<int>()).second);
    }
    for (const Json& stack : result.value("stacks", Json::array())) {
        EXPECT_FALSE(stack["frames"].empty());
    }
}

void expect_sarif(const Json& run) {
    std::set<std::string> ids;
    for (const Json& rule : run["tool"]["driver"]["rules"]) {
        EXPECT_TRUE(ids.insert(rule["id"].get<std::string>()).second) << rule["id"];
        for (const char* text : {"shortDescription", "fullDescription", "help"}) {
            EXPECT_FALSE(rule[text]["text"].get<std::string>().empty()) << rule["id"];
        }
        EXPECT_FALSE(rule["help"]["markdown"].get<std::string>().empty());
        EXPECT_TRUE(rule["defaultConfiguration"].contains("level"));
    }
    std::set<std::string> fingerprints;
    for (const Json& result : run["results"]) {
        expect_result(result, run);
        EXPECT_TRUE(fingerprints.insert(result["partialFingerprints"]["pincheckFinding/v1"].get<std::string>()).second);
    }
    EXPECT_TRUE(run["invocations"][0]["executionSuccessful"].is_boolean());
    for (const Json& said : run["invocations"][0]["toolExecutionNotifications"]) {
        const Json& kind = run["tool"]["driver"]["notifications"].at(said["descriptor"]["index"].get<std::size_t>());
        EXPECT_EQ(kind["id"], said["descriptor"]["id"]);
        EXPECT_FALSE(said["message"]["text"].get<std::string>().empty());
    }
}

TEST(Sarif, is_as_expected) {
    Json run = sarif_run(failing_look());
    expect_sarif(run);
    EXPECT_EQ(run["tool"]["driver"]["rules"].size(), rules().size());
    run["tool"]["driver"].erase("rules");  // the pages of `pincheck explain`
    expect_golden("fail.sarif", run.dump(2) + '\n');
}

TEST(Sarif, tells_both_parties_of_a_race) {
    const Json run = sarif_run(racing_look());
    expect_sarif(run);
    const auto race = std::ranges::find_if(
        run["results"], [](const Json& result) { return result["ruleId"] == "source-overwritten-in-flight"; });
    ASSERT_NE(race, run["results"].end());
    EXPECT_EQ((*race)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "src/x.cu");
    EXPECT_EQ((*race)["locations"][0]["physicalLocation"]["region"]["startLine"], 10);
    EXPECT_EQ((*race)["properties"]["corrupting"], 50);
    EXPECT_EQ((*race)["relatedLocations"][0]["message"]["text"], "waited for, too late, by");
    EXPECT_TRUE((*race)["message"]["text"].get<std::string>().ends_with(" See [waited for, too late, by](1)."));
    EXPECT_EQ((*race)["stacks"].size(), 3u);
}

TEST(Sarif, keeps_findings_without_a_file_unless_they_must_be_located) {
    Look look = failing_look();
    look.loaded.capture.sites[1].stack[0].lines[0].file.clear();
    const Json all = sarif_run(look);
    expect_sarif(all);
    EXPECT_EQ(all["results"][1]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "train!to_device");
    EXPECT_FALSE(all["results"][1]["locations"][0].contains("physicalLocation"));
    ExportOptions options = in_tree();
    options.located = true;
    testing::internal::CaptureStderr();
    const Json located = sarif_run(look, options);
    EXPECT_TRUE(testing::internal::GetCapturedStderr().starts_with(
        "pincheck: 4 of 5 findings have no file below /home/u and are no results in the SARIF file"));
    expect_sarif(located);
    ASSERT_EQ(located["results"].size(), 1u);
    EXPECT_EQ(located["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"], "SRCROOT");
    const auto is_unplaced = [](const Json& said) { return said["descriptor"]["id"] == "no-place"; };
    EXPECT_EQ(std::ranges::count_if(located["invocations"][0]["toolExecutionNotifications"], is_unplaced), 4);
}

TEST(Sarif, says_why_there_is_no_conclusion) {
    const Json invocation = sarif_run(blind_look())["invocations"][0];
    EXPECT_EQ(invocation["executionSuccessful"], false);
    EXPECT_EQ(invocation["exitCode"], 3);
    EXPECT_EQ(invocation["toolExecutionNotifications"][0]["descriptor"]["id"], "no-conclusion");
    EXPECT_EQ(invocation["toolExecutionNotifications"][0]["level"], "error");
}

TEST(Sarif, has_no_link_and_no_placeholder_of_others) {
    const Json run = sarif_run(hostile_look());
    expect_sarif(run);
    const std::string text = run["results"][0]["stacks"][0]["frames"][0]["location"]["message"]["text"];
    EXPECT_EQ(text.find("]("), text.npos) << text;
    EXPECT_NE(text.find("{{0}}"), text.npos) << text;
}

TEST(Sarif, hides_where_the_tree_lies_when_redacted) {
    ExportOptions options = in_tree();
    EXPECT_EQ(sarif_run(failing_look(), options)["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///home/u/");
    options.redact = true;
    const Json run = sarif_run(failing_look(), options);
    expect_sarif(run);
    EXPECT_FALSE(run["originalUriBaseIds"]["SRCROOT"].contains("uri"));
    EXPECT_FALSE(run["results"][1]["locations"][0].contains("physicalLocation")) << "/opt/lib/data.cpp";
}

TEST(Junit, is_as_expected) {
    expect_golden("fail.junit.xml", exported(failing_look(), "junit", in_tree()));
    expect_golden("hostile.junit.xml", exported(hostile_look(), "junit", in_tree()));
}

TEST(Junit, is_an_error_without_a_conclusion) {
    const std::string text = exported(blind_look(), "junit", in_tree());
    EXPECT_NE(text.find(" failures=\"0\" errors=\"1\""), text.npos) << text;
    EXPECT_NE(text.find("<error type=\"no-conclusion\""), text.npos);
}

TEST(Junit, has_only_characters_of_xml) {
    const std::string text = exported(hostile_look(), "junit", in_tree());
    for (const char c : text) {
        EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << int{c};
    }
    EXPECT_EQ(text.find("\xef\xbf\xbe"), text.npos);
    EXPECT_EQ(text.find("]]>"), text.npos);
    EXPECT_EQ(text.find("<script"), text.npos);
}

TEST(Github, is_as_expected) {
    expect_golden("fail.github.txt", exported(failing_look(), "github", in_tree()));
    expect_golden("hostile.github.txt", exported(hostile_look(), "github", in_tree()));
}

// The runner takes lines that begin with "::", and "##[" anywhere in another line.
TEST(Github, has_no_command_of_others) {
    for (const Look& look : {hostile_look(), blind_look()}) {
        std::istringstream lines(exported(look, "github", in_tree()));
        const std::regex command(
            "::(error|warning|notice) (file=[^:,]+,line=[0-9]+,)?title=pincheck%3A [^:,]+::[^\r]*");
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("pincheck: ")) {
                EXPECT_EQ(line.find("##["), line.npos) << line;
            } else {
                EXPECT_TRUE(std::regex_match(line, command)) << line;
            }
        }
    }
}

TEST(Github, writes_ten_of_a_level_and_counts_the_rest) {
    Look look = failing_look();
    std::vector<CaptureSite>& sites = look.loaded.capture.sites;
    for (std::uint32_t i = 0; i < 23; ++i) {
        sites.push_back(sites[i % 2]);
        sites.back().id = static_cast<std::uint32_t>(sites.size());
        sites.back().stack[0].offset += i + 1;
    }
    const std::string text = exported(look, "github", in_tree());
    std::size_t errors = 0;
    for (std::size_t at = text.find("\n::error "); at != text.npos; at = text.find("\n::error ", at + 1)) {
        ++errors;
    }
    EXPECT_EQ(errors, 10u);
    EXPECT_TRUE(
        text.ends_with("\npincheck: 17 findings without an annotation, since GitHub shows 10 of a level; see "
                       "the report\n"))
        << text;
}

TEST(Markdown, is_as_expected) {
    expect_golden("fail.md", exported(failing_look(), "markdown", in_tree()));
    expect_golden("hostile.md", exported(hostile_look(), "markdown", in_tree()));
    expect_golden("no_conclusion.md", exported(blind_look(), "markdown", in_tree()));
}

TEST(Markdown, has_no_markup_of_others) {
    const std::string text = exported(hostile_look(), "markdown", in_tree());
    // In these, Markdown means nothing.
    const std::string prose = std::regex_replace(text, std::regex("<(pre|summary)>[^<]*</(pre|summary)>"), "");
    for (const char* markup : {"<script", "x\n::", " `b`", " *c*", "[l](", " @user", " | \\`", "\x1b"}) {
        EXPECT_EQ(prose.find(markup), prose.npos) << markup;
    }
    EXPECT_EQ(text.find("<script"), text.npos);
    const auto count = [&](const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
            ++found;
        }
        return found;
    };
    EXPECT_EQ(count("<details>"), count("</details>"));
    EXPECT_EQ(count("<pre>"), count("</pre>"));
    EXPECT_GT(count("<details>"), 5u);
}

TEST(Markdown, is_bounded_and_says_what_is_missing) {
    Look look = failing_look();
    std::vector<CaptureSite>& sites = look.loaded.capture.sites;
    for (std::uint32_t i = 0; i < 3'000; ++i) {
        sites.push_back(sites[i % 2]);
        sites.back().id = static_cast<std::uint32_t>(sites.size());
        sites.back().stack[0].lines[0].function.assign(5'000, 'f');
    }
    const std::string text = exported(look, "markdown", in_tree());
    EXPECT_LT(text.size(), 512u * 1024);
    EXPECT_TRUE(std::regex_search(text, std::regex("… [0-9,]+ findings not told in full here")));
    EXPECT_NE(text.find("### Not gated"), text.npos);
    EXPECT_NE(text.find("\nNext: "), text.npos);
}

// For tests/exports/valid.py, which hands them to programs that know the formats.
TEST(ExportFiles, are_written_where_asked) {
    const char* folder = std::getenv("PINCHECK_EXPORT_DIR");
    if (folder == nullptr) {
        GTEST_SKIP() << "PINCHECK_EXPORT_DIR is not set";
    }
    const std::pair<const char*, Look> looks[] = {
        {"fail", failing_look()}, {"races", racing_look()}, {"hostile", hostile_look()}, {"blind", blind_look()}};
    for (const auto& [name, look] : looks) {
        for (const bool redact : {false, true}) {
            ExportOptions options = in_tree();
            options.redact = options.located = redact;
            const std::string stem = std::string(folder) + '/' + name + (redact ? "_redacted." : ".");
            std::ofstream(stem + "sarif", std::ios::binary) << exported(look, "sarif", options);
            std::ofstream(stem + "xml", std::ios::binary) << exported(look, "junit", options);
            std::ofstream(stem + "jsonl", std::ios::binary) << exported(look, "jsonl", options);
            std::ofstream(stem + "om", std::ios::binary) << exported(look, "openmetrics", options);
        }
    }
}

}  // namespace
}  // namespace pincheck::test
