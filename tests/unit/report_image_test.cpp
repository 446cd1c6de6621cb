// What goes into an image comes out of a file, and what does not fit is counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "report/crc32c.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

const LossSlot* loss(const Report& report, Loss kind) {
    const auto found = std::ranges::find(report.losses, kind, &LossSlot::kind);
    return found == report.losses.end() ? nullptr : &*found;
}

TEST(Crc32c, has_the_published_check_values) {
    EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
    EXPECT_EQ(crc32c("", 0), 0u);
    const std::vector<std::uint8_t> zeros(32, 0);
    EXPECT_EQ(crc32c(zeros.data(), zeros.size()), 0x8a9136aau);  // RFC 3720, B.4
    const std::vector<std::uint8_t> ones(32, 0xff);
    EXPECT_EQ(crc32c(ones.data(), ones.size()), 0x62a8ab43u);
}

TEST(Crc32c, chains_pieces) {
    const std::string text = "a report is made of records and slots";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        EXPECT_EQ(crc32c(text.data() + cut, text.size() - cut, crc32c(text.data(), cut)),
                  crc32c(text.data(), text.size()));
    }
}

TEST(Image, everything_comes_back_from_the_file) {
    const ImageOwner image = make_image();
    const Sample sample = fill_sample(*image);
    const TempFile file;
    const SnapshotResult written = image->snapshot(file.descriptor(), 10'000, FileState::ended);
    EXPECT_TRUE(written.written);
    EXPECT_EQ(written.error, 0);

    const ReadResult read = read_report(file.path());
    ASSERT_EQ(read.error, ReadError::none) << read.message;
    const Report& report = read.report;
    EXPECT_TRUE(report.problems.empty()) << report.problems[0];
    EXPECT_EQ(report.header.state, FileState::ended);
    EXPECT_EQ(report.header.snapshots, 1u);
    EXPECT_EQ(report.header.snapshot_ns, 10'000u);
    EXPECT_EQ(report.header.start_ns, 1'000u);
    EXPECT_EQ(report.header.start_realtime_ns, 1'700'000'000'000'000'000u);
    EXPECT_EQ(report.header.pid, 4127u);

    ASSERT_TRUE(report.process.has_value());
    EXPECT_EQ(report.process->rank, 3u);
    EXPECT_EQ(report.strings.at(report.process->executable), "/usr/bin/python3");
    EXPECT_EQ(report.strings.at(report.process->command_line),
              std::string_view("python\0train.py\0--epochs\0002\0", 27));
    ASSERT_EQ(report.devices.size(), 1u);
    EXPECT_EQ(report.strings.at(report.devices[0].name), "NVIDIA H200");
    EXPECT_EQ(report.devices[0].async_engines, 3u);
    ASSERT_EQ(report.coverage.size(), 2u);
    EXPECT_EQ(report.coverage[1].kind, CoverageKind::route);
    EXPECT_EQ(report.coverage[1].time_ns, 1'200u);

    ASSERT_EQ(report.modules.size(), 2u);
    EXPECT_EQ(report.modules.at(1).build_id, (std::vector<std::uint8_t>{0xde, 0xad, 0xbe, 0xef, 0x01}));
    EXPECT_TRUE(report.modules.at(2).build_id.empty());
    EXPECT_EQ(report.modules.at(2).record.base, 0x7f0000000000u);
    ASSERT_EQ(report.stacks.size(), 2u);
    ASSERT_EQ(report.stacks.at(1).frames.size(), 3u);
    EXPECT_EQ(report.stacks.at(1).frames[0].module, 2u);
    EXPECT_EQ(report.stacks.at(1).frames[2].offset, 0x7ffe00000010u);
    EXPECT_EQ(report.stacks.at(2).record.cut, 1u);

    ASSERT_EQ(report.sites.size(), 2u);
    const Site& site = report.sites.at(sample.site);
    EXPECT_EQ(site.record.direction, Direction::host_to_device);
    EXPECT_EQ(site.record.source.kind, MemoryClass::pageable);
    EXPECT_EQ(site.record.flags, kSiteAsync | kSiteExactStack);
    ASSERT_EQ(site.key.size(), 2u);
    EXPECT_EQ(site.key[1].offset, 0x20u);

    ASSERT_EQ(report.ranges.size(), 1u) << "the freed one is gone";
    EXPECT_EQ(report.ranges[0].address, 0x7f1000000000u);
    ASSERT_EQ(report.threads.size(), 1u);
    EXPECT_STREQ(report.threads[0].name, "main");
    EXPECT_EQ(report.threads[0].in_call_since_ns, 9'500u);
    ASSERT_EQ(report.losses.size(), 1u);
    EXPECT_EQ(report.losses[0].kind, Loss::write_failed);
    EXPECT_EQ(report.losses[0].count, 3u);
    EXPECT_EQ(report.losses[0].error, 28);
    EXPECT_EQ(report.losses[0].first_ns, 5'000u);
    EXPECT_EQ(report.losses[0].last_ns, 6'000u);
}

TEST(Image, counters_of_threads_sum_up) {
    const ImageOwner image = make_image();
    const Sample sample = fill_sample(*image);
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 10'000, FileState::ended).written);
    const ReadResult read = read_report(file.path());
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::uint64_t host_ns = 0;
    std::set<std::uint32_t> threads;
    for (const CounterSlot& counter : read.report.counters) {
        ASSERT_EQ(counter.site, sample.site);
        calls = std::accumulate(std::begin(counter.histogram), std::end(counter.histogram), calls);
        bytes += counter.bytes;
        host_ns += counter.host_ns;
        threads.insert(counter.thread);
    }
    EXPECT_EQ(calls, 6250u);
    EXPECT_EQ(bytes, 6250u * 4096);
    EXPECT_EQ(host_ns, std::uint64_t{6240} * 3'200'000 + 10 * 900);
    EXPECT_EQ(threads, (std::set<std::uint32_t>{1, 2}));
}

TEST(Image, counter_slots_of_two_threads_share_no_page) {
    const ImageOwner image = make_image();
    std::map<std::uintptr_t, int> owner;
    std::set<CounterSlot*> slots;
    CounterSlot* last[2] = {nullptr, nullptr};
    for (int i = 0; i < 600; ++i) {
        const int thread = i % 3 == 0 ? 1 : 0;
        last[thread] = image->new_counter(last[thread]);
        ASSERT_NE(last[thread], nullptr);
        EXPECT_EQ(last[thread]->state, SlotState::live);
        EXPECT_TRUE(slots.insert(last[thread]).second) << "handed out twice";
        const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(last[thread]) / 4096;
        EXPECT_EQ(owner.try_emplace(page, thread).first->second, thread);
    }
    EXPECT_LE(owner.size(), 600 / 15 + 3u) << "pages are filled";
}

TEST(Image, freed_ranges_are_used_again_and_leave_the_file) {
    const ImageOwner image = make_image();
    const TempFile file;
    std::vector<RangeSlot*> slots;
    for (std::uint64_t i = 0; i < 3000; ++i) {
        RangeSlot* slot = image->new_range();
        ASSERT_NE(slot, nullptr);
        store(slot->address, i + 1);
        slots.push_back(slot);
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::running).written);
    EXPECT_EQ(read_report(file.path()).report.ranges.size(), 3000u);
    const std::uint64_t used = image->bytes_used();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (i % 10 != 0) {
            image->free_range(slots[i]);
            image->free_range(slots[i]);  // twice: no slot may enter the list of free ones twice
        }
    }
    ASSERT_TRUE(image->snapshot(file.descriptor(), 2, FileState::running).written);
    const Report report = read_report(file.path()).report;
    EXPECT_EQ(report.ranges.size(), 300u);
    EXPECT_TRUE(report.problems.empty());
    std::set<RangeSlot*> again;
    for (int i = 0; i < 2700; ++i) {
        RangeSlot* slot = image->new_range();
        EXPECT_EQ(slot->address, 0u) << "handed out zeroed";
        EXPECT_TRUE(again.insert(slot).second);
    }
    EXPECT_EQ(image->bytes_used(), used) << "no new memory";
    image->free_range(nullptr);
}

TEST(Image, sites_over_the_limit_are_dropped_and_counted) {
    ImageLimits limits;
    const ImageOwner image = make_image(limits);
    const Frame key[] = {{0, 0, 1}};
    std::uint64_t dropped = 0;
    for (std::uint32_t i = 0; i < limits.sites + 100'000; ++i) {
        dropped += image->add_site(SiteRecord{}, key) == 0;
    }
    EXPECT_EQ(dropped, 100'000u);
    SiteRecord overflow{};
    overflow.flags = kSiteOverflow;
    EXPECT_NE(image->add_site(overflow, {}), 0u) << "the site that takes what was dropped must have room";
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    const Report report = read_report(file.path()).report;
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(report.sites.size(), limits.sites + 1);
    ASSERT_NE(loss(report, Loss::sites), nullptr);
    EXPECT_EQ(loss(report, Loss::sites)->count, 100'000u);
    EXPECT_EQ(loss(report, Loss::image_full), nullptr);
}

TEST(Image, every_kind_of_drop_is_counted_when_the_image_is_full) {
    ImageLimits limits;
    limits.segments = 1;
    const ImageOwner image = make_image(limits);
    const std::string text(32 * 1024, 'x');
    EXPECT_EQ(image->add_string(text), 1u);
    EXPECT_EQ(image->add_string(text), 0u) << "two do not fit into a segment";
    EXPECT_EQ(image->new_counter(nullptr), nullptr);
    EXPECT_EQ(image->new_thread(), nullptr);
    EXPECT_EQ(image->new_range(), nullptr);
    while (image->add_stack({}, StackOrigin::unwound, false) != 0) {
    }
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    const Report report = read_report(file.path()).report;
    EXPECT_TRUE(report.problems.empty());
    for (const Loss kind : {Loss::strings, Loss::stacks, Loss::ranges}) {
        ASSERT_NE(loss(report, kind), nullptr);
        EXPECT_EQ(loss(report, kind)->count, 1u);
    }
    ASSERT_NE(loss(report, Loss::image_full), nullptr);
    EXPECT_EQ(loss(report, Loss::image_full)->count, 5u);
}

TEST(Image, long_strings_stacks_and_keys_are_cut) {
    const ImageOwner image = make_image();
    image->add_string(std::string(100'000, 'x'));
    const std::vector<Frame> frames(100, Frame{0, 0, 7});
    image->add_stack(frames, StackOrigin::unwound, false);
    image->add_site(SiteRecord{}, frames);
    const TempFile file;
    ASSERT_TRUE(image->snapshot(file.descriptor(), 1, FileState::ended).written);
    const Report report = read_report(file.path()).report;
    EXPECT_EQ(report.strings.at(1).size(), 32u * 1024);
    EXPECT_EQ(report.stacks.at(1).frames.size(), kMaxFrames);
    EXPECT_EQ(report.stacks.at(1).record.cut, 1u);
    EXPECT_EQ(report.sites.at(1).key.size(), kMaxKeyFrames);
}

TEST(Image, keeps_errno) {
    const ImageOwner image = make_image();
    errno = E2BIG;
    fill_sample(*image);
    image->snapshot(-1, 1, FileState::running);
    EXPECT_EQ(errno, E2BIG);
}

TEST(Histogram, buckets_agree_with_their_lower_bounds) {
    EXPECT_EQ(histogram_bucket(0), 0u);
    EXPECT_EQ(histogram_bucket(1023), 0u);
    for (std::uint32_t bucket = 1; bucket < kHistogramBuckets; ++bucket) {
        EXPECT_EQ(histogram_bucket(histogram_lower_bound(bucket)), bucket);
        EXPECT_EQ(histogram_bucket(histogram_lower_bound(bucket) - 1), bucket - 1);
    }
    EXPECT_EQ(histogram_bucket(~std::uint64_t{0}), kHistogramBuckets - 1);
}

}  // namespace
}  // namespace pincheck::report::test
