// What copies took by size, and what page-locked memory would save: only what the run itself has shown.
#include <gtest/gtest.h>

#include "analyzer/copy_times.h"
#include "analyzer/saving.h"
#include "waits_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;
using report::WaitCause;

constexpr Direction kUp = Direction::host_to_device;
constexpr Direction kDown = Direction::device_to_host;

CaptureSite copy(Direction direction, MemoryClass memory, std::uint64_t calls, std::uint64_t bytes, std::uint64_t ns) {
    CaptureSite site = site_sample(1, direction, memory, calls, bytes, ns);
    site.sizes = {size_sample(site)};
    return site;
}

// A run in which `site` is pageable and staged, and these others were made.
struct TestRun {
    Capture capture;
    explicit TestRun(CaptureSite site, std::vector<CaptureSite> others = {}) {
        if (site.waits.empty()) {
            site.waits = {wait_sample(WaitCause::staging, site.calls, site.host_ns / site.calls)};
        }
        capture.sites = {std::move(site)};
        for (CaptureSite& other : others) {
            other.id = static_cast<std::uint32_t>(capture.sites.size() + 1);
            capture.sites.push_back(std::move(other));
        }
    }
    Saving saving(bool waited_for = false) const {
        return saving_of(capture, copy_times(capture), capture.sites[0], waited_for);
    }
};

CaptureSite batch() {
    return copy(kUp, MemoryClass::pageable, 6'000, 3 << 20, 900'000);
}

TEST(Saving, is_the_calls_time_without_that_of_page_locked_calls) {
    const TestRun run(batch(), {copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000)});
    const Saving saving = run.saving();
    EXPECT_EQ(saving.state, Saving::State::given);
    EXPECT_EQ(saving.pinned_call_ns, 16'384u) << "what half of the calls stayed below, from their histogram";
    EXPECT_EQ(saving.ns, 6'000ULL * (900'000 - 16'384));
    EXPECT_NE(saving.text.find("before it is written again"), std::string::npos) << saving.text;
}

TEST(Saving, needs_page_locked_copies_of_that_direction_and_about_that_size) {
    EXPECT_EQ(TestRun(batch()).saving().state, Saving::State::withheld);
    EXPECT_EQ(TestRun(batch(), {copy(kDown, MemoryClass::pinned, 100, 3 << 20, 10'000)}).saving().state,
              Saving::State::withheld);
    EXPECT_EQ(TestRun(batch(), {copy(kUp, MemoryClass::pinned, 100, 64 << 20, 10'000)}).saving().state,
              Saving::State::withheld)
        << "three classes away";
    EXPECT_EQ(TestRun(batch(), {copy(kUp, MemoryClass::registered, 100, 16 << 20, 10'000)}).saving().state,
              Saving::State::given);
    CaptureSite synchronous = copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000);
    synchronous.flags = 0;
    EXPECT_EQ(TestRun(batch(), {synchronous}).saving().state, Saving::State::withheld)
        << "a synchronous call does not tell what an asynchronous one takes";
}

TEST(Saving, takes_the_nearest_size) {
    const TestRun run(batch(), {copy(kUp, MemoryClass::pinned, 100, 16 << 20, 100'000),
                                copy(kUp, MemoryClass::pinned, 100, 1 << 20, 5'000)});
    EXPECT_EQ(run.saving().pinned_call_ns, 8'192u);
    EXPECT_EQ(run.saving().pinned_size, 1u << 20);
}

TEST(Saving, is_not_promised_of_waits_for_earlier_work) {
    CaptureSite site = batch();
    site.waits = {wait_sample(WaitCause::earlier_work, 6'000, 800'000)};
    const TestRun run(site, {copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000)});
    EXPECT_EQ(run.saving().state, Saving::State::withheld);
    EXPECT_NE(run.saving().text.find("moves to where the result is needed"), std::string::npos);
    site.waits = {wait_sample(WaitCause::earlier_work, 6'000, 100'000)};
    const TestRun part(site, {copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000)});
    EXPECT_EQ(part.saving().ns, 6'000ULL * (900'000 - 100'000 - 16'384)) << "less the part that only moves";
}

TEST(Saving, of_copies_that_are_waited_for_is_less_by_the_copys_time) {
    CaptureSite pinned = copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000);
    EXPECT_EQ(TestRun(batch(), {pinned}).saving(true).state, Saving::State::withheld) << "how long is not known";
    pinned.transfers = {transfer_sample(pinned, 60'000, 80'000)};
    pinned.transfers[0].before_ns = 100 * 10'000;
    EXPECT_EQ(TestRun(batch(), {pinned}).saving(true).ns, 6'000ULL * (900'000 - 70'000));
}

TEST(Saving, of_downloads_counts_the_copys_time_too) {
    const CaptureSite site = copy(kDown, MemoryClass::pageable, 6'000, 3 << 20, 900'000);
    CaptureSite pinned = copy(kDown, MemoryClass::pinned, 100, 3 << 20, 10'000);
    EXPECT_EQ(TestRun(site, {pinned}).saving().state, Saving::State::withheld);
    CaptureSite synchronous = copy(kDown, MemoryClass::pinned, 100, 3 << 20, 75'000);
    synchronous.flags = 0;
    const Saving saving = TestRun(site, {pinned, synchronous}).saving();
    EXPECT_EQ(saving.ns, 6'000ULL * (900'000 - 75'000)) << "as long as a synchronous one takes";
    EXPECT_NE(saving.text.find("before it is read"), std::string::npos) << saving.text;
}

// F6: advice only where the gain beats the cost of page-locking.
TEST(Saving, f6_must_be_more_than_page_locking_costs) {
    const CaptureSite few = copy(kUp, MemoryClass::pageable, 4, 8, 9'000);
    const CaptureSite pinned = copy(kUp, MemoryClass::pinned, 100, 8, 1'500);
    EXPECT_EQ(TestRun(few, {pinned}).saving().state, Saving::State::not_worth) << "28 us against 50 us";
    const CaptureSite many = copy(kUp, MemoryClass::pageable, 100'000, 8, 9'000);
    EXPECT_EQ(TestRun(many, {pinned}).saving().state, Saving::State::given);
    // As fast as page-locked ones: nothing to gain, however many.
    const CaptureSite fast = copy(kUp, MemoryClass::pageable, 100'000, 8, 1'900);
    EXPECT_EQ(TestRun(fast, {pinned}).saving().state, Saving::State::not_worth);
    // What this run has measured counts more than what another machine did: 1 s a call.
    CaptureSite allocate = call_sample(0, report::SiteKind::allocate, "cudaMallocHost", 2, kSecond, 5);
    allocate.bytes = 16;
    allocate.bytes_min = allocate.bytes_max = 8;
    allocate.sizes = {size_sample(allocate)};
    EXPECT_EQ(TestRun(many, {pinned, allocate}).saving().state, Saving::State::not_worth);
    // Each thread needs a buffer of its own.
    CaptureSite threads = copy(kUp, MemoryClass::pageable, 16, 8, 9'000);
    EXPECT_EQ(TestRun(threads, {pinned}).saving().state, Saving::State::given);
    threads.threads = 4;
    EXPECT_EQ(TestRun(threads, {pinned}).saving().state, Saving::State::not_worth);
}

// Without the order of work, staging cannot be told from waiting.
TEST(Saving, is_not_promised_of_what_may_have_been_waiting_for_earlier_work) {
    CaptureSite site = batch();
    const CaptureSite pinned = copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000);
    site.waits = {wait_sample(WaitCause::staging, 6'000, 900'000, report::WaitEvidence::call)};
    EXPECT_EQ(TestRun(site, {pinned}).saving().state, Saving::State::withheld);
    site.waits = {wait_sample(WaitCause::staging, 5'000, 900'000),
                  wait_sample(WaitCause::staging, 1'000, 900'000, report::WaitEvidence::call)};
    EXPECT_EQ(TestRun(site, {pinned}).saving().ns, 6'000ULL * (900'000 - 16'384) - 1'000ULL * 900'000)
        << "less the part that may only move";
    // Small uploads are staged.
    CaptureSite small = copy(kUp, MemoryClass::pageable, 6'000, 1 << 20, 300'000);
    small.waits = {wait_sample(WaitCause::staging, 6'000, 300'000, report::WaitEvidence::call)};
    EXPECT_EQ(TestRun(small, {pinned}).saving().state, Saving::State::given);
}

TEST(Saving, is_not_promised_of_waits_for_the_legacy_default_stream) {
    CaptureSite site = batch();
    site.waits = {wait_sample(WaitCause::legacy_stream, 6'000, 800'000)};
    const TestRun run(site, {copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000)});
    EXPECT_EQ(run.saving().state, Saving::State::withheld);
}

TEST(Saving, is_not_estimated_where_waits_were_not_recorded) {
    TestRun run(batch(), {copy(kUp, MemoryClass::pinned, 100, 3 << 20, 10'000)});
    run.capture.sites[0].waits.clear();
    EXPECT_EQ(run.saving().state, Saving::State::withheld);
}

TEST(CopyTimes, come_from_the_device_or_from_synchronous_copies) {
    Capture capture;
    CaptureSite blocking = copy(kUp, MemoryClass::pageable, 10, 1 << 20, 300'000);
    blocking.flags = 0;
    capture.sites = {blocking, copy(kUp, MemoryClass::pinned, 10, 1 << 20, 5'000)};
    CopyTimesTable table = copy_times(capture);
    const std::uint16_t mib = report::size_class(1 << 20);
    EXPECT_FALSE((table[{kUp, false, mib}].by_device));
    EXPECT_EQ((table[{kUp, false, mib}].copy_ns()), 300'000u);
    EXPECT_NEAR((table[{kUp, false, mib}].gigabytes_per_second()), 3.5, 0.01);
    EXPECT_EQ((table[{kUp, true, mib}].copy_ns()), 0u) << "an asynchronous call's time is not the copy's";
    capture.sites[0].transfers = {transfer_sample(capture.sites[0], 200'000, 310'000)};
    table = copy_times(capture);
    EXPECT_TRUE((table[{kUp, false, mib}].by_device));
    EXPECT_EQ((table[{kUp, false, mib}].copy_ns()), 310'000u);
}

TEST(CopyTimes, leave_out_queues_and_waits) {
    Capture capture;
    CaptureSite pinned = copy(kUp, MemoryClass::pinned, 10, 1 << 20, 5'000);
    pinned.transfers = {transfer_sample(pinned, 19'000, 30 * kMs)};  // behind a kernel
    pinned.transfers[0].before_ns = 10 * 5'000;
    CaptureSite pageable = copy(kDown, MemoryClass::pageable, 10, 1 << 20, 31 * kMs);
    pageable.transfers = {transfer_sample(pageable, 100'000, 31 * kMs)};
    pageable.transfers[0].before_ns = 10 * 30 * kMs;
    pageable.waits = {wait_sample(WaitCause::earlier_work, 10, 30 * kMs)};
    capture.sites = {pinned, pageable};
    CopyTimesTable table = copy_times(capture);
    const std::uint16_t mib = report::size_class(1 << 20);
    EXPECT_EQ((table[{kUp, true, mib}].copy_ns()), 24'000u);
    EXPECT_EQ((table[{kDown, false, mib}].copy_ns()), kMs);
}

TEST(CopyTimes, do_not_count_what_graphs_copy_or_what_failed) {
    Capture capture;
    CaptureSite graph = copy(kUp, MemoryClass::pinned, 10, 1 << 20, 5'000);
    graph.flags |= report::kSiteInGraph;
    CaptureSite failed = copy(kUp, MemoryClass::pageable, 10, 1 << 20, 5'000);
    failed.sizes[0].failed = 10;
    capture.sites = {graph, failed};
    for (const auto& [key, times] : copy_times(capture)) {
        EXPECT_EQ(times.calls, 0u);
    }
}

}  // namespace
}  // namespace pincheck::test
