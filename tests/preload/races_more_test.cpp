// Races of batches, of the host beside the device, of rows and of threads (tests/programs/races_more.cu), and the same
// where there is none.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "races_of_report.h"

namespace pincheck::test {
namespace {

using namespace report;

class RacesMore : public RacesOfProgram {
  protected:
    void expect(const std::string& half, Lines races, const std::string& losses = "") {
        RacesOfProgram::expect("races_more", half, std::move(races), losses);
    }
    void expect_silence(const std::string& half, const std::string& losses = "") { expect(half, {}, losses); }
    static bool has_batches() {
        SeenRaces seen;
        run_for_races({"races_more", "D1"}, seen);
        return seen.out.find("no batches") == std::string::npos;
    }
};
INSTANTIATE_TEST_SUITE_P(Of, RacesMore, kRuntimes, runtime_name);

TEST_P(RacesMore, D1_SourceOfABatchThatMayBeReadAfterTheCall) {
    if (!has_batches()) {
        GTEST_SKIP() << "this toolkit has no batch copies";
    }
    expect("D1", {"relies-on-staging 2x copy_batch -> nobody, stream other_stream -> none, 0-32768 of 32768"});
    expect_silence("D1_during_call");
}

TEST_P(RacesMore, S3_SourceOfABatchThatMayBeReadBeforeEarlierWork) {
    if (!has_batches()) {
        GTEST_SKIP() << "this toolkit has no batch copies";
    }
    // What a kernel writes is not known.
    expect("S3", {"unordered-copies 2x copy_batch -> nobody, stream other_stream -> none, 0-32768 of 32768, presumed, "
                  "on the device"});
    expect("S3_filled",
           {"unordered-copies 2x clear -> copy_batch, stream other_stream -> other_stream, 0-32768 of 65536, "
            "on the device"});
    expect("S3_copied", {"unordered-copies 2x upload -> copy_batch, stream other_stream -> other_stream, 0-32768 of "
                         "65536, on the device"});
}
TEST_P(RacesMore, S3_SourceOfABatchInOrderOrBehindAWait) {
    expect_silence("S3_in_order");
    expect_silence("S3_waited");
}

// ---- D5

// Calls by entry point, as the simulated driver counted them.
std::map<std::string, std::int64_t> driver_calls(const std::string& program, const std::string& half, bool with_tool) {
    const TemporaryFolder folder;
    Command command;
    command.arguments = {program_path(program), half};
    command.options = "threshold=999999:cupti=off";
    command.environment["SIMCUDA_COUNTS_FILE"] = (folder.path() / "counts").string();
    const FinishedRun run(with_tool ? command : command.without_tool());
    EXPECT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    std::ifstream file(folder.path() / "counts");
    const nlohmann::json counted = nlohmann::json::parse(file, nullptr, false);
    std::map<std::string, std::int64_t> calls;
    if (counted.is_discarded()) {
        ADD_FAILURE() << "no counts";
        return calls;
    }
    for (const auto& [name, count] : counted.at("calls").items()) {
        calls[name] = count.get<std::int64_t>();
    }
    return calls;
}
std::map<std::string, std::int64_t> more_calls(std::map<std::string, std::int64_t> calls,
                                               const std::map<std::string, std::int64_t>& others) {
    for (const auto& [name, count] : others) {
        calls[name] -= count;
    }
    std::erase_if(calls, [](const auto& one) { return one.second == 0; });
    return calls;
}

TEST_P(RacesMore, D5_MemoryThatACallbackFailsToGiveBackIsStillThere) {
    expect_silence("D5");
    unsigned sites = 0;
    for (const auto& [id, site] : report().sites) {
        if (site.record.kind != SiteKind::release) {
            continue;
        }
        ++sites;
        EXPECT_NE(site.record.flags & kSiteOnDriverThread, 0);
        EXPECT_EQ(function_of_site(report(), id), "release_in_callback");
        EXPECT_EQ(totals_of_site(report(), id).calls, 4u);
        EXPECT_EQ(totals_of_site(report(), id).failed, 4u);
        for (const CounterSlot& counter : report().counters) {
            EXPECT_TRUE(counter.site != id || counter.last_error == 800u) << counter.last_error;
        }
    }
    // A static runtime refuses before the driver is asked: no call is seen.
    EXPECT_EQ(sites, std::string(GetParam()).empty() ? 1u : 0u);
    unsigned live = 0;
    for (const RangeSlot& range : report().ranges) {
        live += function_of_site(report(), range.site) == "pinned" ? 1 : 0;
    }
    EXPECT_EQ(live, 4u);
}
TEST_P(RacesMore, D5_TheToolMakesNoCallOfItsOwnInACallback) {
    const std::string program = std::string("races_more") + GetParam();
    const auto calls = driver_calls(program, "D5", true);
    EXPECT_GT(calls.size(), 5u);
    const auto with_tool = more_calls(calls, driver_calls(program, "D5_left", true));
    const auto without = more_calls(driver_calls(program, "D5", false), driver_calls(program, "D5_left", false));
    EXPECT_EQ(with_tool, without);
}

// ---- The host and the device side by side

TEST_P(RacesMore, L3_AStreamThatWaitsForAValueWhileTheHostFillsTheSource) {
    expect_silence("L3");
}
TEST_P(RacesMore, G4_AFlagThatAKernelSetsAndTheHostPolls) {
    expect_silence("G4");
}
// That the host waits for it is not seen: said, as presumed.
TEST_P(RacesMore, G4_AResultThatIsThereWhenTheFlagIs) {
    expect("G4_result",
           {"result-never-awaited 2x download -> download, pin pinned, stream other_stream -> other_stream, "
            "0-65536 of 65536, presumed"});
}
TEST_P(RacesMore, K10_ProgramsWithMemoryBesideTheirsSystemCallsAndHandlersGoOn) {
    expect_silence("K10");
}

// ---- Rows, threads, default streams

TEST_P(RacesMore, ColumnsBesideEachOtherAreNoRace) {
    expect_silence("pitched_neighbours");
}
TEST_P(RacesMore, TheSameRowsTwiceAre) {
    expect("pitched_same_rows",
           {"unordered-copies 1x download_rows -> download_rows, pin pinned, stream side_stream -> "
            "other_stream, 0-32256 of 32256"});
}
TEST_P(RacesMore, ThreadsWithAStreamAndBuffersEachAreNoRace) {
    expect_silence("two_threads");
    expect_silence("synchronous_beside_others");
}
TEST_P(RacesMore, DefaultStreams) {
    expect_silence("per_thread_and_legacy");
    expect("per_thread_of_two", {"unordered-copies 1x download -> clear, stream per-thread -> per-thread, 0-65536 of "
                                 "65536, on the device"});
    EXPECT_NE(report().races.front().thread, report().races.front().other_thread);
}

}  // namespace
}  // namespace pincheck::test
