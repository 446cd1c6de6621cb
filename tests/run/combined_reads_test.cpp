// Reads of write-combined memory, from the program to the export and the verdict.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "run_command.h"

namespace pincheck::test {
namespace {

using Json = nlohmann::json;

struct Exported {
    Exported(const std::string& half, std::vector<std::string> flags)
        : run(run_command(with(std::move(flags)), {program_path("combined_reads"), half})) {
        const auto folders = job_folders(run.folder());
        EXPECT_EQ(folders.size(), 1u) << describe(run.outcome());
        if (!folders.empty()) {
            const FinishedRun exported(plain_command({PINCHECK_TEST_TOOL, "export", "--format=json", folders.front()}));
            json = Json::parse(exported.outcome().out, nullptr, false);
            const FinishedRun shown(plain_command({PINCHECK_TEST_TOOL, "report", "--all", folders.front()}));
            screen = shown.outcome().out;
        }
    }
    static std::vector<std::string> with(std::vector<std::string> flags) {
        flags.insert(flags.begin(), "--races=trap");
        return flags;
    }
    std::vector<Json> findings() const {
        std::vector<Json> found;
        for (const Json& finding : json["findings"]) {
            if (finding["rule"] == "write-combined-read") {
                found.push_back(finding);
            }
        }
        return found;
    }

    FinishedRun run;
    Json json;
    std::string screen;
};

TEST(CombinedReads, NameTheLineAndGateOnlyOnDemand) {
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force";
    }
    const Exported looked("read_back", {"--check"});
    EXPECT_TRUE(looked.run.outcome().exited(0)) << describe(looked.run.outcome());
    ASSERT_EQ(looked.findings().size(), 1u) << looked.json.dump(1);
    const Json finding = looked.findings()[0];
    EXPECT_EQ(finding["severity"], "warning");
    EXPECT_EQ(finding["gated"], false);
    EXPECT_EQ(finding["count"], 3);
    EXPECT_EQ(finding["held_ns"], 0);
    EXPECT_EQ(finding["reads"], Json({0}));
    const std::string heading = finding["heading"];
    EXPECT_TRUE(has(heading, "checksum")) << heading;
    EXPECT_TRUE(has(heading, "combined_reads.cu:")) << heading;
    const std::string why = finding["why"];
    EXPECT_TRUE(has(why, "byte 0 of 64 KiB, caught in 3 samples. Allocated by cudaHostAlloc at ")) << why;
    const Json& read = looked.json["reads"][0];
    EXPECT_EQ(looked.json["reads"].size(), 1u);
    EXPECT_EQ(read["site"], finding["site"]);
    EXPECT_EQ(read["samples"], 3);
    EXPECT_EQ(read["call"], "");
    EXPECT_EQ(read["bytes"], 64 << 10);
    EXPECT_TRUE(has(looked.screen, "in 3 samples   warning")) << looked.screen;

    for (const char* flag : {"--strict", "--fail-on=write-combined-read"}) {
        const Exported gated("read_by_a_call", {"--check", flag});
        EXPECT_TRUE(gated.run.outcome().exited(1)) << describe(gated.run.outcome());
        ASSERT_EQ(gated.findings().size(), 1u);
        EXPECT_EQ(gated.findings()[0]["api"], "write()");
    }
}

TEST(CombinedReads, AreNotToldOfAProducer) {
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force";
    }
    const Exported result("written_only", {"--check", "--fail-on=write-combined-read"});
    EXPECT_TRUE(result.run.outcome().exited(0)) << describe(result.run.outcome());
    EXPECT_TRUE(result.findings().empty());
    EXPECT_EQ(result.json["reads"], Json::array());
}

}  // namespace
}  // namespace pincheck::test
