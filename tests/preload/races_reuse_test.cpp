// Order that is only thought to be there, handles and memory that are used again (tests/programs/races_reuse.cu).
#include "races_of_report.h"

namespace pincheck::test {
namespace {

const char* const kUnordered =
    "unordered-copies 1x download -> clear, stream side_stream -> other_stream, 0-65536 of 65536, on the device";

class RacesReuse : public RacesOfProgram {
  protected:
    void expect(const std::string& half, Lines races) { RacesOfProgram::expect("races_reuse", half, std::move(races)); }
    void expect_silence(const std::string& half) { expect(half, {}); }
};
INSTANTIATE_TEST_SUITE_P(Of, RacesReuse, kRuntimes, runtime_name);

TEST_P(RacesReuse, AnEventOrdersWhatWasPutInBeforeItsRecord) {
    expect_silence("event_after");
    expect("event_before", {kUnordered});
}
TEST_P(RacesReuse, L6_AnEventThatWasNeverRecordedOrdersNothing) {
    expect("event_never_recorded", {kUnordered});
}
TEST_P(RacesReuse, AnEventThatWasMadeAgainStandsForNothing) {
    expect("event_made_again", {kUnordered});
}
TEST_P(RacesReuse, AWaitForAnEventCoversWhatWasPutInBeforeItsRecord) {
    expect_silence("awaited_event_after");
    expect("awaited_event_before",
           {"result-never-awaited 1x download -> next_download, pin pinned, stream side_stream -> "
            "side_stream, 0-65536 of 65536"});
    EXPECT_EQ(report().races.front().flags, report::kRaceEarlyEvent);
}
TEST_P(RacesReuse, AStreamThatWasMadeAgainIsAnother) {
    expect("stream_made_again", {"unordered-copies 1x download -> clear, stream side_stream -> side_stream, 0-65536 of "
                                 "65536, on the device"});
    EXPECT_NE(report().races.front().stream, report().races.front().other_stream);
    expect_silence("stream_made_again_after_wait");
}

TEST_P(RacesReuse, D4_AGraphLaunchedAgainIsBehindItsLaunchBefore) {
    expect_silence("graph_again");
}
TEST_P(RacesReuse, S1_GraphsInTwoStreamsThatWriteOneRange) {
    expect("graphs_in_two_streams",
           {"unordered-copies 1x clear -> upload, stream side_stream -> other_stream, 0-65536 of "
            "65536, on the device"});
}

TEST_P(RacesReuse, S1_MemoryOfAPoolThatComesToAnotherStream) {
    expect_silence("pool_reuse");
    EXPECT_NE(out().find("the same address"), std::string::npos);
}
TEST_P(RacesReuse, S1_MemoryThatWasFreedAndComesToAnotherStream) {
    expect_silence("freed_and_made_again");
    EXPECT_NE(out().find("the same address"), std::string::npos);
}
TEST_P(RacesReuse, TheDeviceWasReset) {
    expect_silence("after_reset");
}
TEST_P(RacesReuse, ThePrimaryContextEndedWithItsLastUser) {
    expect_silence("after_release");
    EXPECT_NE(out().find("the same address"), std::string::npos);
}
TEST_P(RacesReuse, AForksChildTellsNothingOfItsParentsCopies) {
    expect_silence("forked");
}
TEST_P(RacesReuse, CopiesThatFailUseNothing) {
    expect_silence("failed");
}

}  // namespace
}  // namespace pincheck::test
