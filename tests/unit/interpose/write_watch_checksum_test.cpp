// Without the kernel's help: sources are judged by a checksum. Runs everywhere.
#include "write_watch_fixture.h"

namespace pincheck {
namespace {

class WriteWatchChecksum : public testing::Test {
  protected:
    void SetUp() override {
        WatchSettings settings;
        settings.use_kernel = false;
        ASSERT_TRUE(watch.open(settings));
        ASSERT_EQ(watch.refusal(), WatchRefusal::off);
    }
    WriteWatch watch;
    Slab slab{Kind::anonymous, 300};
};

TEST_F(WriteWatchChecksum, aChangedSourceIsFoundAtEverySizeAndPlace) {
    EXPECT_EQ(watch.add_memory(slab.at(), slab.bytes()), MemoryState::plain);
    for (const std::size_t bytes : {1ul, 7ul, 32ul, 40ul, 4096ul, 5000ul, 70'000ul, 1ul << 20}) {
        for (const std::size_t place : {std::size_t{0}, bytes / 2, bytes - 1}) {
            const Armed ticket = watch.arm(source(slab.at(100), bytes, 1));
            ASSERT_TRUE(ticket);
            EXPECT_FALSE(watch.check(ticket.ticket, 2).written());
            slab[100 + place] ^= 0x40;
            slab[99] ^= 1;
            slab[100 + bytes] ^= 1;
            const WatchFinding finding = watch.retire(ticket.ticket, 3);
            expect_written(finding, 0, bytes);
            EXPECT_FALSE(finding.located);
            EXPECT_EQ(finding.before_mark, 2u);
            EXPECT_EQ(finding.found_mark, 3u);
        }
    }
}

TEST_F(WriteWatchChecksum, anUnchangedSourceIsClean) {
    const Armed ticket = watch.arm(source(slab.at(33), 100'000));
    slab[0] = 9;
    expect_clean(watch.retire(ticket.ticket, 0));
    EXPECT_EQ(watch.stats().by_checksum, 1u);
}

TEST_F(WriteWatchChecksum, destinationsAndLargeSourcesAreUnwatched) {
    EXPECT_EQ(watch.arm(destination(slab.at(), kPage)).why, Unwatched::no_help);
    EXPECT_EQ(watch.arm(source(slab.at(), (1u << 20) + 1)).why, Unwatched::too_large);
    WatchRequest combined = source(slab.at(), 10);
    combined.write_combined = true;
    EXPECT_EQ(watch.arm(combined).why, Unwatched::write_combined);
    EXPECT_EQ(watch.stats().unwatched_bytes, kPage + (1u << 20) + 1 + 10);
}

TEST_F(WriteWatchChecksum, memoryThatIsGoneIsSaidToBeGone) {
    const Armed ticket = watch.arm(source(slab.at(), 4 * kPage));
    munmap(slab.data() + kPage, kPage);
    EXPECT_EQ(watch.retire(ticket.ticket, 0).end, WatchEnd::mapping_gone);
    EXPECT_EQ(watch.arm(source(slab.at(), 4 * kPage)).why, Unwatched::mapping_gone);
}

TEST_F(WriteWatchChecksum, memoryThatIsReleasedInFlightEndsItsWatches) {
    watch.add_memory(slab.at(), 8 * kPage);
    const Armed clean = watch.arm(source(slab.at(), kPage));
    const Armed written = watch.arm(source(slab.at(kPage), kPage));
    slab.write(kPage);
    EXPECT_EQ(watch.remove_memory(slab.at(), 0), 2u);
    slab.write(0);
    EXPECT_EQ(watch.check(clean.ticket, 0).end, WatchEnd::released);
    EXPECT_FALSE(watch.retire(clean.ticket, 0).written());
    EXPECT_TRUE(watch.retire(written.ticket, 0).written());
}

TEST(WriteWatchClosed, nothingIsWatchedBeforeOpenAndWithoutChecksums) {
    Slab slab(Kind::anonymous, 2);
    WriteWatch closed;
    EXPECT_EQ(closed.arm(source(slab.at(), kPage)).why, Unwatched::off);
    EXPECT_EQ(closed.retire({1, 1}, 0).end, WatchEnd::unknown);
    EXPECT_EQ(closed.stats().refusal, WatchRefusal::off);
    WriteWatch none;
    WatchSettings settings;
    settings.use_kernel = false;
    settings.use_checksums = false;
    EXPECT_FALSE(none.open(settings));
    EXPECT_EQ(none.arm(source(slab.at(), kPage)).why, Unwatched::no_help);
}

TEST_F(WriteWatchChecksum, rangesPastTheRoomForThemAreCounted) {
    // Never looked at: any addresses will do.
    for (std::uintptr_t i = 0; i < WatchedMemory::kMaxRanges; ++i) {
        ASSERT_EQ(watch.add_memory(kPage + i * 64, 32), MemoryState::plain);
    }
    EXPECT_EQ(watch.add_memory(slab.at(), kPage), MemoryState::refused);
    EXPECT_EQ(watch.stats().ranges_forgotten, 1u);
    watch.remove_memory(kPage, 0);
    EXPECT_EQ(watch.add_memory(slab.at(), kPage), MemoryState::plain);
}

}  // namespace
}  // namespace pincheck
