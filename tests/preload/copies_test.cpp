// Every copy of an unmodified program is in the report, whatever route its calls take (I1, I3, I6, P6).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

struct Form {
    const char* name;
    std::vector<std::string> arguments;  // the first is a program of tests/programs
    const char* route;                   // that the report must say it saw
    bool names_runtime;                  // sites carry the runtime's names
};

void PrintTo(const Form& form, std::ostream* out) {
    *out << form.name;
}

const Form kForms[] = {
    {"I1_shared_runtime", {"copies_runtime_shared"}, "exported-runtime", true},
    {"I1_shared_runtime_per_thread", {"copies_runtime_shared_per_thread"}, "exported-runtime", true},
    {"I1_static_runtime", {"copies_runtime_static"}, "lookup", false},
    {"I3_static_runtime_per_thread", {"copies_runtime_static_per_thread"}, "lookup", false},
    {"driver_linked", {"copies_driver_linked"}, "exported-driver", false},
    {"driver_linked_per_thread", {"copies_driver_linked_per_thread"}, "exported-driver", false},
    {"driver_dlsym", {"copies_driver_dlsym"}, "dlsym", false},
    {"I3_driver_lookup_v2", {"copies_driver_lookup_v2"}, "lookup", false},
    {"I3_driver_lookup_v2_per_thread", {"copies_driver_lookup_v2_per_thread"}, "lookup", false},
    {"I3_driver_lookup_v1", {"copies_driver_lookup_v1"}, "lookup", false},
    {"I6_plugin_local", {"plugin_host", "libcopies_plugin.so"}, "exported-runtime", true},
};

Command command_of(const Form& form) {
    Command command;
    command.arguments = form.arguments;
    for (std::string& argument : command.arguments) {
        if (argument.rfind("libcopies", 0) == 0 || &argument == &command.arguments.front()) {
            argument = program_path(argument);
        }
    }
    return command;
}

class Copies : public testing::TestWithParam<Form> {};

TEST_P(Copies, AllAreRecordedExactly) {
    const FinishedRun run(command_of(GetParam()));
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    EXPECT_EQ(differences_from_ledger(report, run.outcome().out), "");
    EXPECT_EQ(report.problems, std::vector<std::string>{});
    EXPECT_EQ(report.header.state, FileState::ended);
    EXPECT_EQ(losses_text(report), "");
}

// On a slow or busy machine any call may take long enough to count as one that held the host.
TEST_P(Copies, AreTheSameWhereEveryCallCountsAsHeld) {
    Command command = command_of(GetParam());
    command.options = "threshold=1";
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(differences_from_ledger(run.report(), run.outcome().out), "");
}

// The ledger could be wrong in the same way as the report; these figures are counted by hand from copies.h.
TEST_P(Copies, AddUpToTheNumbersInTheSource) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    // Per class 3 + 1 + 1 each way; pageable and pinned make 1 (default kind) + 3 (streams) + 2 (callers) more uploads
    // and, in two threads, 3 each.
    constexpr std::uint64_t kBytes = 24 * 1024;
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 5u + 6 + 6);
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls, 5u * 5 + 6 + 6);
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::registered).calls, 5u + 1);
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::managed).calls, 5u);
    EXPECT_EQ(copies(report, Direction::device_to_host, MemoryClass::pageable).calls, 5u + 1 + 1);
    EXPECT_EQ(copies(report, Direction::device_to_host, MemoryClass::pinned).calls, 5u * 5 + 1);
    EXPECT_EQ(copies(report, Direction::device_to_host, MemoryClass::registered).calls, 5u);
    EXPECT_EQ(copies(report, Direction::device_to_host, MemoryClass::managed).calls, 5u);
    EXPECT_EQ(copies(report, Direction::host_to_host).calls, 1u);
    EXPECT_EQ(copies(report, Direction::unknown).calls, 0u);
    EXPECT_EQ(copies(report, Direction::device_to_host, MemoryClass::managed).bytes, 5 * kBytes);
    // Refused by CUDA: counted, without bytes.
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::partly_registered), (Totals{1, 1, 0, 0}));
    EXPECT_EQ(copies(report, Direction::device_to_host, MemoryClass::partly_registered), (Totals{1, 1, 0, 0}));
}

// A table by size needs no other data: a counter holds copies of its own size alone, and calls that move nothing have
// none.
TEST_P(Copies, AreCountedApartBySize) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    std::set<std::uint16_t> sizes;
    for (const CounterSlot& counter : report.counters) {
        const SiteKind kind = report.sites.at(counter.site).record.kind;
        if (kind != SiteKind::copy && kind != SiteKind::fill) {
            EXPECT_EQ(counter.size_class, 0u) << name(kind);
        } else if (counter.bytes_min <= counter.bytes_max) {  // some succeeded
            EXPECT_EQ(size_class(counter.bytes_min), counter.size_class);
            EXPECT_EQ(size_class(counter.bytes_max), counter.size_class);
            sizes.insert(counter.size_class);
        }
    }
    EXPECT_EQ(sizes, std::set<std::uint16_t>{size_class(24 * 1024)});
}

// Where a registration ends inside a copied range is in the report: half of it.
TEST_P(Copies, PartlyRegisteredSitesHaveTheirBoundary) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    std::size_t partly = 0;
    for (const auto& [id, site] : report.sites) {
        if (host_side(site.record).kind != MemoryClass::partly_registered) {
            continue;
        }
        ++partly;
        const auto boundary = std::find_if(report.memories.begin(), report.memories.end(), [&](const auto& memory) {
            return memory.site == id && memory.detail == MemoryDetail::boundary;
        });
        ASSERT_NE(boundary, report.memories.end()) << stack_text(report, site.record);
        EXPECT_EQ(boundary->value, 12u * 1024);
    }
    EXPECT_EQ(partly, 2u);
}

// What is told about memory is told of the site that copied it, and once.
TEST_P(Copies, DetailsOfMemoryBelongToCopiesOfThatMemory) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    std::set<std::uint32_t> told;
    for (const MemoryRecord& memory : report.memories) {
        const auto site = report.sites.find(memory.site);
        ASSERT_NE(site, report.sites.end());
        const SiteRecord& record = site->second.record;
        EXPECT_EQ(record.kind, SiteKind::copy) << api_of(report, record);
        const bool pageable =
            record.source.kind == MemoryClass::pageable || record.destination.kind == MemoryClass::pageable;
        EXPECT_TRUE(pageable || host_side(record).kind == MemoryClass::partly_registered) << api_of(report, record);
        EXPECT_TRUE(told.insert(memory.site).second || record.direction == Direction::host_to_host);
    }
    EXPECT_FALSE(told.empty());
}

TEST_P(Copies, ProgramIsTheSameWithoutTheTool) {
    const Command command = command_of(GetParam());
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().err, without.outcome().err);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    EXPECT_TRUE(without.report_files().empty());
}

// What the device itself counted: neither the program's nor the tool's word.
TEST_P(Copies, AreAsManyAsTheDeviceSaw) {
    Command command = command_of(GetParam());
    const TemporaryFolder folder;
    const std::filesystem::path counts = folder.path() / "counts.json";
    command.environment["SIMCUDA_COUNTS_FILE"] = counts;
    const FinishedRun run(command);
    std::ifstream file(counts);
    const nlohmann::json device = nlohmann::json::parse(file, nullptr, false);
    ASSERT_FALSE(device.is_discarded());
    const Report report = run.report();
    const auto succeeded = [&](Direction direction) {
        const Totals counted = copies(report, direction);
        return counted.calls - counted.failed;
    };
    EXPECT_EQ(succeeded(Direction::host_to_device), device.at("h2d").get<std::uint64_t>());
    EXPECT_EQ(succeeded(Direction::device_to_host), device.at("d2h").get<std::uint64_t>());
    EXPECT_EQ(copies(report, Direction::host_to_device).bytes, device.at("bytes_h2d").get<std::uint64_t>());
    EXPECT_EQ(copies(report, Direction::device_to_host).bytes, device.at("bytes_d2h").get<std::uint64_t>());
}

TEST_P(Copies, RouteIsNamed) {
    const FinishedRun run(command_of(GetParam()));
    EXPECT_TRUE(covers_route(run.report(), GetParam().route));
}

// Offenders have one site for each distinct stack, and the stack goes on to the caller.
TEST_P(Copies, PageableSitesHaveTheirExactStack) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    std::multiset<std::string> callers;
    std::string stacks;
    for (const auto& [id, site] : report.sites) {
        if (site.record.kind != SiteKind::copy || host_side(site.record).kind != MemoryClass::pageable) {
            continue;
        }
        EXPECT_NE(site.record.flags & kSiteExactStack, 0) << stack_text(report, site.record);
        const std::vector<NamedFrame> frames = stack_of(report, site.record);
        for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
            if (frames[i].function == "shared_upload<Pageable>") {
                callers.insert(frames[i + 1].function);
                stacks += stack_text(report, site.record) + "\n";
            }
        }
    }
    EXPECT_EQ(callers, (std::multiset<std::string>{"first_caller<Pageable>", "second_caller<Pageable>"})) << stacks;
}

// Innermost is the caller of the API that gives the site its name; with a runtime above the driver, its frames come
// first.
TEST_P(Copies, StacksReachMain) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    for (const auto& [id, site] : report.sites) {
        const std::vector<NamedFrame> frames = stack_of(report, site.record);
        const bool in_thread = std::any_of(frames.begin(), frames.end(), [](const NamedFrame& frame) {
            return frame.function.find("thread_body") != std::string::npos;
        });
        const bool reaches = std::any_of(frames.begin(), frames.end(), [](const NamedFrame& frame) {
            return frame.function == "main" || frame.function == "plugin_main" || frame.function == "copies_main";
        });
        EXPECT_TRUE(reaches || in_thread) << api_of(report, site.record) << "\n" << stack_text(report, site.record);
        if (GetParam().names_runtime && site.record.kind == SiteKind::copy && !frames.empty()) {
            EXPECT_EQ(frames.front().module.rfind("libcudart", 0), std::string::npos)
                << stack_text(report, site.record);
        }
    }
}

TEST_P(Copies, ThreadsAreSeparate) {
    const FinishedRun run(command_of(GetParam()));
    const Report report = run.report();
    std::set<std::uint32_t> threads;
    for (const CounterSlot& counter : report.counters) {
        const auto site = report.sites.find(counter.site);
        ASSERT_NE(site, report.sites.end());
        if (site->second.record.kind == SiteKind::copy) {
            threads.insert(counter.thread);
        }
    }
    EXPECT_GE(threads.size(), 2u);  // the two threads may have used one slot after the other
    std::uint64_t used = 0;
    for (const ThreadSlot& slot : report.threads) {
        used += slot.threads;
        EXPECT_EQ(slot.in_call_since_ns, 0u);
    }
    EXPECT_EQ(used, 3u);
}

INSTANTIATE_TEST_SUITE_P(Route, Copies, testing::ValuesIn(kForms),
                         [](const testing::TestParamInfo<Form>& of_test) { return std::string(of_test.param.name); });

// A wrapper library linked at start-up with -z now, as frameworks ship them.
TEST(CopiesWrapped, StackStartsInTheWrapperAndGoesOnToItsCaller) {
    Command command;
    command.arguments = {program_path("copies_wrapped")};
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    std::multiset<std::string> pageable;
    for (const auto& [id, site] : report.sites) {
        if (site.record.kind != SiteKind::copy || host_side(site.record).kind != MemoryClass::pageable) {
            continue;
        }
        const std::vector<NamedFrame> frames = stack_of(report, site.record);
        ASSERT_GE(frames.size(), 2u);
        EXPECT_EQ(frames[0].module, "libcopywrap.so");
        EXPECT_EQ(frames[1].module, "copies_wrapped");
        const Totals counts = totals_of_site(report, id);
        pageable.insert(api_of(report, site.record) + " " + frames[0].function + " " + frames[1].function + " " +
                        std::to_string(counts.calls) + " " + std::to_string(counts.then_synchronized));
    }
    EXPECT_EQ(pageable, (std::multiset<std::string>{"cudaMemcpyAsync copywrap_upload caller_one 4 0",
                                                    "cudaMemcpyAsync copywrap_upload caller_two 2 0",
                                                    "cudaMemcpyAsync copywrap_download_and_wait caller_down 3 3"}));
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls, 4u);
}

// Two runtimes of different major versions in one process: each caller's calls go to its own.
TEST(TwoRuntimes, I6_EachCallerKeepsItsOwn) {
    Command command;
    command.arguments = {program_path("two_runtimes"), program_path("libtwo_runtimes_plugin.so")};
    command.environment["LD_LIBRARY_PATH"] = simulated_device_folder() + ":" + PINCHECK_TEST_PROGRAMS;
    const FinishedRun with(command);
    const FinishedRun without(command.without_tool());
    ASSERT_TRUE(without.outcome().exited(0)) << describe(without.outcome());
    EXPECT_EQ(with.outcome().out, without.outcome().out);
    EXPECT_EQ(with.outcome().status_text(), without.outcome().status_text());
    const Report report = with.report();
    const Totals pinned = copies(report, Direction::host_to_device, MemoryClass::pinned);
    EXPECT_EQ(pinned.calls - pinned.failed, 4u + 6u);
    const Totals pageable = copies(report, Direction::host_to_device, MemoryClass::pageable);
    EXPECT_EQ(pageable.calls - pageable.failed, 4u + 6u);
    for (const auto& [id, site] : report.sites) {
        if (site.record.kind == SiteKind::copy) {
            EXPECT_EQ(api_of(report, site.record), "cudaMemcpyAsync");
        }
    }
}

// A runtime whose functions end in a jump to the driver's (the stand-in of tests/bench): still one call, one record.
TEST(TailCallingRuntime, I1_CountsEachCallOnce) {
    Command command;
    command.arguments = {PINCHECK_TEST_BENCH "/hook_cost", "shared", "1000", "2"};
    command.environment["LD_LIBRARY_PATH"] = PINCHECK_TEST_BENCH;
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    EXPECT_EQ(copies(report, Direction::host_to_device).calls, 2u * 1100);
    for (const auto& [id, site] : report.sites) {
        if (site.record.kind == SiteKind::copy) {
            EXPECT_EQ(api_of(report, site.record), "cudaMemcpyAsync");
        }
    }
}

// ctypes and Numba: the handle's function is the runtime's or driver's own, the tool sees the driver below.
TEST(CopiesFromPython, I1_RuntimeThroughAHandle) {
    Command command;
    command.arguments = {"python3", program_path("copies_ctypes.py"), "runtime", simulated_runtime()};
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(differences_from_ledger(run.report(), run.outcome().out), "");
}

TEST(CopiesFromPython, I1_DriverThroughAHandle) {
    Command command;
    command.arguments = {"python3", program_path("copies_ctypes.py"), "driver"};
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(differences_from_ledger(run.report(), run.outcome().out), "");
}

TEST(CopiesWithOptions, StacksOffStillCountsEverything) {
    Command command;
    command.arguments = {program_path("copies_runtime_shared")};
    command.options = "stacks=off";
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 17u);
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pinned).calls, 37u);
    EXPECT_EQ(copies(report, Direction::device_to_host).calls, 43u + 1);
}

TEST(CopiesWithOptions, DepthLimitsTheStack) {
    Command command;
    command.arguments = {program_path("copies_runtime_shared")};
    command.options = "depth=2";
    const Report report = FinishedRun(command).report();
    ASSERT_FALSE(report.stacks.empty());
    for (const auto& [id, stack] : report.stacks) {
        EXPECT_LE(stack.frames.size(), 2u);
    }
}

TEST(CopiesWithOptions, DlsymOffLeavesTheExportedRoutes) {
    Command command;
    command.arguments = {program_path("copies_runtime_shared")};
    command.options = "dlsym=off";
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    EXPECT_EQ(copies(run.report(), Direction::host_to_device, MemoryClass::pageable).calls, 17u);
}

TEST(CopiesWithOptions, ExportsOffIsSaidAndSeesTheDriverBelow) {
    Command command;
    command.arguments = {program_path("copies_runtime_shared")};
    command.options = "exports=off";
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    EXPECT_EQ(copies(report, Direction::host_to_device, MemoryClass::pageable).calls, 17u);
    EXPECT_TRUE(std::any_of(report.coverage.begin(), report.coverage.end(),
                            [](const CoverageRecord& record) { return record.kind == CoverageKind::exports_off; }));
}

}  // namespace
}  // namespace pincheck::test
