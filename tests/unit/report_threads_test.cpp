// Eight threads fill an image while snapshots are taken and read; built once more with the thread sanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

constexpr int kThreads = 8;
constexpr int kSites = 200;
constexpr int kCallsPerSite = 200;

// One thread's work: its own sites and counters, its own ranges that come and go, losses.
void work(Image& image, std::uint32_t number) {
    ThreadSlot* thread = image.new_thread();
    store(thread->thread, number);
    CounterSlot* last = nullptr;
    for (int i = 0; i < kSites; ++i) {
        SiteRecord site{};
        site.api = image.add_string("cudaMemcpyAsync");
        const Frame frame{0, 0, std::uint64_t{number} << 32 | static_cast<std::uint32_t>(i)};
        site.stack = image.add_stack({&frame, 1}, StackOrigin::unwound, false);
        const std::uint32_t id = image.add_site(site, {&frame, 1});
        last = image.new_counter(last);
        store(last->site, id);
        store(last->thread, number);
        RangeSlot* range = image.new_range();
        store(range->site, id);
        store(range->address, frame.offset);
        for (int call = 0; call < kCallsPerSite; ++call) {
            store(thread->in_call_api, site.api);
            store(last->bytes, last->bytes + 64);
            store(last->histogram[3], last->histogram[3] + 1);
            store(thread->in_call_api, std::uint32_t{0});
        }
        if (i % 4 != 0) {
            image.free_range(range);
        }
        image.lose(Loss::not_classified, 1, 0, 1);
    }
    store(thread->state, SlotState::ended);
}

TEST(Threads, fill_an_image_while_it_is_written_and_read) {
    const ImageOwner image = make_image();
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::running).written);
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (std::uint32_t number = 1; number <= kThreads; ++number) {
        threads.emplace_back([&, number] {
            work(*image, number);
            --running;
        });
    }
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop) {
            const ReadResult live = read_report(file.path());
            EXPECT_EQ(live.error, ReadError::none) << live.message;
            EXPECT_TRUE(live.report.problems.empty()) << live.report.problems[0];
        }
    });
    std::uint64_t now = 2;
    while (running > 0) {
        EXPECT_TRUE(image->snapshot(file.descriptor(), now++, FileState::running).written);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_TRUE(image->snapshot(file.descriptor(), now, FileState::ended).written);
    stop = true;
    reader.join();

    const Report report = read_report(file.path()).report;
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(report.sites.size(), std::size_t{kThreads * kSites});
    EXPECT_EQ(report.ranges.size(), std::size_t{kThreads * kSites / 4});
    EXPECT_EQ(report.threads.size(), std::size_t{kThreads});
    std::uint64_t calls = 0;
    for (const CounterSlot& counter : report.counters) {
        calls = std::accumulate(std::begin(counter.histogram), std::end(counter.histogram), calls);
        // The key frame tells whose site it is: no slot was shared.
        EXPECT_EQ(report.sites.at(counter.site).key[0].offset >> 32, counter.thread);
    }
    EXPECT_EQ(calls, std::uint64_t{kThreads} * kSites * kCallsPerSite);
    ASSERT_EQ(report.losses.size(), 1u);
    EXPECT_EQ(report.losses[0].count, std::uint64_t{kThreads * kSites});
}

}  // namespace
}  // namespace pincheck::report::test
