// Races in words, piece by piece.
#include "analyzer/race_text.h"

#include <gtest/gtest.h>

#include "races_sample.h"

namespace pincheck::test {
namespace {

using report::RaceLevel;
using report::RaceRule;

TEST(RaceText, counts_by_outcome) {
    EXPECT_EQ(times_text(1, 0, 0), "once; whether the device had finished by then is not known");
    EXPECT_EQ(times_text(7, 0, 0), "7 times; whether the device had finished by then is not known");
    EXPECT_EQ(times_text(1, 1, 0), "once, corrupting (the copy was still to come or running)");
    EXPECT_EQ(times_text(7, 0, 7), "7 times, always latent (the device had finished it, but nobody had asked)");
    EXPECT_EQ(times_text(7, 0, 2),
              "7 times: 2 latent (the device had finished it, but nobody had asked), of 5 it is not known");
    EXPECT_EQ(times_text(1, 5, 7).find("once: 5 corrupting"), 0u) << "of a damaged file";
}

TEST(RaceText, names_the_bytes) {
    CaptureRace race;
    EXPECT_EQ(overlap_text(race), "");
    race.copy_bytes = 4096;
    race.end = 4096;
    EXPECT_EQ(overlap_text(race), "all 4 KiB");
    race.begin = 4095;
    EXPECT_EQ(overlap_text(race), "bytes 4,095 to 4,095 of 4 KiB");
    race.end = 5000;
    EXPECT_EQ(overlap_text(race), "") << "past the copy's end: of a damaged file";
}

TEST(RaceText, names_the_host_by_what_is_known_of_it) {
    const Capture capture = racing_sites();
    const auto party = [&](const CaptureRace& race) { return party_text(capture, race, Origins()); };
    CaptureRace race = race_sample(RaceRule::source_overwritten_in_flight, kUpload, 0, RaceLevel::watch);
    EXPECT_EQ(party(race), "the host");
    race.after_site = kUpload;
    EXPECT_EQ(party(race), "the host, after cudaMemcpyAsync at src/x.cu:10");
    race.after_site = 0;
    race.before_site = kWait;
    EXPECT_EQ(party(race), "the host, before cudaEventSynchronize at src/x.cu:60");
    race.other_site = kAccess;
    EXPECT_EQ(party(race), "the host, at src/y.cu:5 in helper(float*)");
    race.call = "read";
    EXPECT_EQ(party(race), "the host, by read() at src/y.cu:5 in helper(float*)");
    race.other_site = kUpload;
    EXPECT_EQ(party(race), "the same call, made again");
    race.other_site = 999;
    EXPECT_EQ(party(race), "the host, by read(), before cudaEventSynchronize at src/x.cu:60");
}

// The wait was there, the event stood for nothing.
TEST(RaceText, says_that_the_event_waited_for_was_recorded_before_the_copy) {
    const Capture capture = racing_sites();
    const auto fix = [&](CaptureRace race) {
        race.flags |= report::kRaceEarlyEvent;
        return race_fix(capture, race, Origin::user, false, Origins());
    };
    CaptureRace race = race_sample(RaceRule::source_overwritten_in_flight, kUpload, 0, RaceLevel::watch);
    race.wait_site = kWait;
    EXPECT_EQ(
        fix(race),
        "record the event after the copy (the one that the host waits for is recorded before it), and wait for it "
        "before the buffer is written again.");
    EXPECT_TRUE(fix(race_sample(RaceRule::destination_read_in_flight, kDownload, kAccess))
                    .ends_with("and wait for it before the result is read."));
    EXPECT_TRUE(fix(race_sample(RaceRule::result_never_awaited, kDownload, kDownload))
                    .ends_with("and wait for it before the buffer's next use and before the result is read."));
    EXPECT_TRUE(fix(race_sample(RaceRule::source_overwritten_in_flight, kUpload, kDownload))
                    .starts_with("record an event after the copy and make the other stream wait for it"))
        << "what orders two streams is another matter";
    race.flags = report::kRaceEarlyEvent;
    const CaptureRace* races[] = {&race};
    EXPECT_NE(
        race_why(capture, races, Origins())
            .find("waits for the copy, too late. The host had waited for an event of this stream, but for one that "
                  "was recorded before the copy."),
        std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
