// Memory that was requested write-combined: reads of it by the host are found by samples, at the instruction or the
// system call, and programs that only write it stay silent, right, and fast (tests/programs/combined_reads.cu).
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "interpose/read_sample.h"
#include "races_of_report.h"
#include "watched_races.h"

namespace pincheck::test {
namespace {

// What samples caught, of one run.
struct Sampled {
    report::Report report;
    std::map<std::string, std::uint64_t> reads;  // "checksum" or "save in write" -> samples
    std::string out;
    std::uint64_t allocations = 0;
    std::uint64_t sampled = 0;
    std::uint64_t samples = 0;
    std::uint64_t faults = 0;

    std::uint64_t lost(report::Loss kind) const {
        std::uint64_t count = 0;
        for (const report::LossSlot& loss : report.losses) {
            count += loss.kind == kind ? loss.count : 0;
        }
        return count;
    }
};

// The innermost of these functions in the site's stack.
std::string function_in(const report::Report& report, std::uint32_t site, const std::set<std::string>& names) {
    const auto found = report.sites.find(site);
    if (found == report.sites.end()) {
        return "?";
    }
    for (const NamedFrame& frame : stack_of(report, found->second.record)) {
        const std::string bare = frame.function.substr(frame.function.rfind(':') + 1);
        if (names.contains(bare)) {
            return bare;
        }
    }
    return "elsewhere:\n" + stack_text(report, found->second.record);
}
std::string reader_of(const report::Report& report, std::uint32_t site) {
    return function_in(report, site, {"checksum", "copy_out", "read_one", "save"});
}

Sampled run(const std::string& program, const std::string& half, const std::string& races = "trap",
            const char* setting = nullptr) {
    Command command;
    command.arguments = {program_path(program), half};
    command.preload.push_back(trap_library());
    command.options = "threshold=999999:cupti=off:races=" + races;
    command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
    if (setting != nullptr) {
        command.environment[setting] = "1";
    }
    const FinishedRun finished(command);
    EXPECT_TRUE(finished.outcome().exited(0)) << half << "\n" << describe(finished.outcome());
    EXPECT_EQ(finished.outcome().err, "") << half;
    Sampled result;
    result.report = finished.report();
    result.out = finished.outcome().out;
    for (const report::ReadSlot& read : result.report.reads) {
        EXPECT_EQ(result.report.sites.at(read.site).record.kind, report::SiteKind::host_access);
        std::string text = reader_of(result.report, read.site);
        text += read.call != 0 ? " in " + result.report.strings.at(read.call) : "";
        EXPECT_EQ((read.flags & report::kReadInSystemCall) != 0, read.call != 0);
        EXPECT_LT(read.begin, read.end);
        EXPECT_LE(read.end, read.bytes);
        EXPECT_LE(read.first_ns, read.last_ns);
        EXPECT_EQ(function_in(result.report, read.pin_site, {"combined"}), "combined");
        result.reads[text] += read.samples;
    }
    for (const report::CoverageRecord& record : result.report.coverage) {
        if (record.kind == report::CoverageKind::sampled_reads) {
            unsigned long long figures[4] = {};
            EXPECT_EQ(std::sscanf(result.report.strings.at(record.text).c_str(), "%llu of %llu; %llu samples, %llu",
                                  &figures[0], &figures[1], &figures[2], &figures[3]),
                      4);
            result.sampled = figures[0];
            result.allocations = figures[1];
            result.samples = figures[2];
            result.faults = figures[3];
        }
    }
    EXPECT_EQ(result.lost(report::Loss::unsampled), result.allocations - result.sampled);
    EXPECT_LE(result.faults, result.samples * ReadSample::kMostFaults);
    return result;
}

class CombinedReads : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (is_filtered()) {
            GTEST_SKIP() << "a seccomp filter is in force: nothing is trapped";
        }
    }
    static Sampled run_half(const std::string& half) {
        Sampled result = run(std::string("combined_reads") + GetParam(), half);
        for (const report::RaceSlot& race : result.report.races) {
            EXPECT_TRUE(half == "early_result") << pincheck::name(race.rule);
        }
        return result;
    }
    using Reads = std::map<std::string, std::uint64_t>;
};
INSTANTIATE_TEST_SUITE_P(Of, CombinedReads, kRuntimes, runtime_name);

// The right use: whatever it stores and however often, it pays for a number of faults that does not grow with it.
TEST_P(CombinedReads, AProducerIsSilentAndPaysLittle) {
    for (const auto& [half, uploads] : {std::pair("written_only", 3000u), std::pair("written_only_large", 20u),
                                        std::pair("written_anywhere", 300u), std::pair("written_across", 50u)}) {
        const Sampled result = run_half(half);
        EXPECT_EQ(result.reads, Reads()) << half;
        EXPECT_EQ(result.allocations, 1u);
        EXPECT_EQ(result.sampled, 1u);
        // When it is allocated, after 8 uploads, and after the 16th, 32nd, ...
        std::uint64_t samples = 9;
        for (unsigned upload = 16; upload <= uploads; upload *= 2) {
            ++samples;
        }
        EXPECT_EQ(result.samples, samples) << half;
        EXPECT_LE(result.faults, samples * 2 * ReadSample::kMostStores) << half;
        std::printf("%s: %u uploads, %llu faults of stores\n", half, uploads,
                    static_cast<unsigned long long>(result.faults));
    }
}
TEST_P(CombinedReads, AnotherProducerIsASystemCall) {
    EXPECT_EQ(run_half("written_by_a_call").reads, Reads());
}

TEST_P(CombinedReads, ABufferThatIsFilledAndReadBack) {
    const Sampled result = run_half("read_back");
    EXPECT_EQ(result.reads, Reads({{"checksum", 3}}));
    ASSERT_EQ(result.report.reads.size(), 1u);
    EXPECT_EQ(result.report.reads[0].begin, 0u);
    EXPECT_EQ(result.report.reads[0].bytes, 64u << 10);
}
TEST_P(CombinedReads, TheCLibraryReadsForTheProgram) {
    EXPECT_EQ(run_half("copied_out").reads, Reads({{"copy_out", 3}}));
}
TEST_P(CombinedReads, TheKernelReadsForTheProgram) {
    const Sampled result = run_half("read_by_a_call");
    EXPECT_EQ(result.reads, Reads({{"save in write", 3}}));
    ASSERT_EQ(result.report.reads.size(), 1u);
    EXPECT_EQ(result.report.reads[0].begin, 0u);
    EXPECT_EQ(result.report.reads[0].end, 64u << 10);
}
TEST_P(CombinedReads, OneByteAfterTheUpload) {
    const Sampled result = run_half("read_after_upload");
    EXPECT_EQ(result.reads, Reads({{"read_one", 2}}));
    ASSERT_EQ(result.report.reads.size(), 1u);
    EXPECT_EQ(result.report.reads[0].begin, 5u * 4096 + 17);
    EXPECT_EQ(result.report.reads[0].end, 5u * 4096 + 18);
}
TEST_P(CombinedReads, MemoryWithoutAPageOfItsOwnIsCounted) {
    const Sampled result = run_half("small");
    EXPECT_EQ(result.reads, Reads());
    EXPECT_EQ(result.allocations, 1u);
    EXPECT_EQ(result.sampled, 0u);
    EXPECT_EQ(result.faults, 0u);
}

// No rights are taken from memory that a call has in its hands: the kernel would fail it.
TEST_P(CombinedReads, ACallThatWaitsInTheKernelIsNotCutShort) {
    const Sampled loading = run_half("read_in_progress");
    EXPECT_EQ(loading.reads, Reads());
    EXPECT_EQ(loading.samples, 1u) << "that which began before the call";
    const Sampled saving = run_half("write_in_progress");
    EXPECT_EQ(saving.reads, Reads({{"save in write", 1}}));
    EXPECT_EQ(saving.samples, 1u);
}
TEST_P(CombinedReads, ManyThreads) {
    const Sampled result = run_half("many_threads");
    EXPECT_TRUE(result.reads.empty() || (result.reads.size() == 1 && result.reads.contains("read_one")));
}
TEST_P(CombinedReads, MemoryThatIsGivenBackHasItsRights) {
    const Sampled result = run_half("release_while_armed");
    EXPECT_EQ(result.reads, Reads());
    EXPECT_EQ(result.sampled, 100u);
}
TEST_P(CombinedReads, AForksChildGoesOnAsEver) {
    EXPECT_EQ(run_half("fork_while_armed").reads, Reads()) << "the child's are not told";
}

// The copy's own rule is found too: the two do not hide each other.
TEST_P(CombinedReads, AResultThatIsReadTooEarly) {
    const Sampled early = run_half("early_result");
    EXPECT_EQ(early.reads, Reads({{"read_one", 3}}));
    ASSERT_EQ(early.report.races.size(), 1u);
    const report::RaceSlot& race = early.report.races[0];
    EXPECT_EQ(race.rule, report::RaceRule::destination_read_in_flight);
    EXPECT_EQ(race.level, report::RaceLevel::trap);
    EXPECT_EQ(race.count, 3u);
    EXPECT_EQ(race.begin, 4097u);
    EXPECT_EQ(reader_of(early.report, race.other_site), "read_one");
    EXPECT_EQ(run_half("late_result").reads, Reads({{"read_one", 3}}));
}

TEST_P(CombinedReads, WhatTheDriverReadsIsItsOwn) {
    const Sampled result = run_half("read_by_the_driver");
    EXPECT_EQ(result.reads, Reads());
    EXPECT_EQ(result.faults, 6u) << "the program's store, and the driver's reads after each of 5 uploads";
}

TEST_P(CombinedReads, WhereARingIsSetUpNoSampleIsTaken) {
    const Sampled result = run_half("io_uring");
    if (result.out.find("no ring") != std::string::npos) {
        GTEST_SKIP() << "io_uring is not permitted here";
    }
    EXPECT_EQ(result.reads, Reads());
    EXPECT_EQ(result.allocations, 1u);
    EXPECT_EQ(result.samples, 0u);
}

TEST(CombinedReadsOff, WithoutTheTrapNothingIsSampled) {
    const Sampled result = run("combined_reads", "read_back", "watch");
    EXPECT_TRUE(result.reads.empty());
    EXPECT_EQ(result.allocations, 0u);
}
// What is taken from the host is taken from such a device.
TEST(CombinedReadsOff, WhereTheDeviceGoesThroughTheHostsPageTables) {
    const Sampled result = run("combined_reads", "read_back", "trap", "SIMCUDA_HOST_PAGE_TABLES");
    EXPECT_TRUE(result.reads.empty());
    EXPECT_EQ(result.samples, 0u);
}

}  // namespace
}  // namespace pincheck::test
