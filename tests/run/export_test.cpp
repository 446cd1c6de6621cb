// `pincheck run --export`: what was found, in the files that were asked for, however the program ended.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_command.h"

namespace pincheck::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::vector<std::string> kUploads = {program_path("endings"), "return"};

std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

TEST(RunExport, WritesWhatCheckWould) {
    const FinishedRun run(run_command(
        {"--check", "--output", "reports", "--export", "json=found.json", "--export=sarif=found.sarif"}, kUploads));
    EXPECT_TRUE(run.outcome().exited(1)) << describe(run.outcome());
    const json found = json::parse(text_of(run.folder() / "found.json"));
    EXPECT_EQ(found["verdict"], "violated");
    EXPECT_GE(found["counts"]["gated"], 1);
    const json sarif = json::parse(text_of(run.folder() / "found.sarif"));
    EXPECT_EQ(sarif["version"], "2.1.0");
    EXPECT_EQ(sarif["runs"][0]["results"].size(), found["findings"].size());

    Command again;
    again.arguments = {PINCHECK_TEST_TOOL, "export", "--format=json", (run.folder() / "reports").string()};
    again.preload.clear();
    again.folder = run.folder().string();
    EXPECT_EQ(json::parse(FinishedRun(again).outcome().out)["findings"], found["findings"]);
}

TEST(RunExport, EveryFormatOfAProgramWithoutCuda) {
    for (const char* format : {"json", "sarif", "junit", "github", "markdown", "jsonl", "openmetrics"}) {
        const std::string wanted = std::string(format) + "=found";
        const FinishedRun run(run_command({"--check", "--allow-no-cuda", "--export", wanted}, {"/bin/true"}));
        EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
        EXPECT_TRUE(fs::exists(run.folder() / "found")) << format;
        const FinishedRun undecided(run_command({"--check", "--export", wanted}, {"/bin/true"}));
        EXPECT_TRUE(undecided.outcome().exited(3)) << describe(undecided.outcome());
        EXPECT_NE(text_of(undecided.folder() / "found"), text_of(run.folder() / "found")) << format;
    }
}

TEST(RunExport, TheProgramsOwnEndIsKept) {
    const FinishedRun failing(run_command({"--check", "--export", "json=found"}, {"/bin/sh", "-c", "exit 7"}));
    EXPECT_TRUE(failing.outcome().exited(7)) << describe(failing.outcome());
    EXPECT_TRUE(fs::exists(failing.folder() / "found"));
    const FinishedRun killed(run_command({"--export", "json=found"}, {"/bin/sh", "-c", "kill -TERM $$"}));
    EXPECT_TRUE(killed.outcome().killed_by(SIGTERM)) << describe(killed.outcome());
    EXPECT_TRUE(fs::exists(killed.folder() / "found"));
}

TEST(RunExport, WhatCannotBeWrittenFailsACheckThatWouldPass) {
    const std::vector<std::string> nowhere = {"--allow-no-cuda", "--export", "json=no/such/folder/found"};
    std::vector<std::string> checked = nowhere;
    checked.insert(checked.begin(), "--check");
    const FinishedRun check(run_command(checked, {"/bin/true"}));
    EXPECT_TRUE(check.outcome().exited(2)) << describe(check.outcome());
    EXPECT_TRUE(has(check.outcome().err, "no/such/folder/found")) << check.outcome().err;
    const FinishedRun look(run_command(nowhere, {"/bin/true"}));
    EXPECT_TRUE(look.outcome().exited(0)) << describe(look.outcome());
    EXPECT_TRUE(has(look.outcome().err, "no/such/folder/found")) << look.outcome().err;
}

TEST(RunExport, AWrongWishIsSaidBeforeTheProgramStarts) {
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{"--export", "xml=found"}, {"--export", "json"}, {"--redact"}}) {
        const FinishedRun run(run_command(flags, {"/bin/sh", "-c", "echo started"}));
        EXPECT_TRUE(run.outcome().exited(2)) << describe(run.outcome());
        EXPECT_EQ(run.outcome().out, "");
    }
}

}  // namespace
}  // namespace pincheck::test
