// Very many calls, sites and stacks: memory and file are bounded and what was dropped is said (K8). Stacks that cannot
// be unwound or named: the return address is kept, with its module (K9).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include "facts.h"
#include "run_program.h"
#include "shell.h"

namespace pincheck::test {
namespace {

using namespace report;
namespace fs = std::filesystem;

struct Many {
    long copies;
    int levels;  // 4 to the power of it stacks
    int threads;
};

Command many(const Many& of, bool memory = false) {
    Command command;
    command.arguments = {program_path("many_sites"), std::to_string(of.copies), std::to_string(of.levels),
                         std::to_string(of.threads)};
    if (memory) {
        command.arguments.emplace_back("memory");
    }
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_BENCH;
    return command;
}

std::uintmax_t report_bytes(const FinishedRun& run) {
    return fs::file_size(run.report_files().at(0));
}

// Segments are 64 KiB; a thread's counters have their own.
constexpr std::uintmax_t kSegment = 64 * 1024;

void expect_bounded_by_sites(const Many& of) {
    const FinishedRun with(many(of));
    ASSERT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    EXPECT_EQ(with.outcome().out, FinishedRun(many(of).without_tool()).outcome().out);
    const Report report = with.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls,
              static_cast<std::uint64_t>(of.copies));
    std::size_t sites = 0;
    for (const auto& [id, site] : report.sites) {
        sites += site.record.kind == SiteKind::copy ? 1 : 0;
    }
    EXPECT_EQ(sites, 50u);
    EXPECT_EQ(losses_text(report), "");
    EXPECT_LE(report_bytes(with), 256 * 1024 + kSegment * static_cast<std::uintmax_t>(of.threads + 1));
}

// Every stack makes a site of its own, until the table is full.
void expect_bounded_by_stacks(const Many& of) {
    constexpr std::uint64_t kSites = 30'000;
    const std::uint64_t stacks = std::uint64_t{1} << (2 * of.levels);
    const FinishedRun with(many(of));
    ASSERT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    const Report report = with.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, stacks);
    std::uint64_t sites = 0;
    for (const auto& [id, site] : report.sites) {
        sites += site.record.kind == SiteKind::copy ? 1 : 0;
    }
    if (stacks < kSites) {
        EXPECT_EQ(sites, stacks);
        EXPECT_EQ(losses_text(report), "");
    } else {
        EXPECT_LE(sites, kSites + 64);
        EXPECT_GE(lost(report, Loss::sites), stacks - kSites);
        EXPECT_LE(lost(report, Loss::sites), stacks - sites + 64);
    }
    // 512 bytes a site and thread, and at most 16 frames of 16 bytes in the stack and as many in the key.
    EXPECT_LE(report_bytes(with), 512 * 1024 + sites * (512 + 16 * 16 + 128));
}

TEST(ManyCopies, K8_SizeGrowsWithSitesNotCalls) {
    expect_bounded_by_sites({1'000'000, 0, 2});
}
TEST(ManyStacks, K8_SizeIsBoundedAndNothingIsLostBelowTheLimit) {
    expect_bounded_by_stacks({0, 6, 1});
}

// tests/run.sh --all (ctest label "long"): by name only.
TEST(ManyCopies, DISABLED_long_K8_HundredMillionCopies) {
    expect_bounded_by_sites({100'000'000, 0, 2});
}
TEST(ManyStacks, DISABLED_long_K8_HundredThousandStacks) {
    expect_bounded_by_stacks({0, 9, 1});
}

TEST(ManyStacks, K8_MemoryIsBounded) {
    const Many of{0, 6, 1};
    const auto peak_kib = [](const Outcome& outcome) {
        const std::size_t line = outcome.out.find('\n');
        return line == std::string::npos ? 0L : std::atol(outcome.out.c_str() + line + 1);
    };
    const long with = peak_kib(FinishedRun(many(of, true)).outcome());
    const long without = peak_kib(FinishedRun(many(of, true).without_tool()).outcome());
    ASSERT_GT(without, 0);
    // 8 MiB, and for each of 4,096 stacks its records, counters and table entries.
    EXPECT_LE(with - without, 8 * 1024 + 4'096 * 2);
}

// ---- K9

std::string build_id_text(const report::Module& module) {
    std::string text;
    for (const std::uint8_t byte : module.build_id) {
        char hex[3];
        std::snprintf(hex, sizeof hex, "%02x", byte);
        text += hex;
    }
    return text;
}

std::string build_id_of_file(const std::string& path) {
    std::smatch match;
    const std::string notes = shell_output("readelf -n '" + path + "' 2>/dev/null");
    return std::regex_search(notes, match, std::regex("Build ID: ([0-9a-f]+)")) ? match[1].str() : "";
}

TEST(BareStack, K9_ModuleBuildIdAndOffsetAlways) {
    Command command;
    command.arguments = {"/bin/sh", "-c", "exec stripped"};
    command.environment["PATH"] = std::string(PINCHECK_TEST_PROGRAMS) + ":/usr/bin:/bin";
    const FinishedRun with(command);
    ASSERT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    const Report report = with.report();
    std::set<std::string> seen;
    for (const auto& [id, site] : report.sites) {
        if (site.record.kind != SiteKind::copy) {
            continue;
        }
        const auto stack = report.stacks.find(site.record.stack);
        ASSERT_NE(stack, report.stacks.end());
        ASSERT_FALSE(stack->second.frames.empty());
        const Frame& first = stack->second.frames.front();
        const auto module = report.modules.find(first.module);
        ASSERT_NE(module, report.modules.end());
        const std::string path = *report.string(module->second.record.path);
        EXPECT_EQ(build_id_text(module->second), build_id_of_file(path)) << path;
        EXPECT_NE(build_id_text(module->second), "") << path;
        EXPECT_GT(first.offset, 0u);
        EXPECT_LT(first.offset, module->second.record.end - module->second.record.base);
        seen.insert(fs::path(path).filename().string() + " " + std::to_string(totals_of_site(report, id).calls));
        // Behind it what can be known: whoever called the wrapper.
        if (path.find("libcopywrap.so") != std::string::npos) {
            ASSERT_GE(stack->second.frames.size(), 2u);
            const auto next = report.modules.find(stack->second.frames[1].module);
            ASSERT_NE(next, report.modules.end());
            EXPECT_EQ(*report.string(next->second.record.path), fs::canonical(program_path("stripped")).string());
        }
    }
    EXPECT_EQ(seen, (std::set<std::string>{"libbare_vendor.so 4", "libcopywrap.so 3"}));
    EXPECT_EQ(process_text(report, &ProcessRecord::executable), fs::canonical(program_path("stripped")).string());
}

// One line that copies in every way by turns: each way is a site.
TEST(OnePlace, EveryWayOfCopyingIsTold) {
    Command command;
    command.arguments = {program_path("one_place")};
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_BENCH;
    const FinishedRun with(command);
    ASSERT_TRUE(with.outcome().exited(0)) << describe(with.outcome());
    const Report report = with.report();
    for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
        for (const MemoryClass host : {MemoryClass::pinned, MemoryClass::pageable}) {
            for (const StreamKind stream : {StreamKind::legacy_default, StreamKind::created}) {
                const Totals found = totals(report, [&](const SiteRecord& site) {
                    const bool upload = site.direction == Direction::host_to_device;
                    return site.kind == SiteKind::copy && site.direction == direction && site.stream == stream &&
                           (upload ? site.source : site.destination).kind == host &&
                           (upload ? site.destination : site.source).kind == MemoryClass::device;
                });
                EXPECT_EQ(found.calls, 50u)
                    << static_cast<int>(direction) << static_cast<int>(host) << static_cast<int>(stream);
                EXPECT_EQ(found.bytes, 50u * 4096u);
            }
        }
    }
    EXPECT_EQ(losses_text(report), "");
}

}  // namespace
}  // namespace pincheck::test
