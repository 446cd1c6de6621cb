// Copies in graphs: counted for each launch that makes them, at the place that put them into the graph.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "analyzer/names.h"
#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

using Table = std::map<std::string, std::string>;

Table table_of_program(const std::string& text, std::set<std::string>& functions) {
    Table table;
    std::istringstream lines(text);
    std::string function, kind, direction, host, calls, bytes;
    while (lines >> function >> kind >> direction >> host >> calls >> bytes) {
        functions.insert(function);
        table[function + " " + kind + " " + direction + " " + host] = calls + " calls, " + bytes + " bytes";
    }
    return table;
}

class Graphs : public testing::Test {
  protected:
    Graphs() : run_(command()) {}
    static Command command() {
        Command command;
        command.arguments = {program_path("graph_copies")};
        return command;
    }
    FinishedRun run_;
};

TEST_F(Graphs, P6_EveryLaunchAccountsForItsCopiesWhereTheyCameFrom) {
    ASSERT_TRUE(run_.outcome().exited(0)) << describe(run_.outcome());
    std::set<std::string> functions;
    const Table expected = table_of_program(run_.outcome().out, functions);
    const Report report = run_.report();
    std::map<std::string, Totals> sums;
    for (const auto& [id, site] : report.sites) {
        if ((site.record.flags & kSiteInGraph) == 0) {
            continue;
        }
        std::string function = "?";
        for (const NamedFrame& frame : stack_of(report, site.record)) {
            const std::string bare = frame.function.substr(frame.function.rfind(':') + 1);
            if (functions.contains(bare)) {
                function = bare;
                break;
            }
        }
        const bool copy = site.record.kind == SiteKind::copy;
        const Totals totals = totals_of_site(report, id);
        Totals& sum =
            sums[function + " " + pincheck::name(site.record.kind) + " " + pincheck::name(site.record.direction) + " " +
                 (copy ? pincheck::name(host_side(site.record).kind) : "none")];
        sum.calls += totals.calls;
        sum.bytes += totals.bytes;
    }
    Table actual;
    for (const auto& [row, totals] : sums) {
        actual[row] = std::to_string(totals.calls) + " calls, " + std::to_string(totals.bytes) + " bytes";
    }
    EXPECT_EQ(actual, expected);
    EXPECT_EQ(losses_text(report), "");
    EXPECT_EQ(report.problems, std::vector<std::string>{});
}

// The same copies as the device counted: those of launches, and none of the calls that only described them.
TEST_F(Graphs, AreAsManyAsTheDeviceSaw) {
    Command counted = command();
    const TemporaryFolder folder;
    counted.environment["SIMCUDA_COUNTS_FILE"] = folder.path() / "counts.json";
    const FinishedRun run(counted);
    const Report report = run.report();
    const auto executed = [&](Direction direction) {
        return totals(report, [=](const SiteRecord& site) {
            return site.kind == SiteKind::copy && site.direction == direction && (site.flags & kSiteCaptured) == 0;
        });
    };
    std::ifstream file(folder.path() / "counts.json");
    const nlohmann::json device = nlohmann::json::parse(file, nullptr, false);
    ASSERT_FALSE(device.is_discarded());
    EXPECT_EQ(executed(Direction::host_to_device).calls, device.at("h2d").get<std::uint64_t>());
    EXPECT_EQ(executed(Direction::device_to_host).calls, device.at("d2h").get<std::uint64_t>());
    EXPECT_EQ(executed(Direction::host_to_device).bytes, device.at("bytes_h2d").get<std::uint64_t>());
}

TEST_F(Graphs, LaunchesAreSitesOfTheirOwn) {
    const Report report = run_.report();
    const Totals launches = totals(report, [](const SiteRecord& site) { return site.kind == SiteKind::graph_launch; });
    // captured: 5; nodes: 16 + 2; update: 10; child: 3.
    EXPECT_EQ(launches.calls, 5u + 18 + 10 + 3);
}

TEST_F(Graphs, ProgramIsTheSameWithoutTheTool) {
    const FinishedRun without(command().without_tool());
    EXPECT_EQ(run_.outcome().out, without.outcome().out);
    EXPECT_EQ(run_.outcome().err, without.outcome().err);
    EXPECT_EQ(run_.outcome().status_text(), without.outcome().status_text());
}

}  // namespace
}  // namespace pincheck::test
