// What is left of a report when an earlier copy of it is taken away.
#include "analyzer/report_since.h"

#include <gtest/gtest.h>

#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

constexpr std::uint64_t kMarkNs = 50'000;

class Since : public testing::Test {
  protected:
    Report read(std::uint64_t now_ns) {
        EXPECT_TRUE(image->snapshot(file.descriptor(), now_ns, FileState::running).written);
        const ReadResult read = read_report(file.path());
        EXPECT_EQ(read.error, ReadError::none) << read.message;
        return read.report;
    }
    std::uint32_t site() {
        SiteRecord record{};
        record.api = image->add_string("cudaMemcpyAsync");
        record.kind = SiteKind::copy;
        return image->add_site(record, {});
    }
    // Out of line: the compiler would look into the case that there is no room.
    [[gnu::noinline]] CounterSlot& counter(std::uint32_t site, std::uint64_t calls, std::uint64_t each_ns) {
        last = count_calls(*image, last, site, 1, calls, each_ns);
        return *last;
    }
    static void add_calls(CounterSlot& slot, std::uint64_t calls, std::uint64_t each_ns) {
        store(slot.bytes, slot.bytes + calls * 4096);
        store(slot.host_ns, slot.host_ns + calls * each_ns);
        store(slot.host_ns_max, std::max(slot.host_ns_max, each_ns));
        std::uint64_t& bucket = slot.histogram[histogram_bucket(each_ns)];
        store(bucket, bucket + calls);
    }
    Report since() {
        Report report = read(90'000);
        EXPECT_EQ(problem_of_mark(report, mark), "");
        take_away(report, mark);
        return report;
    }

    TempFile file;  // snapshots write what has changed since the last one
    ImageOwner image = make_image();
    CounterSlot* last = nullptr;
    Report mark;
};

TEST_F(Since, NothingIsLeftWhereNothingHappened) {
    fill_sample(*image);
    mark = read(kMarkNs);
    const Report report = since();
    EXPECT_TRUE(report.counters.empty());
    EXPECT_TRUE(report.waits.empty());
    EXPECT_TRUE(report.transfers.empty());
    EXPECT_TRUE(report.races.empty());
    EXPECT_TRUE(report.reads.empty());
    EXPECT_TRUE(report.losses.empty());
    EXPECT_EQ(report.header.start_ns, kMarkNs);
    EXPECT_EQ(report.header.start_realtime_ns, 1'700'000'000'000'000'000 + kMarkNs - 1'000);
    EXPECT_FALSE(report.threads.empty()) << "who is inside a call is still said";
    EXPECT_EQ(report.threads[0].calls, 0u);
}

TEST_F(Since, SumsAreOfTheCallsSince) {
    const std::uint32_t old_site = site();
    CounterSlot& slot = counter(old_site, 10, 20'000);
    store(slot.failed, std::uint64_t{2});
    mark = read(kMarkNs);
    add_calls(slot, 3, 3'000);
    store(slot.failed, std::uint64_t{3});
    const std::uint32_t new_site = site();
    counter(new_site, 4, 40'000);
    const Report report = since();
    ASSERT_EQ(report.counters.size(), 2u);
    const CounterSlot& first = report.counters[0];
    EXPECT_EQ(first.site, old_site);
    EXPECT_EQ(first.bytes, 3u * 4096);
    EXPECT_EQ(first.host_ns, 9'000u);
    EXPECT_EQ(first.failed, 1u);
    EXPECT_EQ(first.histogram[histogram_bucket(3'000)], 3u);
    EXPECT_EQ(first.histogram[histogram_bucket(20'000)], 0u);
    EXPECT_EQ(first.host_ns_max, 4'096u) << "at most what the histogram's bucket allows";
    EXPECT_EQ(first.first_ns, kMarkNs);
    EXPECT_EQ(report.counters[1].site, new_site);
    EXPECT_EQ(report.counters[1].host_ns_max, 40'000u);
}

TEST_F(Since, ALongerCallIsOfTheTimeSince) {
    CounterSlot& slot = counter(site(), 10, 2'000);
    mark = read(kMarkNs);
    add_calls(slot, 1, 77'000);
    const Report report = since();
    ASSERT_EQ(report.counters.size(), 1u);
    EXPECT_EQ(report.counters[0].host_ns_max, 77'000u);
    EXPECT_EQ(report.counters[0].host_ns, 77'000u);
}

// A full slot is followed by another one of the same key.
TEST_F(Since, SlotsOfOneKeyAreTakenTogether) {
    const std::uint32_t place = site();
    counter(place, 10, 2'000);
    CounterSlot& second = counter(place, 20, 2'000);
    mark = read(kMarkNs);
    add_calls(second, 5, 2'000);
    const Report report = since();
    std::uint64_t calls = 0;
    for (const CounterSlot& slot : report.counters) {
        calls += slot.histogram[histogram_bucket(2'000)];
    }
    EXPECT_EQ(calls, 5u);
}

TEST_F(Since, WaitsRacesAndLossesToo) {
    const std::uint32_t place = site();
    WaitSlot* const wait = image->new_wait();
    store(wait->site, place);
    store(wait->thread, std::uint32_t{1});
    store(wait->cause, WaitCause::staging);
    store(wait->calls, std::uint64_t{4});
    store(wait->ns, std::uint64_t{4'000'000});
    store(wait->ns_max, std::uint64_t{3'000'000});
    RaceSlot* const race = image->new_race();
    store(race->rule, RaceRule::unordered_copies);
    store(race->copy_site, place);
    store(race->count, std::uint64_t{2});
    image->lose(Loss::races, 5, 0, 10'000);
    mark = read(kMarkNs);
    store(wait->calls, std::uint64_t{5});
    store(wait->ns, std::uint64_t{4'500'000});
    store(race->count, std::uint64_t{9});
    store(race->corrupting, std::uint64_t{1});
    image->lose(Loss::races, 1, 0, 60'000);
    const Report report = since();
    ASSERT_EQ(report.waits.size(), 1u);
    EXPECT_EQ(report.waits[0].calls, 1u);
    EXPECT_EQ(report.waits[0].ns, 500'000u);
    EXPECT_EQ(report.waits[0].ns_max, 500'000u) << "not the longest before";
    ASSERT_EQ(report.races.size(), 1u);
    EXPECT_EQ(report.races[0].count, 7u);
    EXPECT_EQ(report.races[0].corrupting, 1u);
    ASSERT_EQ(report.losses.size(), 1u);
    EXPECT_EQ(report.losses[0].count, 1u);
}

TEST_F(Since, SitesWithNothingLeftGoButThoseThatAreNamed) {
    const std::uint32_t idle = site();
    const std::uint32_t allocation = site();
    const std::uint32_t busy = site();
    counter(idle, 10, 2'000);
    counter(allocation, 1, 2'000);
    CounterSlot& copies = counter(busy, 1, 2'000);
    store(copies.allocation_site, allocation);
    mark = read(kMarkNs);
    add_calls(copies, 1, 2'000);
    const Report report = since();
    EXPECT_FALSE(report.sites.contains(idle));
    EXPECT_TRUE(report.sites.contains(allocation));
    EXPECT_TRUE(report.sites.contains(busy));
}

TEST_F(Since, AMarkOfAnotherProcessOrOfLaterIsNone) {
    const Report early = read(10'000);
    counter(site(), 1, 2'000);
    const Report late = read(20'000);
    EXPECT_EQ(problem_of_mark(late, early), "");
    EXPECT_EQ(problem_of_mark(early, late), "is later than the report");
    image = ImageOwner(Image::create({}, 4128, 1'000, 1'700'000'000'000'000'000));
    EXPECT_EQ(problem_of_mark(read(20'000), early), "is of another process");
    image = ImageOwner(Image::create({}, 4127, 1'000, 1'700'000'000'000'000'001));
    EXPECT_EQ(problem_of_mark(read(20'000), early), "is of another process") << "a process id is used again";
}

}  // namespace
}  // namespace pincheck::report::test
