// What is known to be complete (interpose/streams.h), seen from outside: a wait for what is known complete is idle,
// however short it was; another one is not, though the device may be done (tests/programs/stream_waits.cu).
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "waits_of_report.h"

namespace pincheck::test {
namespace {

using namespace report;

// Where no call counts as held, and without device times.
void run(const std::vector<std::string>& arguments, Waits& waits) {
    Command command;
    command.arguments = arguments;
    command.arguments[0] = program_path(arguments[0]);
    command.options = "threshold=999999:cupti=off";
    const TemporaryFolder folder;
    const Outcome outcome = Running(command, folder.path()).wait();
    ASSERT_TRUE(outcome.exited(0)) << describe(outcome);
    waits.out = outcome.out;
    const auto files = report_files_in(folder.path());
    ASSERT_EQ(files.size(), 1u);
    waits.report = read_report(files.front().string()).report;
}

class StreamWaits : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        run({GetParam()}, waits_);
        ASSERT_EQ(losses_text(waits_.report), "");
    }
    const Waits& waits() const { return waits_; }

  private:
    Waits waits_;
};
INSTANTIATE_TEST_SUITE_P(Of, StreamWaits, testing::Values("stream_waits", "stream_waits_static"),
                         [](const auto& program) { return std::string(program.param); });

TEST_P(StreamWaits, E2_E3_ForWhatIsKnownCompleteAreIdleAndOthersAreNot) {
    std::istringstream names(waits().out);
    std::map<std::string, std::size_t> count;
    for (std::string name; names >> name;) {
        const auto found = waits().of(name);
        if (name.starts_with("needed_")) {
            ++count["needed"];
            EXPECT_EQ(found.size(), 0u) << name << "\n" << waits().text();
            continue;
        }
        ++count["idle"];
        ASSERT_EQ(found.size(), 1u) << name << "\n" << waits().text();
        EXPECT_EQ(found[0].cause, WaitCause::idle_sync) << name;
        EXPECT_EQ(found[0].evidence, WaitEvidence::order) << name;
        EXPECT_EQ(found[0].calls, 1u) << name;
    }
    EXPECT_EQ(count["idle"], 11u) << waits().out;
    EXPECT_EQ(count["needed"], 9u) << waits().out;
    EXPECT_EQ(waits().calls(WaitCause::idle_sync), 11u) << waits().text();
}

// One record a stream that work went into: also of default streams, and of a handle that was used again.
TEST_P(StreamWaits, StreamsHaveRecords) {
    std::map<std::string, unsigned> streams;
    for (const auto& [id, stream] : waits().report.streams) {
        EXPECT_EQ(stream.device, 0u);
        EXPECT_EQ(stream.context, 1u);
        const bool non_blocking = (stream.flags & kStreamNonBlocking) != 0;
        switch (stream.kind) {
            case StreamKind::legacy_default:
                EXPECT_FALSE(non_blocking);
                EXPECT_EQ(stream.handle, 1u);
                ++streams["legacy"];
                break;
            case StreamKind::per_thread_default:
                EXPECT_FALSE(non_blocking);
                EXPECT_EQ(stream.handle, 2u);
                ++streams["per thread"];
                break;
            default:
                EXPECT_EQ(waits().is_in(stream.site, "new_stream"), non_blocking);
                EXPECT_EQ(waits().is_in(stream.site, "new_blocking_stream"), !non_blocking);
                ++streams[non_blocking ? "non-blocking" : "blocking"];
        }
    }
    const std::map<std::string, unsigned> expected{
        {"legacy", 1}, {"per thread", 1}, {"blocking", 1}, {"non-blocking", 10}};
    EXPECT_EQ(streams, expected);
}

// What there is no room for is counted as lost; what is known stays right.
TEST(ManyEvents, BeyondThoseFollowedAreLostAndSaid) {
    Waits waits;
    run({"stream_waits", "many_events"}, waits);
    std::uint64_t lost = 0;
    for (const LossSlot& loss : waits.report.losses) {
        EXPECT_EQ(loss.kind, Loss::streams);
        lost += loss.count;
    }
    EXPECT_GE(lost, 70000u - 65536u);
    EXPECT_LE(lost, 70000u);
    EXPECT_EQ(waits.of("idle_after_an_event_that_was_followed").size(), 1u) << waits.text();
}

}  // namespace
}  // namespace pincheck::test
