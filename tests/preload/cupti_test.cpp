// Device times from CUPTI: every copy has its own, matched with its call; and CUPTI belongs to the program as soon as
// the program wants it (P3). Needs the simulated device's libcupti.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;
namespace fs = std::filesystem;

constexpr std::uint64_t kAll = 34;    // uploads that profiled.cpp makes
constexpr std::uint64_t kFirst = 20;  // of them before it becomes a client "after" some

bool have_cupti() {
    const std::string name = "libcupti.so." + std::to_string(PINCHECK_TEST_CUDA_MAJOR);
    return fs::exists(fs::path(simulated_device_folder()) / name) && fs::exists(program_path("profiled_dlsym"));
}

class Cupti : public testing::Test {
  protected:
    void SetUp() override {
        if (!have_cupti()) {
            GTEST_SKIP() << "the simulated device has no libcupti, or the toolkit has none";
        }
    }
};

Command of(std::vector<std::string> arguments) {
    Command command;
    arguments.front() = program_path(arguments.front());
    command.arguments = std::move(arguments);
    return command;
}

std::uint64_t timed_copies(const Report& report) {
    std::uint64_t copies = 0;
    for (const TransferSlot& transfer : report.transfers) {
        copies += transfer.copies;
    }
    return copies;
}

std::vector<std::string> coverage(const Report& report, CoverageKind kind) {
    std::vector<std::string> texts;
    for (const CoverageRecord& record : report.coverage) {
        if (record.kind == kind) {
            texts.push_back(*report.string(record.text));
        }
    }
    return texts;
}

// The program does what it does without the tool.
void expect_same_as_without(const FinishedRun& run, const Command& command) {
    const FinishedRun plain(command.without_tool());
    EXPECT_EQ(run.outcome().out, plain.outcome().out);
    EXPECT_EQ(run.outcome().err, plain.outcome().err);
    EXPECT_EQ(run.outcome().status_text(), plain.outcome().status_text());
}

// Copies by the simulated device's own account.
std::uint64_t copies_made(const fs::path& counts) {
    std::ifstream file(counts);
    std::string line;
    std::uint64_t copies = 0;
    while (std::getline(file, line)) {
        const nlohmann::json json = nlohmann::json::parse(line);
        for (const char* direction : {"h2d", "d2h", "d2d", "h2h"}) {
            copies += json.at(direction).get<std::uint64_t>();
        }
    }
    return copies;
}

// ---- Times

class CuptiTimes : public Cupti, public testing::WithParamInterface<const char*> {};

TEST_P(CuptiTimes, everyCopyHasItsOwn) {
    TemporaryFolder folder;
    Command command = of({GetParam()});
    command.environment["SIMCUDA_COUNTS_FILE"] = (folder.path() / "counts").string();
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    EXPECT_EQ(timed_copies(report), copies_made(folder.path() / "counts"));
    EXPECT_EQ(losses_text(report), "");
    EXPECT_EQ(coverage(report, CoverageKind::device_times).size(), 1u);
    EXPECT_EQ(coverage(report, CoverageKind::no_device_times).size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, CuptiTimes,
                         testing::Values("copies_runtime_shared", "copies_runtime_shared_per_thread",
                                         "copies_runtime_static", "copies_driver_linked", "copies_driver_dlsym",
                                         "copies_driver_lookup_v2"),
                         [](const auto& of_test) { return std::string(of_test.param); });

// CUPTI keeps a buffer for each thread until it is flushed, and buffers are bounded: 512 threads that come and go may
// lose times, which is counted, and nothing else.
TEST_F(Cupti, timesOfManyThreadsAreThereOrCounted) {
    const FinishedRun run(of({"many_threads"}));
    const Report report = run.report();
    EXPECT_GE(timed_copies(report) + lost(report, Loss::transfers), 4096u);
    EXPECT_GT(timed_copies(report), 0u);
    EXPECT_EQ(lost(report, Loss::unseen_copies), 0u);
    EXPECT_EQ(copies(report, Direction::host_to_device).calls, 4096u);
}

TEST_F(Cupti, timesBelongToTheSiteOfTheCall) {
    const FinishedRun run(of({"profiled_dlsym", "never"}));
    const Report report = run.report();
    std::map<std::uint32_t, std::uint64_t> copies;
    for (const TransferSlot& transfer : report.transfers) {
        copies[transfer.site] += transfer.copies;
        EXPECT_EQ(transfer.size_class, size_class(4096));
        EXPECT_EQ(transfer.bytes, transfer.copies * 4096);
        EXPECT_EQ(transfer.calls, transfer.copies);
        EXPECT_LE(transfer.device_ns_min * transfer.copies, transfer.device_ns);
        EXPECT_GE(transfer.device_ns_max * transfer.copies, transfer.device_ns);
        EXPECT_GT(transfer.device_ns, 0u);
        EXPECT_GE(transfer.completion_ns, transfer.host_ns);
        EXPECT_LE(transfer.before_ns + transfer.during_ns, transfer.host_ns);
        EXPECT_LE(transfer.returned_early, transfer.calls);
    }
    std::uint64_t compared = 0;
    for (const auto& [id, site] : report.sites) {
        if (site.record.kind == SiteKind::copy) {
            EXPECT_EQ(copies[id], totals_of_site(report, id).calls) << stack_text(report, site.record);
            ++compared;
        }
    }
    EXPECT_EQ(compared, copies.size());
    EXPECT_EQ(timed_copies(report), kAll);
}

TEST_F(Cupti, copiesOfAGraphBelongToItsLaunches) {
    TemporaryFolder folder;
    Command command = of({"graph_copies"});
    command.environment["SIMCUDA_COUNTS_FILE"] = (folder.path() / "counts").string();
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    const Report report = run.report();
    std::uint64_t of_launches = 0;
    for (const TransferSlot& transfer : report.transfers) {
        if (report.sites.at(transfer.site).record.kind == SiteKind::graph_launch) {
            of_launches += transfer.copies;
        }
    }
    EXPECT_GT(of_launches, 0u);
    EXPECT_GE(timed_copies(report), copies_made(folder.path() / "counts")) << "memsets have times too";
    EXPECT_EQ(lost(report, Loss::unseen_copies), 0u);
    EXPECT_EQ(lost(report, Loss::transfers), 0u);
}

TEST_F(Cupti, everyFunctionThatCopiesIsMatched) {
    for (const char* program : {"every_copy_driver", "every_copy_runtime"}) {
        const FinishedRun run(of({program}));
        ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
        const Report report = run.report();
        EXPECT_EQ(lost(report, Loss::unseen_copies), 0u) << program;
        EXPECT_EQ(lost(report, Loss::transfers), 0u) << program;
        EXPECT_GT(timed_copies(report), 100u) << program;
    }
}

TEST_F(Cupti, recordsOfAnOlderCuptiAreReadToo) {
    Command command = of({"profiled_dlsym", "never"});
    command.environment["SIMCUDA_CUPTI_VERSION"] = "21";
    const FinishedRun run(command);
    EXPECT_EQ(timed_copies(run.report()), kAll);
    EXPECT_EQ(losses_text(run.report()), "");
}

TEST_F(Cupti, fullRecordsKernelsAndChangesNothingElse) {
    Command command = of({"profiled_dlsym", "never"});
    command.options = "cupti=full";
    const FinishedRun run(command);
    EXPECT_EQ(timed_copies(run.report()), kAll);
    EXPECT_EQ(losses_text(run.report()), "");
}

// ---- Not there

struct Absent {
    const char* name;
    const char* variable;
    const char* value;
    const char* said;
};
void PrintTo(const Absent& absent, std::ostream* out) {
    *out << absent.name;
}
class CuptiAbsent : public Cupti, public testing::WithParamInterface<Absent> {};

TEST_P(CuptiAbsent, isSaidOnceAndChangesNothing) {
    Command command = of({"profiled_dlsym", "never"});
    if (GetParam().variable != nullptr) {
        command.environment[GetParam().variable] = GetParam().value;
    } else {
        command.options = GetParam().value;
    }
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    const Report report = run.report();
    EXPECT_EQ(timed_copies(report), 0u);
    EXPECT_EQ(copies(report, Direction::host_to_device).calls, kAll);
    EXPECT_EQ(losses_text(report), "");
    const std::vector<std::string> said = coverage(report, CoverageKind::no_device_times);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said.front().find(GetParam().said), std::string::npos) << said.front();
    EXPECT_EQ(coverage(report, CoverageKind::device_times).size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Because, CuptiAbsent,
    testing::Values(Absent{"P3_anotherToolIsSubscribed", "SIMCUDA_CUPTI_REFUSE", "39", "another tool uses CUPTI"},
                    Absent{"noPrivileges", "SIMCUDA_CUPTI_REFUSE", "35", "INSUFFICIENT_PRIVILEGES"},
                    Absent{"refused", "SIMCUDA_CUPTI_REFUSE", "999", "refused: 999"},
                    Absent{"P3_injection", "CUDA_INJECTION64_PATH", "/nowhere/libinjection.so",
                           "CUDA_INJECTION64_PATH"},
                    Absent{"P3_nvtxInjection", "NVTX_INJECTION64_PATH", "/nowhere/lib.so", "NVTX_INJECTION64_PATH"},
                    Absent{"off", nullptr, "cupti=off", "cupti=off"}),
    [](const auto& of_test) { return std::string(of_test.param.name); });

// The library beside the runtime is a text file, and so is the one of the other version: whatever the loader finds
// after them, the program is undisturbed and the report says what it was.
TEST_F(Cupti, unusableLibraryIsNoHarm) {
    TemporaryFolder folder;
    for (const char* library : {"libcuda.so.1", "libcudart.so."}) {
        const std::string name =
            std::string(library) + (library[7] == 'r' ? std::to_string(PINCHECK_TEST_CUDA_MAJOR) : "");
        fs::copy_file(fs::path(simulated_device_folder()) / name, folder.path() / name);
    }
    for (const char* name : {"libcupti.so.12", "libcupti.so.13"}) {
        std::ofstream(folder.path() / name) << "no library\n";
    }
    Command command = of({"profiled_dlsym", "never"});
    command.environment["LD_LIBRARY_PATH"] = folder.path().string();
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    EXPECT_EQ(timed_copies(run.report()), 0u);
    EXPECT_EQ(coverage(run.report(), CoverageKind::no_device_times).size(), 1u);
}

// Is a file of that name mapped into the process?
bool has_mapped(pid_t pid, const std::string& name) {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    std::ostringstream text;
    text << maps.rdbuf();
    return text.str().find(name) != std::string::npos;
}

TEST_F(Cupti, offOpensNothing) {
    for (const char* options : {"", "cupti=off"}) {
        Command command = of({"profiled_dlsym", "never", "subscribe", "wait"});
        command.options = options;
        TemporaryFolder folder;
        Running program(command, folder.path());
        ASSERT_TRUE(program.wait_for_line("waiting"));
        EXPECT_EQ(has_mapped(program.pid(), "libcupti"), options[0] == '\0') << options;
        program.say("\n");
        EXPECT_TRUE(program.wait().exited(0));
    }
}

// CUPTI may take more stack than that: another thread opens it, before the first call is made.
TEST_F(Cupti, K4_firstCallOnASmallStackOpensItToo) {
    const Command command = of({"profiled_dlsym", "cramped"});
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    EXPECT_EQ(coverage(run.report(), CoverageKind::device_times).size(), 1u);
    EXPECT_EQ(timed_copies(run.report()), kAll);
    EXPECT_EQ(losses_text(run.report()), "");
}

// That sanitizer would find races in CUPTI, and the program end with another status.
TEST_F(Cupti, K7_threadSanitizerHasNone) {
    const FinishedRun run(of({"endings_tsan", "return"}));
    if (!run.outcome().exited(0)) {
        GTEST_SKIP() << "the thread sanitizer does not run here: " << describe(run.outcome());
    }
    EXPECT_EQ(coverage(run.report(), CoverageKind::no_device_times),
              std::vector<std::string>{"the program is built with the thread sanitizer"});
}

// A program that never uses CUDA never gets CUPTI.
TEST_F(Cupti, programWithoutCudaGetsNone) {
    Command command;
    command.arguments = {"/bin/sh", "-c", "grep -c libcupti /proc/self/maps; true"};
    EXPECT_EQ(FinishedRun(command).outcome().out, "0\n");
}

TEST_F(Cupti, K3_forksChildOpensNone) {
    const FinishedRun run(of({"forks", "after-exit"}));
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    unsigned children = 0;
    for (const auto& [name, report] : run.reports()) {
        const bool child = report.process->after_cuda_fork != 0;
        children += child ? 1 : 0;
        EXPECT_EQ(coverage(report, CoverageKind::device_times).size(), child ? 0u : 1u);
        EXPECT_EQ(timed_copies(report), child ? 0u : 30u) << name;
    }
    EXPECT_EQ(children, 1u);
}

// ---- The program's own profiler

struct Profiler {
    const char* program;
    const char* how;
};
void PrintTo(const Profiler& profiler, std::ostream* out) {
    *out << profiler.program << ' ' << profiler.how;
}
class CuptiProfiler : public Cupti, public testing::WithParamInterface<Profiler> {
  protected:
    static Command profiled(const char* when) { return of({GetParam().program, when, GetParam().how}); }
};

TEST_P(CuptiProfiler, P3_isTheClientBeforeTheFirstCudaCall) {
    const Command command = profiled("before");
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    EXPECT_NE(run.outcome().out.find("records 34\nforeign buffers 0\nfailed 0\n"), std::string::npos)
        << run.outcome().out;
    const Report report = run.report();
    EXPECT_EQ(timed_copies(report), 0u);
    EXPECT_EQ(losses_text(report), "");
    EXPECT_EQ(coverage(report, CoverageKind::no_device_times),
              std::vector<std::string>{"the program uses CUPTI itself"});
    EXPECT_EQ(copies(report, Direction::host_to_device).calls, kAll);
}

TEST_P(CuptiProfiler, P3_becomesTheClientLaterAndHasAllOfItsRecords) {
    const Command command = profiled("after");
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    EXPECT_NE(run.outcome().out.find("records 14\nforeign buffers 0\nfailed 0\n"), std::string::npos)
        << run.outcome().out;
    const Report report = run.report();
    EXPECT_LE(timed_copies(report), kFirst) << "those that were done by then";
    EXPECT_EQ(lost(report, Loss::unseen_copies), 0u);
    EXPECT_EQ(timed_copies(report) + lost(report, Loss::transfers), kFirst);
    EXPECT_EQ(coverage(report, CoverageKind::device_times).size(), 1u);
    const std::vector<std::string> said = coverage(report, CoverageKind::no_device_times);
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said.front().find("took CUPTI over"), std::string::npos) << said.front();
    EXPECT_EQ(copies(report, Direction::host_to_device).calls, kAll);
}

TEST_P(CuptiProfiler, P3_becomesTheClientWhileOtherThreadsCopy) {
    const Command command = profiled("busy");
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    EXPECT_NE(run.outcome().out.find("foreign buffers 0\nfailed 0\n"), std::string::npos) << run.outcome().out;
    EXPECT_EQ(lost(run.report(), Loss::unseen_copies), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    By, CuptiProfiler,
    testing::Values(Profiler{"profiled_dlsym", "subscribe"}, Profiler{"profiled_linked", "subscribe"},
                    Profiler{"profiled_dlsym", "subscribe_v2"}, Profiler{"profiled_linked", "subscribe_v2"},
                    Profiler{"profiled_dlsym", "activity"}, Profiler{"profiled_linked", "activity"}),
    [](const auto& of_test) { return std::string(of_test.param.program) + "_" + of_test.param.how; });

// The program's call has begun and the tool's session has not: the tool must not get in between.
TEST_F(Cupti, P3_firstCudaCallWhileTheProgramBecomesTheClient) {
    const Command command = of({"profiled_dlsym", "within"});
    const FinishedRun run(command);
    expect_same_as_without(run, command);
    EXPECT_NE(run.outcome().out.find("subscribe 0\n"), std::string::npos) << run.outcome().out;
    EXPECT_NE(run.outcome().out.find("records 34\nforeign buffers 0\nfailed 0\n"), std::string::npos)
        << run.outcome().out;
    EXPECT_EQ(coverage(run.report(), CoverageKind::no_device_times),
              std::vector<std::string>{"the program uses CUPTI itself"});
}

// The narrowing options are about CUDA's functions: the program must become the client whatever they say.
TEST_F(Cupti, P3_handsOverWithEveryRouteOff) {
    for (const char* program : {"profiled_dlsym", "profiled_linked"}) {
        Command command = of({program, "after"});
        command.options = "dlsym=off";
        const FinishedRun run(command);
        expect_same_as_without(run, command);
        EXPECT_NE(run.outcome().out.find("records 14\n"), std::string::npos) << run.outcome().out;
    }
}

}  // namespace
}  // namespace pincheck::test
