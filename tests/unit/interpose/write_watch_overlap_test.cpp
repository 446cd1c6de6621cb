// Watches that share pages: the dirty bit is one for all of them.
#include <atomic>
#include <thread>
#include <vector>

#include "write_watch_fixture.h"

namespace pincheck {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, WriteWatchOnMemory, testing::Values(Kind::shared, Kind::anonymous),
                         [](const auto& parameter) {
                             return parameter.param == Kind::shared ? "shared" : "anonymous";
                         });

TEST_P(WriteWatchOnMemory, armingAnotherWatchDoesNotEraseWhatTheFirstHasToKnow) {
    const WatchTicket first = armed(source(slab.at(), 4 * kPage, 1));
    slab.write(2 * kPage);
    const WatchTicket second = armed(source(slab.at(), 4 * kPage, 2));
    const WatchFinding finding = watch.retire(first, 3);
    expect_written(finding, 2 * kPage, 3 * kPage);
    EXPECT_EQ(finding.before_mark, 1u);
    EXPECT_EQ(finding.found_mark, 2u);
    expect_clean(watch.retire(second, 4));
}

TEST_P(WriteWatchOnMemory, retiringAWatchLeavesTheOthersProtected) {
    const WatchTicket whole = armed(source(slab.at(), 8 * kPage));
    const WatchTicket part = armed(source(slab.at(2 * kPage), 2 * kPage));
    expect_clean(watch.retire(part, 0));
    expect_clean(watch.check(whole, 0));
    slab.write(3 * kPage);
    expect_written(watch.retire(whole, 0), 3 * kPage, 4 * kPage);
}

TEST_P(WriteWatchOnMemory, aWriteIsFoundForAllThatWatchThePage) {
    const WatchTicket a = armed(source(slab.at(), 4 * kPage));
    const WatchTicket b = armed(source(slab.at(2 * kPage), 4 * kPage));
    const WatchTicket c = armed(destination(slab.at(3 * kPage), 4 * kPage));
    slab.write(3 * kPage + 1);
    expect_written(watch.retire(a, 0), 3 * kPage, 4 * kPage);
    expect_written(watch.retire(b, 0), kPage, 2 * kPage);
    expect_written(watch.retire(c, 0), 0, kPage);
}

TEST_P(WriteWatchOnMemory, aCopyOfTheSameBufferMayBeInFlightTwice) {
    const WatchTicket first = armed(source(slab.at(64), 4 * kPage));
    const WatchTicket second = armed(source(slab.at(64), 4 * kPage));
    expect_clean(watch.retire(first, 0));
    slab.write(70);
    expect_written(watch.retire(second, 0), 6, 7);
}

TEST_P(WriteWatchOnMemory, theOrderOfRetirementDoesNotMatter) {
    for (const bool newest_first : {false, true}) {
        std::vector<WatchTicket> tickets;
        for (std::size_t i = 0; i < 10; ++i) {
            tickets.push_back(armed(source(slab.at(i * kPage), (20 - 2 * i) * kPage)));
        }
        slab.write(9 * kPage);
        for (std::size_t i = 0; i < 10; ++i) {
            const std::size_t which = newest_first ? 9 - i : i;
            expect_written(watch.retire(tickets[which], 0), (9 - which) * kPage, (10 - which) * kPage);
        }
        EXPECT_EQ(watch.stats().watches, 0u);
    }
}

TEST_P(WriteWatchOnMemory, slicesOfOneSlabAreRefilledEachAfterItsOwnWait) {
    // Four slices a page, all in flight; whichever is complete is refilled while its neighbours still are.
    constexpr std::size_t kSlice = 1024;
    std::vector<WatchTicket> tickets;
    for (std::size_t i = 0; i < 64; ++i) {
        tickets.push_back(armed(source(slab.at(i * kSlice), kSlice)));
    }
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 64; ++i) {
            const std::size_t which = i * 37 % 64;
            expect_clean(watch.retire(tickets[which], 0));
            std::memset(slab.data() + which * kSlice, round + 2, kSlice);
            tickets[which] = armed(source(slab.at(which * kSlice), kSlice));
        }
    }
    slab.write(10 * kSlice + 5, 99);
    for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(watch.retire(tickets[i], 0).written(), i == 10) << i;
    }
}

TEST_P(WriteWatchOnMemory, aLookForAnotherWatchTightensTheMarksOfThoseItCovers) {
    const WatchTicket small = armed(source(slab.at(2 * kPage), kPage, 1));
    const WatchTicket large = armed(source(slab.at(), 8 * kPage, 2));
    watch.check(large, 3);
    slab.write(2 * kPage);
    watch.check(large, 4);
    const WatchFinding finding = watch.retire(small, 5);
    EXPECT_EQ(finding.before_mark, 3u);
    EXPECT_EQ(finding.found_mark, 4u);
    // The small one's scan did not look at all of the large one.
    EXPECT_EQ(watch.retire(large, 6).before_mark, 3u);
}

TEST_P(WriteWatchOnMemory, threadsThatWatchBuffersOfTheirOwnSeeOnlyTheirOwnWrites) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            // Neighbours share pages: 5 KiB each.
            const std::size_t start = t * 5120;
            for (int i = 0; i < 2000; ++i) {
                const Armed ticket = watch.arm(source(slab.at(start), 5120));
                const bool writes = i % 3 == 0;
                if (writes) {
                    slab.write(start + 17, static_cast<unsigned char>(2 + i % 200));
                    slab.write(start + 5119, static_cast<unsigned char>(3 + i % 200));
                }
                const WatchFinding finding = watch.retire(ticket.ticket, 0);
                // A page that lies wholly in the buffer takes no neighbour's write; the edges are compared.
                wrong += !ticket || finding.end != WatchEnd::complete || finding.written() != writes ? 1 : 0;
                std::memset(slab.data() + start, 1, 5120);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(watch.stats().retired, 8000u);
}

}  // namespace
}  // namespace pincheck
