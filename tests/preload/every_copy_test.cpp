// P6: every listed function that moves or sets memory, called once for each kind of host memory and direction that it
// takes: each call is in the report, once, under its name and with its bytes, or counted as not classified.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "analyzer/names.h"
#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Counts&) const = default;
};
using Table = std::map<std::string, Counts>;

std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << counts.calls << " calls, " << counts.bytes << " bytes";
}

Table table_of_program(const std::string& text) {
    Table table;
    std::istringstream lines(text);
    std::string api, kind, direction, source, destination;
    for (Counts counts; lines >> api >> kind >> direction >> source >> destination >> counts.calls >> counts.bytes;) {
        table[api + " " + kind + " " + direction + " " + source + " to " + destination] = counts;
    }
    return table;
}

bool moves(const SiteRecord& site) {
    return site.kind == SiteKind::copy || site.kind == SiteKind::fill || site.kind == SiteKind::prefetch;
}

Table table_of_report(const Report& report) {
    Table table;
    for (const auto& [id, site] : report.sites) {
        if (!moves(site.record)) {
            continue;
        }
        const Totals totals = totals_of_site(report, id);
        Counts& counts = table[api_of(report, site.record) + " " + pincheck::name(site.record.kind) + " " +
                               pincheck::name(site.record.direction) + " " + pincheck::name(site.record.source.kind) +
                               " to " + pincheck::name(site.record.destination.kind)];
        counts.calls += totals.calls - totals.failed;
        counts.bytes += totals.bytes;
    }
    return table;
}

std::string differences(const Table& expected, const Table& actual) {
    std::ostringstream text;
    for (const auto& [row, counts] : expected) {
        const auto found = actual.find(row);
        if (found == actual.end()) {
            text << "missing  " << row << ": " << counts << "\n";
        } else if (!(found->second == counts)) {
            text << "expected " << row << ": " << counts << ", got " << found->second << "\n";
        }
    }
    for (const auto& [row, counts] : actual) {
        if (!expected.contains(row)) {
            text << "extra    " << row << ": " << counts << "\n";
        }
    }
    return text.str();
}

class EveryCopy : public testing::TestWithParam<const char*> {
  protected:
    Command command() const {
        Command command;
        command.arguments = {program_path(GetParam())};
        command.environment["SIMCUDA_LOW_ADDRESSES"] = "1";
        return command;
    }
};

TEST_P(EveryCopy, P6_IsCountedOnceUnderItsNameWithItsMemoryAndBytes) {
    const FinishedRun run(command());
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(run.outcome().err, "");
    const Table expected = table_of_program(run.outcome().out);
    EXPECT_GT(expected.size(), 50u);
    const Report report = run.report();
    EXPECT_EQ(differences(expected, table_of_report(report)), "");
    EXPECT_EQ(losses_text(report), "");
    EXPECT_EQ(report.problems, std::vector<std::string>{});
}

// A function whose name says so is asynchronous, and only such a one: a runtime may build a blocking copy from the
// driver's asynchronous one.
TEST_P(EveryCopy, P6_IsAsynchronousExactlyWhenItsNameSaysSo) {
    const FinishedRun run(command());
    const Report report = run.report();
    for (const auto& [id, site] : report.sites) {
        if (moves(site.record) && (site.record.flags & kSiteCaptured) == 0) {
            const std::string api = api_of(report, site.record);
            EXPECT_EQ((site.record.flags & kSiteAsync) != 0, api.find("Async") != api.npos) << api;
        }
    }
}

TEST_P(EveryCopy, P6_IsNotDroppedWhereNobodyCanSayWhatItsMemoryIs) {
    Command blind = command();
    blind.environment["SIMCUDA_FAIL"] = "cuPointerGetAttributes:1";
    const FinishedRun run(blind);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    const auto sums = [](const Table& table) {
        std::map<std::string, Counts> by_api;
        for (const auto& [row, counts] : table) {
            Counts& sum = by_api[row.substr(0, row.find(' '))];
            sum.calls += counts.calls;
            sum.bytes += counts.bytes;
        }
        return by_api;
    };
    EXPECT_EQ(differences(sums(table_of_program(run.outcome().out)), sums(table_of_report(report))), "");
    std::uint64_t unknown = 0;
    for (const auto& [id, site] : report.sites) {
        if (site.record.source.kind == MemoryClass::unknown || site.record.destination.kind == MemoryClass::unknown) {
            unknown += totals_of_site(report, id).calls;
        }
    }
    EXPECT_GT(unknown, 100u);
    EXPECT_EQ(lost(report, Loss::not_classified), unknown);
}

INSTANTIATE_TEST_SUITE_P(Side, EveryCopy, testing::Values("every_copy_driver", "every_copy_runtime"),
                         [](const testing::TestParamInfo<const char*>& of_test) { return std::string(of_test.param); });

}  // namespace
}  // namespace pincheck::test
