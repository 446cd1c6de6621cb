// The samples whose buffers are filled again too early: told with the lines that their heads promise, and nothing of
// the right ones.
#include <fstream>
#include <string>

#include "told.h"

namespace pincheck::test {
namespace {

// "samples/NAME.cu:LINE" of the only line with that mark, such as "(1)".
std::string marked_line(const std::string& sample, const std::string& mark) {
    std::ifstream source(std::string(PINCHECK_TEST_SOURCE) + "/samples/" + sample + ".cu");
    std::string line;
    for (int number = 1; std::getline(source, line); ++number) {
        if (line.ends_with("  // " + mark)) {
            return sample + ".cu:" + std::to_string(number);
        }
    }
    return "no line is marked " + mark;
}

bool is_race(const Finding& finding) {
    return !finding.races.empty();
}

// Every call, so that the machine's speed plays no part.
constexpr const char* kWatch = "races=watch:sample=count";

// One finding, of the copy at `copy`; the wait that came too late is at `wait`, the access at `access`.
void expect_race(const std::string& sample, const std::string& form, Rule rule, const std::string& copy,
                 const std::string& wait, const std::string& options = kWatch, const std::string& access = "") {
    if (is_filtered()) {
        GTEST_SKIP() << "a seccomp filter is in force";
    }
    for (const char* runtime : {"", "_static"}) {
        const Told told = Told::sample(sample + runtime, form, options);
        EXPECT_EQ(std::ranges::count_if(told.findings, is_race), 1) << told.screen;
        const auto race = std::ranges::find(told.findings, rule, &Finding::rule);
        ASSERT_NE(race, told.findings.end()) << told.screen;
        const CaptureSite& site = told.loaded.capture.sites[race->site - 1];
        ASSERT_GE(race->heading, 0) << told.screen;
        const SourceLine* line = shown_line(site.stack[static_cast<std::size_t>(race->heading)], told.origins);
        ASSERT_NE(line, nullptr) << told.screen;
        EXPECT_TRUE((line->file + ":" + std::to_string(line->line)).ends_with(marked_line(sample, copy)))
            << line->file << ":" << line->line << " is not " << marked_line(sample, copy);
        EXPECT_TRUE(told.says(marked_line(sample, wait) + " waits for the copy, too late")) << told.screen;
        EXPECT_TRUE(access.empty() || told.says(marked_line(sample, access))) << told.screen;
        EXPECT_EQ(told.judgement.verdict, Verdict::violated) << told.screen;
    }
}
void expect_early_refill(const std::string& sample, const std::string& form, const std::string& copy,
                         const std::string& wait) {
    expect_race(sample, form, Rule::source_overwritten_in_flight, copy, wait);
}
void expect_nothing(const std::string& sample, const std::string& form, const std::string& options = kWatch) {
    for (const char* runtime : {"", "_static"}) {
        const Told told = Told::sample(sample + runtime, form, options);
        EXPECT_EQ(std::ranges::count_if(told.findings, is_race), 0) << told.screen;
        EXPECT_EQ(told.judgement.verdict, Verdict::pass) << told.screen;
    }
}

TEST(Scenario, L6_DoubleBufferSample) {
    expect_nothing("double_buffer", "");
}
TEST(Scenario, B1_DoubleBufferSampleThatFillsBeforeItWaits) {
    expect_early_refill("double_buffer", "--refill-before-wait", "(2)", "(3)");
}
TEST(Scenario, B1_DoubleBufferSampleThatRecordsBeforeItCopies) {
    expect_early_refill("double_buffer", "--event-before-copy", "(2)", "(1)");
}
TEST(Scenario, B2_OneBufferSample) {
    expect_early_refill("one_buffer_loop", "", "(1)", "(2)");
    expect_nothing("one_buffer_loop", "--wait");
}
// What the host reads is seen at level trap alone: the copy at (1) read at (2), and (3) too late.
TEST(Scenario, EarlyReadSampleIsNotSeenAtLevelWatch) {
    expect_nothing("early_read", "");
    expect_nothing("early_read", "--wait");
}
TEST(Scenario, C1_EarlyReadSample) {
    expect_race("early_read", "", Rule::destination_read_in_flight, "(1)", "(3)", "races=trap", "(2)");
    expect_nothing("early_read", "--wait", "races=trap");
}
TEST(Scenario, OtherSamplesTellTheSameWithTheirAccessesTrapped) {
    expect_nothing("double_buffer", "", "races=trap");
    expect_nothing("one_buffer_loop", "--wait", "races=trap");
    expect_race("one_buffer_loop", "", Rule::source_overwritten_in_flight, "(1)", "(2)", "races=trap");
    expect_race("double_buffer", "--refill-before-wait", Rule::source_overwritten_in_flight, "(2)", "(3)",
                "races=trap");
}

}  // namespace
}  // namespace pincheck::test
