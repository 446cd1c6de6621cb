// One watch at a time: what counts as a write, where it was, and what is said of memory that went away.
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "write_watch_fixture.h"

namespace pincheck {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, WriteWatchOnMemory, testing::Values(Kind::shared, Kind::anonymous, Kind::huge),
                         [](const auto& parameter) {
                             return parameter.param == Kind::shared      ? "shared"
                                    : parameter.param == Kind::anonymous ? "anonymous"
                                                                         : "huge";
                         });

TEST_P(WriteWatchOnMemory, aSourceThatNobodyWritesIsClean) {
    const WatchTicket ticket = armed(source(slab.at(), slab.bytes()));
    volatile unsigned char sum = 0;
    for (std::size_t i = 0; i < slab.bytes(); i += kPage) {
        sum = static_cast<unsigned char>(sum + slab[i]);
    }
    expect_clean(watch.retire(ticket, 0));
    EXPECT_EQ(watch.stats().watches, 0u);
}

TEST_P(WriteWatchOnMemory, aWriteIntoOnePageOfManyIsFoundThere) {
    const WatchTicket ticket = armed(source(slab.at(), slab.bytes()));
    slab.write(500 * kPage + 17);
    const WatchFinding finding = watch.retire(ticket, 0);
    expect_written(finding, 500 * kPage, 501 * kPage);
    EXPECT_EQ(finding.written_pages, 1u);
    EXPECT_EQ(finding.written_bytes, kPage);
    EXPECT_EQ(finding.faulted_pages, 1u);
}

TEST_P(WriteWatchOnMemory, aSourceOfOnePageIsWatched) {
    const WatchTicket ticket = armed(source(slab.at(3 * kPage), kPage));
    slab.write(2 * kPage + 5);
    slab.write(4 * kPage);
    expect_clean(watch.check(ticket, 0));
    slab.write(4 * kPage - 1);
    expect_written(watch.retire(ticket, 0), 0, kPage);
}

TEST_P(WriteWatchOnMemory, aWriteOfTheSameValueIntoAPageOfItsOwnIsAWrite) {
    const WatchTicket ticket = armed(source(slab.at(kPage), kPage));
    slab.write(kPage, 1);
    EXPECT_TRUE(watch.retire(ticket, 0).written());
}

TEST_P(WriteWatchOnMemory, neighbouringWritesAreOneRangeAndTheLowestIsTold) {
    const WatchTicket ticket = armed(source(slab.at(), slab.bytes()));
    slab.write(700 * kPage);
    std::memset(slab.data() + 10 * kPage, 3, 5 * kPage);
    const WatchFinding finding = watch.retire(ticket, 0);
    expect_written(finding, 10 * kPage, 15 * kPage);
    EXPECT_EQ(finding.written_pages, 6u);
    EXPECT_TRUE(finding.exact);
}

TEST_P(WriteWatchOnMemory, writesIntoEveryOtherPageAreAllCounted) {
    const WatchTicket ticket = armed(source(slab.at(), slab.bytes()));
    for (std::size_t page = 1; page < 1024; page += 2) {
        slab.write(page * kPage);
    }
    const WatchFinding finding = watch.retire(ticket, 0);
    expect_written(finding, kPage, 2 * kPage);
    EXPECT_EQ(finding.written_pages, 512u);
}

TEST_P(WriteWatchOnMemory, aNeighboursWriteIntoASharedPageIsNoneIntoTheSource) {
    const WatchTicket ticket = armed(source(slab.at(kPage + 256), 3 * kPage));
    slab.write(kPage + 255);
    slab.write(4 * kPage + 256);
    expect_clean(watch.retire(ticket, 0));
}

TEST_P(WriteWatchOnMemory, aWriteIntoTheEdgeOfASourceIsFoundToTheByte) {
    const std::size_t start = kPage + 256;
    WatchTicket ticket = armed(source(slab.at(start), 3 * kPage));
    slab.write(start + 3);
    expect_written(watch.retire(ticket, 0), 3, 4);
    ticket = armed(source(slab.at(start), 3 * kPage));
    slab.write(start + 3 * kPage - 1);
    expect_written(watch.retire(ticket, 0), 3 * kPage - 1, 3 * kPage);
    ticket = armed(source(slab.at(start), 3 * kPage));
    slab.write(2 * kPage);
    const WatchFinding finding = watch.retire(ticket, 0);
    expect_written(finding, kPage - 256, 2 * kPage - 256);
    EXPECT_EQ(finding.written_pages, 1u);
}

TEST_P(WriteWatchOnMemory, tenFloatsWithinAPageAreWatched) {
    const std::size_t start = 5 * kPage + 1000;
    WatchTicket ticket = armed(source(slab.at(start), 40));
    slab.write(start - 1);
    slab.write(start + 40);
    expect_clean(watch.retire(ticket, 0));
    ticket = armed(source(slab.at(start), 40));
    slab.write(start + 39);
    expect_written(watch.retire(ticket, 0), 39, 40);
}

TEST_P(WriteWatchOnMemory, theHeadOfAnAlignedPageIsWatchedAsAnEdge) {
    const WatchTicket ticket = armed(source(slab.at(kPage), 100));
    slab.write(kPage + 100);
    expect_clean(watch.check(ticket, 0));
    slab.write(kPage + 99);
    expect_written(watch.retire(ticket, 0), 99, 100);
}

TEST_P(WriteWatchOnMemory, ofADestinationOnlyWholePagesAreWatched) {
    const Armed result = watch.arm(destination(slab.at(kPage + 100), 3 * kPage));
    ASSERT_TRUE(result);
    EXPECT_EQ(result.why, Unwatched::shared_page);
    EXPECT_EQ(result.unwatched_bytes, kPage);
    slab.write(kPage + 100);
    slab.write(4 * kPage + 50);
    expect_clean(watch.check(result.ticket, 0));
    slab.write(3 * kPage + 9);
    const WatchFinding finding = watch.retire(result.ticket, 0);
    expect_written(finding, 2 * kPage - 100, 3 * kPage - 100);
    EXPECT_EQ(finding.unwatched_bytes, kPage);
}

TEST_P(WriteWatchOnMemory, aDestinationWithoutAWholePageIsNotWatched) {
    const Armed result = watch.arm(destination(slab.at(kPage + 1), 2 * kPage - 2));
    EXPECT_FALSE(result);
    EXPECT_EQ(result.why, Unwatched::shared_page);
    EXPECT_EQ(watch.stats().unwatched_bytes, 2 * kPage - 2);
}

TEST_P(WriteWatchOnMemory, readIntoTheSourceIsFound) {
    const WatchTicket ticket = armed(source(slab.at(), 8 * kPage));
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(read(zero, slab.data() + 2 * kPage + 1, 10), 10);
    close(zero);
    expect_written(watch.retire(ticket, 0), 2 * kPage, 3 * kPage);
}

TEST_P(WriteWatchOnMemory, aWriteOfAnotherThreadIsFound) {
    const WatchTicket ticket = armed(source(slab.at(), 8 * kPage));
    std::thread([&] { slab.write(7 * kPage); }).join();
    expect_written(watch.retire(ticket, 0), 7 * kPage, 8 * kPage);
}

TEST_P(WriteWatchOnMemory, writesBeforeAndAfterTheWatchAreNone) {
    slab.write(0);
    WatchTicket ticket = armed(source(slab.at(), 2 * kPage));
    expect_clean(watch.retire(ticket, 0));
    slab.write(0);
    slab.write(kPage);
    ticket = armed(source(slab.at(), 2 * kPage));
    expect_clean(watch.retire(ticket, 0));
}

// Bit 57 of a page's entry (pagemap.rst).
bool is_protected(std::uintptr_t address) {
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    std::uint64_t entry = 0;
    EXPECT_EQ(pread(pagemap, &entry, sizeof(entry), static_cast<off_t>(address / kPage * sizeof(entry))), 8);
    close(pagemap);
    return (entry >> 57 & 1) != 0;
}

TEST_P(WriteWatchOnMemory, afterTheWatchTheProgramsWritesFaultNoMore) {
    const WatchTicket large = armed(source(slab.at(100), 16 * kPage));
    const WatchTicket small = armed(source(slab.at(4 * kPage), 2 * kPage));
    EXPECT_TRUE(is_protected(slab.at(5 * kPage)));
    watch.retire(large, 0);
    EXPECT_FALSE(is_protected(slab.at()));
    EXPECT_FALSE(is_protected(slab.at(3 * kPage)));
    EXPECT_TRUE(is_protected(slab.at(5 * kPage)));
    EXPECT_FALSE(is_protected(slab.at(6 * kPage)));
    EXPECT_FALSE(is_protected(slab.at(16 * kPage)));
    watch.retire(small, 0);
    EXPECT_FALSE(is_protected(slab.at(5 * kPage)));
}

TEST_P(WriteWatchOnMemory, aCheckTellsWhatWasFoundAndGoesOnWatching) {
    const WatchTicket ticket = armed(source(slab.at(), 8 * kPage));
    slab.write(5 * kPage);
    expect_written(watch.check(ticket, 0), 5 * kPage, 6 * kPage);
    slab.write(4 * kPage);
    slab.write(5 * kPage + 9);
    const WatchFinding finding = watch.retire(ticket, 0);
    expect_written(finding, 4 * kPage, 6 * kPage);
    EXPECT_EQ(finding.written_pages, 2u);
}

TEST_P(WriteWatchOnMemory, theMarksSayBetweenWhichCallsTheWriteHappened) {
    const WatchTicket ticket = armed(source(slab.at(), 8 * kPage, 100));
    watch.check(ticket, 101);
    watch.check(ticket, 102);
    slab.write(0);
    WatchFinding finding = watch.check(ticket, 103);
    EXPECT_EQ(finding.before_mark, 102u);
    EXPECT_EQ(finding.found_mark, 103u);
    slab.write(kPage);
    finding = watch.retire(ticket, 104);
    EXPECT_EQ(finding.before_mark, 102u);
    EXPECT_EQ(finding.found_mark, 103u);
}

TEST_P(WriteWatchOnMemory, aTicketIsGoodForOneRetirement) {
    const WatchTicket ticket = armed(source(slab.at(), kPage));
    watch.retire(ticket, 0);
    EXPECT_EQ(watch.retire(ticket, 0).end, WatchEnd::unknown);
    const WatchTicket next = armed(source(slab.at(), kPage));
    EXPECT_EQ(watch.check(ticket, 0).end, WatchEnd::unknown);
    EXPECT_EQ(watch.retire(WatchTicket{}, 0).end, WatchEnd::unknown);
    expect_clean(watch.retire(next, 0));
}

TEST_P(WriteWatchOnMemory, memoryThatIsUnmappedInFlightIsSaidToBeGone) {
    const WatchTicket ticket = armed(source(slab.at(), 16 * kPage + 9));
    munmap(slab.data() + 4 * kPage, kPage);
    EXPECT_EQ(watch.retire(ticket, 0).end, WatchEnd::mapping_gone);
    // The rest is watched as before.
    const WatchTicket other = armed(source(slab.at(20 * kPage), kPage));
    slab.write(20 * kPage);
    expect_written(watch.retire(other, 0), 0, kPage);
}

TEST_P(WriteWatchOnMemory, memoryThatIsUnmappedAsAWholeInFlightIsSaidToBeGone) {
    const WatchTicket whole = armed(source(slab.at(), 2 * kPage));
    const WatchTicket edges = armed(source(slab.at(2 * kPage + 5), 90));
    munmap(slab.data(), 8 * kPage);
    EXPECT_EQ(watch.retire(whole, 0).end, WatchEnd::mapping_gone);
    EXPECT_EQ(watch.retire(edges, 0).end, WatchEnd::mapping_gone);
    EXPECT_EQ(watch.stats().mapping_gone, 2u);
}

TEST_P(WriteWatchOnMemory, anotherMappingInThePlaceIsNotTakenForAWrite) {
    const WatchTicket ticket = armed(source(slab.at(), 4 * kPage));
    ASSERT_NE(mmap(slab.data(), 4 * kPage, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
              MAP_FAILED);
    slab.write(0);
    const WatchFinding finding = watch.retire(ticket, 0);
    EXPECT_EQ(finding.end, WatchEnd::mapping_gone);
    EXPECT_FALSE(finding.written());
    EXPECT_EQ(watch.arm(source(slab.at(), 4 * kPage)).why, Unwatched::mapping_gone);
}

TEST_P(WriteWatchOnMemory, memoryThatIsReleasedInFlightEndsItsWatches) {
    const WatchTicket clean = armed(source(slab.at(), 2 * kPage, 1));
    const WatchTicket written = armed(source(slab.at(8 * kPage), 2 * kPage, 2));
    slab.write(9 * kPage);
    EXPECT_EQ(watch.remove_memory(slab.at(), 3), 2u);
    slab.write(0);
    WatchFinding finding = watch.retire(clean, 4);
    EXPECT_EQ(finding.end, WatchEnd::released);
    EXPECT_FALSE(finding.written());
    finding = watch.retire(written, 5);
    EXPECT_EQ(finding.end, WatchEnd::released);
    EXPECT_EQ(finding.begin, kPage);
    EXPECT_EQ(finding.before_mark, 2u);
    EXPECT_EQ(finding.found_mark, 3u);
    EXPECT_EQ(watch.arm(source(slab.at(), kPage)).why, Unwatched::not_added);
}

TEST_P(WriteWatchOnMemory, arangeAddedOverAnotherTakesItsPlace) {
    const WatchTicket ticket = armed(source(slab.at(), kPage));
    EXPECT_EQ(watch.add_memory(slab.at(kPage / 2), 4 * kPage), MemoryState::registered);
    EXPECT_EQ(watch.retire(ticket, 0).end, WatchEnd::mapping_gone);
    const WatchStats stats = watch.stats();
    EXPECT_EQ(stats.ranges_stale, 1u);
    EXPECT_EQ(stats.ranges, 1u);
    EXPECT_EQ(watch.arm(source(slab.at(), kPage)).why, Unwatched::not_added);
    expect_clean(watch.retire(armed(source(slab.at(kPage / 2), 4 * kPage)), 0));
}

TEST_F(WriteWatchTest, memoryThatCannotBeWatchedIsCountedWithItsReason) {
    Slab slab(Kind::shared, 4);
    EXPECT_EQ(watch.arm(source(slab.at(), kPage)).why, Unwatched::not_added);
    watch.add_memory(slab.at(), 2 * kPage);
    EXPECT_EQ(watch.arm(source(slab.at(), 3 * kPage)).why, Unwatched::not_added);
    WatchRequest combined = source(slab.at(), kPage);
    combined.write_combined = true;
    EXPECT_EQ(watch.arm(combined).why, Unwatched::write_combined);
    EXPECT_EQ(watch.arm(source(slab.at(), 0)).why, Unwatched::off);
    EXPECT_EQ(watch.arm(source(UINTPTR_MAX - 10, 100)).why, Unwatched::off);
    EXPECT_EQ(watch.add_memory(UINTPTR_MAX - 10, 100), MemoryState::refused);
    EXPECT_EQ(watch.add_memory(slab.at(kPage * 3), 0), MemoryState::refused);
    const WatchStats stats = watch.stats();
    EXPECT_EQ(stats.unwatched[static_cast<std::size_t>(Unwatched::not_added)], 2u);
    EXPECT_EQ(stats.unwatched[static_cast<std::size_t>(Unwatched::write_combined)], 1u);
    EXPECT_EQ(stats.unwatched_bytes, 5 * kPage);
}

TEST_F(WriteWatchTest, anUnalignedRangeIsWatchedInThePagesThatContainIt) {
    Slab slab(Kind::anonymous, 4);
    ASSERT_EQ(watch.add_memory(slab.at(100), 1000), MemoryState::registered);
    const WatchTicket ticket = armed(source(slab.at(100), 1000));
    slab.write(99);
    slab.write(1100);
    expect_clean(watch.check(ticket, 0));
    slab.write(100);
    expect_written(watch.retire(ticket, 0), 0, 1);
}

TEST_F(WriteWatchTest, aPageThatTwoRangesShareStaysWatchedWhenOneGoes) {
    Slab slab(Kind::anonymous, 4);
    ASSERT_EQ(watch.add_memory(slab.at(), kPage + 100), MemoryState::registered);
    ASSERT_EQ(watch.add_memory(slab.at(kPage + 100), 50), MemoryState::registered);
    ASSERT_EQ(watch.add_memory(slab.at(kPage + 150), 2 * kPage), MemoryState::registered);
    const WatchTicket ticket = armed(source(slab.at(kPage + 150), 2 * kPage));
    EXPECT_EQ(watch.remove_memory(slab.at(), 0), 0u);
    EXPECT_EQ(watch.remove_memory(slab.at(kPage + 100), 0), 0u);
    EXPECT_EQ(watch.remove_memory(slab.at(kPage + 100), 0), 0u);
    slab.write(kPage + 150);
    expect_written(watch.retire(ticket, 0), 0, 1);
    EXPECT_EQ(watch.stats().ranges, 1u);
    EXPECT_EQ(watch.stats().mappings, 2u);
}

TEST_F(WriteWatchTest, hugePagesOfHugetlbfsAreLeftAlone) {
    const std::size_t bytes = 2u << 20;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (memory == MAP_FAILED) {
        GTEST_SKIP() << "no huge pages are reserved here";
    }
    EXPECT_EQ(watch.add_memory(reinterpret_cast<std::uintptr_t>(memory), bytes), MemoryState::refused);
    munmap(memory, bytes);
}

}  // namespace
}  // namespace pincheck
