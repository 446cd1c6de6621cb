// Why calls held the host (tests/programs/held_calls.cu), each cause with a half that is it and one that looks like it.
//
// What is held is held by a gate that opens only once the report shows the call as begun; what must not have a cause
// runs with a threshold of 1 us, at which nearly every call counts as held, so that a quick machine hides nothing.
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <map>
#include <set>

#include "waits_of_report.h"

namespace pincheck::test {
namespace {

using namespace report;

constexpr char kAnyCall[] = "threshold=1";

Command command_of(const char* half, const char* options) {
    Command command;
    command.arguments = {program_path("held_calls"), half};
    command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
    // Device times are another test's.
    command.options = options;
    if (command.options.find("cupti=") == std::string::npos) {
        command.options += command.options.empty() ? "cupti=off" : ":cupti=off";
    }
    command.input = "";
    return command;
}

// So many threads are inside calls that began a second ago: in the four snapshots since, they would have been seen to
// come out. (A snapshot with nothing new in it is not written.)
class SeenInside {
  public:
    // `before`: when the calls began that were seen already, in whose snapshot the report may still be.
    SeenInside(std::size_t threads, std::set<std::uint64_t>& before) : threads_(threads), before_(before) {}
    bool operator()(const Report& report) const {
        timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        const std::uint64_t now =
            static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
        std::set<std::uint64_t> inside;
        for (const ThreadSlot& thread : report.threads) {
            if (thread.in_call_since_ns != 0 && now - thread.in_call_since_ns >= 1'000'000'000u) {
                inside.insert(thread.in_call_since_ns);
            }
        }
        if (inside.size() != threads_ || std::ranges::includes(before_, inside)) {
            return false;
        }
        before_.insert(inside.begin(), inside.end());
        return true;
    }

  private:
    std::size_t threads_;
    std::set<std::uint64_t>& before_;
};

// Runs a half, and opens each of its gates when so many threads are seen inside.
Waits run(const char* half, std::vector<std::size_t> inside = {}, const char* options = "",
          std::map<std::string, std::string> environment = {}) {
    Command command = command_of(half, options);
    command.environment.insert(environment.begin(), environment.end());
    const TemporaryFolder folder;
    Running running(command, folder.path());
    std::set<std::uint64_t> before;
    for (const std::size_t threads : inside) {
        EXPECT_TRUE(running.wait_for_line("inside"));
        EXPECT_TRUE(report_becomes(folder.path(), SeenInside(threads, before)));
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

// A small upload with work before it. Where the thread lost its core in it, it looks as if there had been no room to
// stage it; that is not said to be known.
void is_staged(const Waits& waits, const std::string& function) {
    const auto found = waits.of(function);
    ASSERT_EQ(found.size(), 1u) << waits.text();
    const bool staged = found[0].cause == WaitCause::staging;
    EXPECT_TRUE(staged || found[0].cause == WaitCause::earlier_work) << waits.text();
    EXPECT_EQ(found[0].evidence, staged ? WaitEvidence::order : WaitEvidence::call) << waits.text();
}

// ---- Pageable copies

TEST(Waits, PageableCopiesOfAnIdleStreamAreStaging) {
    const Waits waits = run("staging");
    only(waits, "upload", WaitCause::staging, WaitEvidence::order);
    only(waits, "download", WaitCause::staging, WaitEvidence::order);
}

TEST(Waits, PageLockedCopiesAreNeverStaged) {
    const Waits waits = run("staging_pinned", {}, kAnyCall);
    EXPECT_EQ(waits.calls(WaitCause::staging), 0u) << waits.text();
    EXPECT_EQ(waits.calls(WaitCause::earlier_work), 0u) << waits.text();
}

TEST(Waits, ACallBelowTheThresholdIsNotHeld) {
    const Waits waits = run("staging", {}, "threshold=999999");
    EXPECT_EQ(waits.report.waits.size(), waits.calls(WaitCause::idle_sync) != 0 ? 1u : 0u) << waits.text();
}

TEST(Waits, APageableDownloadWaitsForEarlierWork) {
    const Waits waits = run("earlier_work_download", {1});
    const WaitSlot wait = only(waits, "download", WaitCause::earlier_work, WaitEvidence::order);
    EXPECT_TRUE(waits.is_in(wait.behind_site, "upload")) << waits.text();
    EXPECT_TRUE(waits.stream_of(wait.stream, "new_stream")) << waits.text();
}

TEST(Waits, TheKernelThatACopyWaitedForIsNamedWhereKernelsAreRecorded) {
    const Waits waits = run("earlier_work_download", {1}, "cupti=full");
    const WaitSlot wait = only(waits, "download", WaitCause::earlier_work, WaitEvidence::order);
    const std::string* kernel = waits.report.string(wait.kernel);
    ASSERT_NE(kernel, nullptr) << waits.text();
    EXPECT_EQ(*kernel, "_Z4holdPVi");
    const Waits copies = run("earlier_work_download", {1}, "cupti=copies");
    EXPECT_EQ(only(copies, "download", WaitCause::earlier_work, WaitEvidence::order).kernel, 0u);
}

TEST(Waits, ALargePageableUploadWaitsForEarlierWork) {
    const Waits waits = run("earlier_work_upload", {1});
    const WaitSlot wait = only(waits, "upload", WaitCause::earlier_work, WaitEvidence::order);
    EXPECT_TRUE(waits.stream_of(wait.stream, "new_stream")) << waits.text();
}

TEST(Waits, ASmallPageableUploadDoesNot) {
    const Waits waits = run("small_upload_behind_work", {}, kAnyCall);
    is_staged(waits, "upload");
}

TEST(Waits, ASmallPageableUploadWaitsWhenThereIsNoRoomToStageIt) {
    const Waits waits = run("staging_full", {1});
    const auto found = waits.of("upload");
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const WaitSlot& wait) {
        return wait.cause == WaitCause::earlier_work && wait.evidence == WaitEvidence::call && wait.calls >= 1;
    })) << waits.text();
}

TEST(Waits, A4_EachThreadsSmallDownloadsAreWaits) {
    const Waits waits = run("A4", {8});
    const auto found = waits.of("download_to_stack");
    std::set<std::uint32_t> threads;
    for (const WaitSlot& wait : found) {
        threads.insert(wait.thread);
        EXPECT_EQ(wait.cause, WaitCause::earlier_work);
        EXPECT_EQ(wait.evidence, WaitEvidence::order);
        EXPECT_EQ(wait.calls, 1u);
    }
    EXPECT_EQ(threads.size(), 8u) << waits.text();
}

TEST(Waits, S2_AStagedUploadDoesNotWaitForTheHostFunctionBeforeIt) {
    const Waits waits = run("S2", {}, kAnyCall);
    EXPECT_EQ(waits.out, "the old data was uploaded\n");
    is_staged(waits, "upload");
}

// ---- Releases

TEST(Waits, E1_ReleasesWaitForAnotherStream) {
    const Waits waits = run("E1", {1, 1, 1});
    for (const char* function : {"release_pinned", "release_device", "unregister"}) {
        const WaitSlot wait = only(waits, function, WaitCause::device_wide, WaitEvidence::order);
        EXPECT_TRUE(waits.stream_of(wait.stream, "new_stream")) << function << "\n" << waits.text();
    }
}

TEST(Waits, E1_ReleasesOfAnIdleDeviceWaitForNothing) {
    const Waits waits = run("releases_idle", {}, kAnyCall);
    EXPECT_EQ(waits.calls(WaitCause::device_wide), 0u) << waits.text();
    only(waits, "release_pinned", WaitCause::pinning, WaitEvidence::order);
    only(waits, "unregister", WaitCause::pinning, WaitEvidence::order);
}

// ---- Queues and loading

TEST(Waits, Q1_ALaunchWaitsForAFullQueue) {
    const Waits waits = run("Q1", {1});
    const auto found = waits.of("launch_work");
    const auto full = std::find_if(found.begin(), found.end(),
                                   [](const WaitSlot& wait) { return wait.cause == WaitCause::queue_full; });
    ASSERT_NE(full, found.end()) << waits.text();
    EXPECT_EQ(full->evidence, WaitEvidence::order);
    EXPECT_GE(full->items, 1021u);
    EXPECT_LE(full->items, 1501u);
    EXPECT_TRUE(waits.stream_of(full->stream, "new_stream")) << waits.text();
    const SiteRecord& site = waits.report.sites.at(full->site).record;
    EXPECT_EQ(site.kind, SiteKind::launch);
}

TEST(Waits, Q1_FewerLaunchesFillNoQueue) {
    const Waits waits = run("queue_not_full", {}, kAnyCall);
    EXPECT_EQ(waits.calls(WaitCause::queue_full), 0u) << waits.text();
}

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

// ---- The legacy default stream

TEST(Waits, E3_ACopyInTheLegacyStreamWaitsForTheUsersStream) {
    const Waits waits = run("E3_legacy", {1});
    const WaitSlot wait = only(waits, "library_download", WaitCause::legacy_stream, WaitEvidence::order);
    EXPECT_TRUE(waits.stream_of(wait.stream, "new_blocking_stream")) << waits.text();
}

TEST(Waits, E3_ANonBlockingStreamDoesNotHoldIt) {
    const Waits waits = run("legacy_non_blocking", {}, kAnyCall);
    only(waits, "library_download", WaitCause::staging, WaitEvidence::order);
}

TEST(Waits, AWaitForTheLegacyStreamIsOneForTheBlockingStreams) {
    const Waits waits = run("legacy_wait", {1});
    const WaitSlot wait = only(waits, "wait_for", WaitCause::legacy_stream, WaitEvidence::order);
    EXPECT_TRUE(waits.stream_of(wait.stream, "new_blocking_stream")) << waits.text();
}

// ---- Copies that wait whatever is page-locked

TEST(Waits, ACopyOfManagedMemoryWaits) {
    only(run("managed", {1}), "upload", WaitCause::managed, WaitEvidence::order);
}

TEST(Waits, ASynchronousCopyIsOne) {
    only(run("synchronous_copy", {1}), "synchronous_download", WaitCause::synchronous_copy, WaitEvidence::order);
}

TEST(Waits, E4_ACopyBetweenHostBuffersWaitsForTheDevice) {
    only(run("E4", {1}), "copy_on_host", WaitCause::host_to_host, WaitEvidence::order);
}

// ---- Waits

TEST(Waits, E3_WaitsForAnIdleStreamAreCountedHoweverShort) {
    const Waits waits = run("E3_idle", {}, "threshold=999999");
    const auto found = waits.of("wait_for");
    ASSERT_EQ(found.size(), 1u) << waits.text();
    EXPECT_EQ(found[0].cause, WaitCause::idle_sync);
    EXPECT_EQ(found[0].evidence, WaitEvidence::order);
    EXPECT_EQ(found[0].calls, 100u);
    EXPECT_TRUE(waits.stream_of(found[0].stream, "new_stream")) << waits.text();
}

TEST(Waits, AWaitForWorkIsWhatTheProgramAskedFor) {
    only(run("requested_wait", {1}), "wait_for", WaitCause::requested, WaitEvidence::order);
}

TEST(Waits, NeededWaitsAndQueriesAreNotIdle) {
    const Waits waits = run("needed_waits");
    EXPECT_EQ(waits.calls(WaitCause::idle_sync), 0u) << waits.text();
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
    const Waits waits = run("beside_release", {1, 2});
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

// ---- What a wait delays, and sizes

TEST(Waits, WorkThatThePausedThreadIssuesNextWasDelayed) {
    const Waits waits = run("delays", {1});
    const WaitSlot wait = only(waits, "download", WaitCause::earlier_work, WaitEvidence::order);
    std::set<std::uint64_t> handles;
    for (const std::uint32_t id : wait.delayed_streams) {
        if (id != 0) {
            ASSERT_TRUE(waits.report.streams.contains(id));
            EXPECT_NE(id, wait.stream);
            handles.insert(waits.report.streams.at(id).handle);
        }
    }
    EXPECT_EQ(handles.size(), 2u) << waits.text();  // the third stream's copy came after a wait
}

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
