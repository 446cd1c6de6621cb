// Why calls held the host (tests/programs/held_calls.cu), each cause with a half that is it and one that looks like it.
//
// What is held is held by a gate that opens only once the report shows the call as begun; what must not have a cause
// runs with a threshold of 1 us, at which nearly every call counts as held, so that a quick machine hides nothing.
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/names.h"
#include "facts.h"
#include "run_program.h"

namespace pincheck::test {
namespace {

using namespace report;

constexpr char kAnyCall[] = "threshold=1";

Command command_of(const char* half, const char* options) {
    Command command;
    command.arguments = {program_path("held_calls"), half};
    command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
    command.options = options;
    command.input = "";
    return command;
}

// So many threads are inside calls that began a second ago: in the four snapshots since, they would have been seen to
// come out. (A snapshot with nothing new in it is not written.)
class SeenInside {
  public:
    explicit SeenInside(std::size_t threads) : threads_(threads) {}
    bool operator()(const Report& report) const {
        timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        const std::uint64_t now =
            static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
        return static_cast<std::size_t>(std::ranges::count_if(report.threads, [&](const ThreadSlot& thread) {
                   return thread.in_call_since_ns != 0 && now - thread.in_call_since_ns >= 1'000'000'000u;
               })) == threads_;
    }

  private:
    std::size_t threads_;
};

struct Waits {
    Report report;
    std::string out;

    // Waits of the sites that are headed by this function of the program.
    std::vector<WaitSlot> of(const std::string& function) const {
        std::vector<WaitSlot> found;
        for (const WaitSlot& wait : report.waits) {
            if (is_in(wait.site, function)) {
                found.push_back(wait);
            }
        }
        return found;
    }
    std::uint64_t calls(WaitCause cause) const {
        std::uint64_t sum = 0;
        for (const WaitSlot& wait : report.waits) {
            sum += wait.cause == cause ? wait.calls : 0;
        }
        return sum;
    }
    bool is_in(std::uint32_t id, const std::string& function) const {
        const auto site = report.sites.find(id);
        if (site == report.sites.end()) {
            return false;
        }
        for (const NamedFrame& frame : stack_of(report, site->second.record)) {
            if (frame.function.substr(frame.function.rfind(':') + 1) == function) {
                return true;
            }
        }
        return false;
    }
    std::string text() const {
        std::string text;
        for (const WaitSlot& wait : report.waits) {
            const auto site = report.sites.find(wait.site);
            text += std::string(pincheck::name(wait.cause)) + " " + std::to_string(static_cast<int>(wait.evidence)) +
                    " calls " + std::to_string(wait.calls) + " ns " + std::to_string(wait.ns) + " stream " +
                    std::to_string(wait.stream) + " behind " + std::to_string(wait.behind_site) + " items " +
                    std::to_string(wait.items) + "\n" +
                    (site != report.sites.end() ? stack_text(report, site->second.record) : "");
        }
        return text;
    }
};

// Runs a half, and opens each of its gates when so many threads are seen inside.
Waits run(const char* half, std::vector<std::size_t> inside = {}, const char* options = "",
          std::map<std::string, std::string> environment = {}) {
    Command command = command_of(half, options);
    command.environment.insert(environment.begin(), environment.end());
    const TemporaryFolder folder;
    Running running(command, folder.path());
    for (const std::size_t threads : inside) {
        EXPECT_TRUE(running.wait_for_line("inside"));
        EXPECT_TRUE(report_becomes(folder.path(), SeenInside(threads)));
        running.say("go\n");
    }
    const Outcome outcome = running.wait();
    EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
    Waits waits;
    waits.out = outcome.out;
    const auto files = report_files_in(folder.path());
    EXPECT_EQ(files.size(), 1u);
    if (files.size() == 1) {
        ReadResult result = read_report(files.front().string());
        EXPECT_EQ(result.error, ReadError::none);
        waits.report = std::move(result.report);
    }
    EXPECT_EQ(waits.report.problems, std::vector<std::string>{});
    EXPECT_EQ(losses_text(waits.report), "");
    return waits;
}

// One wait, of that function, cause and evidence; other ones fail the test.
WaitSlot only(const Waits& waits, const std::string& function, WaitCause cause, WaitEvidence evidence) {
    const auto found = waits.of(function);
    EXPECT_EQ(found.size(), 1u) << waits.text();
    if (found.size() != 1) {
        return {};
    }
    EXPECT_EQ(found[0].cause, cause) << waits.text();
    EXPECT_EQ(found[0].evidence, evidence) << waits.text();
    EXPECT_EQ(found[0].calls, 1u);
    EXPECT_NE(found[0].ns, 0u);
    EXPECT_EQ(found[0].ns_max, found[0].ns);
    EXPECT_NE(found[0].first_ns, 0u);
    return found[0];
}

// ---- Pageable copies

TEST(Waits, PageLockedCopiesAreNeverStaged) {
    const Waits waits = run("staging_pinned", {}, kAnyCall);
    EXPECT_EQ(waits.calls(WaitCause::staging), 0u) << waits.text();
    EXPECT_EQ(waits.calls(WaitCause::earlier_work), 0u) << waits.text();
}

TEST(Waits, ACallBelowTheThresholdIsNotHeld) {
    const Waits waits = run("staging", {}, "threshold=999999");
    EXPECT_EQ(waits.report.waits.size(), 0u) << waits.text();
}

// ---- Loading

TEST(Waits, Q2_TheFirstLaunchOfAKernelLoadsItAndWaitsForNothing) {
    const Waits waits = run("Q2", {}, "", {{"SIMCUDA_LOAD_US", "3000"}});
    for (const char* function : {"launch_work", "launch_other_work"}) {
        const auto found = waits.of(function);
        std::uint64_t loads = 0;
        for (const WaitSlot& wait : found) {
            EXPECT_TRUE(wait.cause == WaitCause::module_loading || wait.cause == WaitCause::unknown) << waits.text();
            loads += wait.cause == WaitCause::module_loading ? wait.calls : 0;
        }
        EXPECT_EQ(loads, 1u) << function << "\n" << waits.text();
    }
}

// ---- Costs

TEST(Waits, PageLockingIsACost) {
    const Waits waits = run("lock_pages", {}, kAnyCall);
    const auto found = waits.of("lock_pages");
    EXPECT_EQ(found.size(), 2u) << waits.text();
    for (const WaitSlot& wait : found) {
        EXPECT_EQ(wait.cause, WaitCause::pinning);
    }
}

TEST(Waits, AllocatingManagedMemoryLocksNoPages) {
    const Waits waits = run("allocate_managed", {}, kAnyCall);
    only(waits, "allocate_managed", WaitCause::unknown, WaitEvidence::call);
}

// ---- Another thread's call

TEST(Waits, ACopyWaitsForTheLockOfAnotherThreadsRelease) {
    const Waits waits = run("beside_release", {1, 2}, "", {{"SIMCUDA_DRIVER_LOCK", "1"}});
    const auto found = waits.of("upload");
    const auto lock = std::ranges::find_if(found, [](const WaitSlot& wait) { return wait.cause == WaitCause::lock; });
    ASSERT_NE(lock, found.end()) << waits.text();
    EXPECT_EQ(lock->calls, 1u);
    EXPECT_TRUE(waits.is_in(lock->behind_site, "release_pinned")) << waits.text();
}

TEST(Waits, AThreadThatOnlyWaitsHoldsNoLock) {
    const Waits waits = run("beside_wait", {1}, kAnyCall);
    EXPECT_EQ(waits.calls(WaitCause::lock), 0u) << waits.text();
}

// ---- Sizes

TEST(Waits, OneLineIsCountedApartBySize) {
    const Waits waits = run("sizes");
    std::map<std::uint16_t, std::uint64_t> calls;
    for (const CounterSlot& counter : waits.report.counters) {
        if (waits.is_in(counter.site, "upload")) {
            EXPECT_EQ(size_class(counter.bytes_min), counter.size_class);
            EXPECT_EQ(size_class(counter.bytes_max), counter.size_class);
            for (const std::uint64_t count : counter.histogram) {
                calls[counter.size_class] += count;
            }
        }
    }
    // 1, 2 | 4, 8 | … | 512 KiB | 1 MiB: two of every class, and the last alone.
    ASSERT_EQ(calls.size(), 11u);
    for (const auto& [size, count] : calls) {
        EXPECT_EQ(count, size == 11 ? 1u : 2u) << size;
    }
}

}  // namespace
}  // namespace pincheck::test
