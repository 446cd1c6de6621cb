// Calls and threads that end in odd ways, libraries that come and go, an error that nobody looks at (K4, I6, F5).
#include <gtest/gtest.h>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

Command over_stub(std::vector<std::string> arguments) {
    Command command;
    command.arguments = std::move(arguments);
    command.arguments.front() = program_path(command.arguments.front());
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_BENCH;
    return command;
}

void expect_same(const FinishedRun& with, const Command& command) {
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
}

std::uint64_t returned_uploads(const Report& report) {
    return copies(report, Direction::host_to_device, MemoryClass::pageable).calls;
}

TEST(Departures, K4_CallsLeftByLongjmpAndException) {
    const FinishedRun with(over_stub({"departures", "longjmp"}));
    expect_same(with, over_stub({"departures", "longjmp"}));
    EXPECT_EQ(with.outcome().out, "left 20, failed 0\n");
    const Report report = with.report();
    EXPECT_EQ(returned_uploads(report), 20u);
    EXPECT_EQ(losses_text(report), "");
    EXPECT_EQ(report.header.state, FileState::ended);
}
TEST(Departures, K4_ThreadsCancelledAndEndedInsideACall) {
    const FinishedRun with(over_stub({"departures", "cancel"}));
    expect_same(with, over_stub({"departures", "cancel"}));
    EXPECT_EQ(with.outcome().out, "left 8, failed 0\n");
    const Report report = with.report();
    EXPECT_EQ(returned_uploads(report), 20u);
    EXPECT_EQ(losses_text(report), "");
}
TEST(Departures, K4_CallsInDestructorsOfThreadLocals) {
    const FinishedRun with(over_stub({"departures", "tls"}));
    expect_same(with, over_stub({"departures", "tls"}));
    const Report report = with.report();
    EXPECT_EQ(returned_uploads(report), 60u);
    EXPECT_EQ(losses_text(report), "");
}

// A copy is no cancellation point, not even the first one.
TEST(Departures, K4_ThreadThatIsToBeCancelledMakesTheFirstCall) {
    const FinishedRun with(over_stub({"departures", "cancel-first"}));
    expect_same(with, over_stub({"departures", "cancel-first"}));
    EXPECT_EQ(with.outcome().out, "cancelled 1 after 20 copies\n");
    const Report report = with.report();
    EXPECT_EQ(returned_uploads(report), 20u);
    EXPECT_EQ(report.header.state, FileState::ended);
}

// Whatever the tool does at the first call, it does on the caller's stack.
TEST(Departures, K4_FirstCallOnTheSmallestStack) {
    const FinishedRun with(over_stub({"departures", "small-stack"}));
    expect_same(with, over_stub({"departures", "small-stack"}));
    EXPECT_EQ(returned_uploads(with.report()), 20u);
}

TEST(Reopened, I6_PluginAndItsRuntimeComeAndGo) {
    const Command command = over_stub({"reopens", program_path("libreopens_plugin.so")});
    const FinishedRun with(command);
    expect_same(with, command);
    EXPECT_EQ(with.outcome().out, "failed 0, runtime gone\n");
    const Report report = with.report();
    EXPECT_EQ(returned_uploads(report), 60u);
    for (const auto& [id, site] : report.sites) {
        EXPECT_EQ(api_of(report, site.record), "cudaMemcpyAsync");
    }
    EXPECT_EQ(losses_text(report), "");
}

// What was found out about a library's code does not hold for the one that takes its place.
TEST(Reopened, I6_AnotherPluginTakesThePlaceOfOne) {
    const std::string large = program_path("libtakes_place_1000000.so");
    const std::string small = program_path("libtakes_place_1000.so");
    const Command command = over_stub({"takes_place", large, small, large, small});
    const FinishedRun with(command);
    expect_same(with, command);
    EXPECT_EQ(with.outcome().out, "failed 0, elsewhere 0\n");
    const Report report = with.report();
    EXPECT_EQ(returned_uploads(report), 12u);
    EXPECT_EQ(losses_text(report), "");
}

TEST(IgnoredRegistration, F5_CopiesArePageableAndTheErrorIsTheProgramsOwn) {
    Command command;
    command.arguments = {program_path("ignored_register")};
    const FinishedRun with(command);
    expect_same(with, command);
    EXPECT_EQ(with.outcome().out, "register 1, copies failed 0, wait 0\nlast error 1 1, then 0\n");
    const Report report = with.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable), (Totals{5, 0, 5 * 4096, 1}));
    const Totals registrations =
        totals(report, [&](const SiteRecord& site) { return api_of(report, site).rfind("cudaHostRegister", 0) == 0; });
    EXPECT_EQ(registrations.calls, 1u);
    EXPECT_EQ(registrations.failed, 1u);
    for (const CounterSlot& counter : report.counters) {
        if (counter.failed > 0) {
            EXPECT_EQ(counter.last_error, 1u);
        }
    }
}

}  // namespace
}  // namespace pincheck::test
