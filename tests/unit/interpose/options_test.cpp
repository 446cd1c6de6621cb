#include "interpose/options.h"

#include <gtest/gtest.h>

#include <string>

#include "interpose/report_file.h"

namespace {

using pincheck::expand_name;
using pincheck::NameParts;
using pincheck::number_name;
using pincheck::Options;
using pincheck::parse_options;

TEST(Options, defaultsWhenNothingIsGiven) {
    for (const char* text : {static_cast<const char*>(nullptr), "", ":", "::"}) {
        const Options options = parse_options(text);
        EXPECT_STREQ(options.output, "pincheck-%e-%t-%h-%p.pcr");
        EXPECT_TRUE(options.stacks && options.exports && options.dlsym && options.full_command_line);
        EXPECT_EQ(options.depth, 16u);
        EXPECT_EQ(options.threshold_us, 20u);
        EXPECT_EQ(options.cupti, pincheck::CuptiUse::copies);
        EXPECT_EQ(options.races, pincheck::RaceUse::watch);
        EXPECT_EQ(options.sample, pincheck::WatchSampling::cost);
        EXPECT_EQ(options.budget_percent, 2u);
        EXPECT_EQ(options.verbosity, 1);
        EXPECT_STREQ(options.complaint, "");
    }
}

TEST(Options, everyKeyIsUnderstood) {
    const Options options = parse_options(
        "output=/a/"
        "b=c.pcr:stacks=off:depth=40:threshold=1500:exports=off:dlsym=0:cupti=full:races=off:cmdline=name:verbosity=2");
    EXPECT_STREQ(options.output, "/a/b=c.pcr");
    EXPECT_FALSE(options.stacks || options.exports || options.dlsym || options.full_command_line);
    EXPECT_EQ(options.depth, 40u);
    EXPECT_EQ(options.threshold_us, 1500u);
    EXPECT_EQ(options.cupti, pincheck::CuptiUse::full);
    EXPECT_EQ(options.races, pincheck::RaceUse::off);
    EXPECT_EQ(options.verbosity, 2);
    EXPECT_STREQ(options.complaint, "");
}

TEST(Options, theLastOfTwoWins) {
    EXPECT_EQ(parse_options("depth=4:depth=5").depth, 5u);
}

TEST(Options, aBadValueKeepsTheDefaultAndNamesWhatIsTaken) {
    for (const char* text : {"depth=0", "depth=65", "depth=", "depth=4x", "depth", "depth=99999999999999999999"}) {
        const Options options = parse_options(text);
        EXPECT_EQ(options.depth, 16u) << text;
        EXPECT_NE(std::string(options.complaint).find("a number from 1 to 64"), std::string::npos) << text;
    }
    EXPECT_STREQ(parse_options("output=").output, "pincheck-%e-%t-%h-%p.pcr");
    EXPECT_STREQ(parse_options(("output=" + std::string(600, 'x')).c_str()).output, "pincheck-%e-%t-%h-%p.pcr");
    EXPECT_EQ(parse_options("verbosity=9").verbosity, 1);
    EXPECT_TRUE(parse_options("stacks=maybe").stacks);
    EXPECT_EQ(parse_options("races=order").races, pincheck::RaceUse::order);
    EXPECT_EQ(parse_options("races=watch").races, pincheck::RaceUse::watch);
    EXPECT_EQ(parse_options("races=trap").races, pincheck::RaceUse::trap);
    EXPECT_EQ(parse_options("races=all").races, pincheck::RaceUse::watch);
    EXPECT_NE(std::string(parse_options("races=all").complaint).find("trap, watch (watch,pageable), order or off"),
              std::string::npos);
    EXPECT_EQ(parse_options("sample=count").sample, pincheck::WatchSampling::count);
    EXPECT_EQ(parse_options("sample=time").sample, pincheck::WatchSampling::cost);
    EXPECT_EQ(parse_options("budget=7").budget_percent, 7u);
    EXPECT_EQ(parse_options("budget=0").budget_percent, 2u);
    EXPECT_EQ(parse_options("cupti=off").cupti, pincheck::CuptiUse::off);
    EXPECT_EQ(parse_options("cupti=on").cupti, pincheck::CuptiUse::copies);
    EXPECT_NE(std::string(parse_options("cupti=on").complaint).find("copies, full or off"), std::string::npos);
}

TEST(Options, anUnknownKeyIsNamedOnceAndTheRestStillCounts) {
    const Options options = parse_options("dept=3:nonsense:depth=7");
    EXPECT_EQ(options.depth, 7u);
    EXPECT_NE(std::string(options.complaint).find("'dept'"), std::string::npos);
    EXPECT_EQ(std::string(options.complaint).find("nonsense"), std::string::npos);
}

TEST(Options, aComplaintHoldsNoTerminalEscapes) {
    const Options options = parse_options("a\x1b[31mb=1");
    EXPECT_EQ(std::string(options.complaint).find('\x1b'), std::string::npos);
}

TEST(Options, veryLongTextIsNoTrouble) {
    const Options options = parse_options((std::string(5000, 'k') + "=" + std::string(5000, 'v') + ":depth=3").c_str());
    EXPECT_EQ(options.depth, 3u);
    EXPECT_LT(std::string(options.complaint).size(), 256u);
}

const NameParts kParts{"tr/ain", "host", "3", 42, "20261129T195100"};

std::string expanded(const char* pattern) {
    char out[128];
    return expand_name(pattern, kParts, out, sizeof(out)) ? out : "(too long)";
}

TEST(ReportName, everyPartIsFilledIn) {
    EXPECT_EQ(expanded("/d/%e-%h-%n-%p-%t.pcr"), "/d/tr_ain-host-3-42-20261129T195100.pcr");
    EXPECT_EQ(expanded("100%%"), "100%");
    EXPECT_EQ(expanded("%x%"), "%x%");
    EXPECT_EQ(expanded(std::string(200, 'a').c_str()), "(too long)");
}

TEST(ReportName, aNumberGoesBeforeTheSuffix) {
    char out[64];
    ASSERT_TRUE(number_name("/d/a.pcr", 2, out, sizeof(out)));
    EXPECT_STREQ(out, "/d/a-2.pcr");
    ASSERT_TRUE(number_name("plain", 1, out, sizeof(out)));
    EXPECT_STREQ(out, "plain-1");
    EXPECT_FALSE(number_name(std::string(70, 'a').c_str(), 1, out, sizeof(out)));
}

}  // namespace
