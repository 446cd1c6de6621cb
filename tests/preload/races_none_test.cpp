// Programs that were written for other tests: what their reports hold of races, and why each is one. All others have
// none.
#include <map>

#include "races_of_report.h"

namespace pincheck::test {
namespace {

using namespace report;

using Counts = std::map<std::string, std::uint64_t>;  // of findings, by rule

struct Known {
    std::vector<std::string> arguments;
    Counts races;
};

std::string name_of(const Known& program) {
    std::string name;
    for (const std::string& word : program.arguments) {
        name += (name.empty() ? "" : "_") + word;
    }
    return name;
}

// download_async() of copies.h: three results in one place, and nobody waits in between. Of pageable memory the driver
// waits.
const Counts kCopies = {{"result-never-awaited", 12}, {"relies-on-staging", 2}};
// Batches from pageable memory, whose order lets the source be read after the call.
const Counts kBatches = {{"relies-on-staging", 68}};

const Known kPrograms[] = {
    {{"copies_runtime_shared"}, kCopies},
    {{"copies_runtime_shared_per_thread"}, kCopies},
    {{"copies_runtime_static"}, kCopies},
    {{"copies_driver_linked"}, kCopies},
    {{"copies_driver_linked_per_thread"}, kCopies},
    {{"copies_driver_lookup_v2"}, kCopies},
    {{"copies_wrapped"}, {}},
    {{"graph_copies"}, {}},
    {{"every_copy_driver"}, kBatches},
    {{"every_copy_runtime"}, {}},
    {{"stream_waits"}, {}},
    {{"stream_waits_static"}, {}},
    // Four downloads into one place, page-locked and pageable, in the default stream.
    {{"ipc_copies"}, {{"result-never-awaited", 3}, {"relies-on-staging", 4}}},
    {{"many_threads"}, {}},
    {{"ignored_register"}, {}},
    {{"endings", "return"}, {}},
    {{"scenarios", "A1"}, {}},
    {{"scenarios", "A3"}, {}},
    // Results in a thread's stack variable, which only the driver's wait makes safe to read: 8 threads, 4 each.
    {{"scenarios", "A4"}, {{"relies-on-staging", 32}}},
    {{"scenarios", "A5"}, {}},
    {{"scenarios", "A6"}, {}},
    {{"scenarios", "S2"}, {{"staged-too-early", 1}}},
    {{"scenarios", "D1"}, {{"relies-on-staging", 1}}},
    {{"scenarios", "T1_library"}, {}},
    {{"scenarios", "T1_user"}, {}},
    // Five results each, in a local array of the function that starts the copy and reads it.
    {{"scenarios", "M3_vendor"}, {{"relies-on-staging", 4}}},
    {{"scenarios", "M3_both"}, {{"relies-on-staging", 9}}},
    {{"held_calls", "staging"}, {}},
    {{"held_calls", "staging_pinned"}, {}},
    // Downloads to pageable memory that nobody waits for before the program ends.
    {{"held_calls", "earlier_work_download"}, {{"relies-on-staging", 1}}},
    {{"held_calls", "earlier_work_upload"}, {}},
    {{"held_calls", "small_upload_behind_work"}, {}},
    {{"held_calls", "A4"}, {{"relies-on-staging", 8}}},
    {{"held_calls", "S2"}, {{"staged-too-early", 1}}},
    {{"held_calls", "E1"}, {}},
    {{"held_calls", "releases_idle"}, {}},
    {{"held_calls", "E3_legacy"}, {{"relies-on-staging", 1}}},
    {{"held_calls", "legacy_non_blocking"}, {{"relies-on-staging", 1}}},
    {{"held_calls", "legacy_wait"}, {}},
    {{"held_calls", "managed"}, {}},
    {{"held_calls", "synchronous_copy"}, {}},
    {{"held_calls", "E4"}, {}},
    {{"held_calls", "E3_idle"}, {}},
    {{"held_calls", "requested_wait"}, {}},
    {{"held_calls", "needed_waits"}, {}},
    {{"held_calls", "lock_pages"}, {}},
    {{"held_calls", "beside_release"}, {}},
    {{"held_calls", "beside_wait"}, {}},
    // Four uploads into one device range, each in a stream of its own; after two of them one stream is waited for.
    {{"held_calls", "delays"}, {{"unordered-copies", 5}}},
    {{"held_calls", "sizes"}, {}},
};

void PrintTo(const Known& program, std::ostream* out) {
    *out << name_of(program);
}

class RacesOfOtherPrograms : public testing::TestWithParam<Known> {};
INSTANTIATE_TEST_SUITE_P(Of, RacesOfOtherPrograms, testing::ValuesIn(kPrograms),
                         [](const testing::TestParamInfo<Known>& of_test) { return name_of(of_test.param); });

TEST_P(RacesOfOtherPrograms, AreThoseThatTheyHave) {
    const Command command = command_for_races(GetParam().arguments);
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    Counts counts;
    std::string text;
    for (const auto& [file, report] : run.reports()) {
        for (const RaceSlot& race : report.races) {
            counts[pincheck::name(race.rule)] += race.count;
            text += race_text(report, race) + "\n";
        }
        EXPECT_EQ(lost(report, Loss::in_flight) + lost(report, Loss::races), 0u);
    }
    // Nothing holds the host function of scenarios S2: where it has run before the tool has looked, it came in time.
    if (name_of(GetParam()) == "scenarios_S2" && counts.empty()) {
        return;
    }
    EXPECT_EQ(counts, GetParam().races) << text;
}

TEST(RacesOfLibraries, M3_TheUsersOwnDownloadsAndAVendorsAreTwoFindings) {
    SeenRaces seen;
    run_for_races({"scenarios", "M3_both"}, seen);
    std::map<std::string, std::uint64_t> by_copy;
    for (const RaceSlot& race : seen.report.races) {
        EXPECT_EQ(race.rule, RaceRule::relies_on_staging);
        by_copy[function_of_site(seen.report, race.copy_site)] += race.count;
    }
    EXPECT_EQ(by_copy, (std::map<std::string, std::uint64_t>{{"my_download", 4}, {"vendor_download", 5}}));
}

}  // namespace
}  // namespace pincheck::test
