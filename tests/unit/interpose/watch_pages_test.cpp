// The plain data under the write watch, each against the simplest thing that does the same.
#include "interpose/watch_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "interpose/edge_bytes.h"
#include "interpose/watched_memory.h"

namespace pincheck {
namespace {

constexpr std::uintptr_t kBase = 0x7f0000000000;

Watch* on_pages(WatchPages& pages, std::uintptr_t first, std::uintptr_t end) {
    Watch* watch = pages.make();
    if (watch != nullptr) {
        watch->first_page = kBase + first * kPageBytes;
        watch->end_page = kBase + end * kPageBytes;
        pages.insert(*watch, watch->first_page, watch->end_page);
    }
    return watch;
}

TEST(WatchPages, findsWhatAPlainSearchFindsAndTheGapsBetween) {
    constexpr std::uintptr_t kPages = 200;
    std::mt19937 random(1);
    WatchPages pages;
    std::vector<Watch*> plain;
    for (int step = 0; step < 6000; ++step) {
        if (random() % 2 == 0 || plain.empty()) {
            const std::uintptr_t first = random() % kPages;
            const std::uintptr_t longest = random() % 8 == 0 ? kPages : 5;
            plain.push_back(on_pages(pages, first, first + 1 + random() % longest));
        } else {
            const std::size_t index = random() % plain.size();
            pages.remove(*plain[index]);
            pages.recycle(*plain[index]);
            plain.erase(plain.begin() + static_cast<long>(index));
        }
        ASSERT_EQ(pages.size(), plain.size());
        const std::uintptr_t begin = kBase + random() % kPages * kPageBytes;
        const std::uintptr_t end = begin + (1 + random() % 20) * kPageBytes;
        std::set<Watch*> expected;
        std::vector<bool> covered(20);
        for (Watch* watch : plain) {
            if (watch->first_page < end && watch->end_page > begin) {
                expected.insert(watch);
            }
        }
        std::set<Watch*> found;
        std::uintptr_t last = 0;
        pages.for_each(begin, end, [&](Watch& watch) {
            EXPECT_GE(watch.first_page, last);
            last = watch.first_page;
            EXPECT_TRUE(found.insert(&watch).second);
            return true;
        });
        ASSERT_EQ(found, expected);
        ASSERT_EQ(pages.any(begin, end), !expected.empty());
        std::set<std::uintptr_t> gaps;
        pages.for_each_gap(begin, end, [&](std::uintptr_t from, std::uintptr_t to) {
            ASSERT_LT(from, to);
            for (; from < to; from += kPageBytes) {
                ASSERT_TRUE(gaps.insert(from).second);
            }
        });
        for (std::uintptr_t page = begin; page < end; page += kPageBytes) {
            bool watched = false;
            for (const Watch* watch : expected) {
                watched = watched || (watch->first_page <= page && watch->end_page > page);
            }
            ASSERT_EQ(gaps.count(page) == 0, watched);
        }
    }
}

TEST(WatchPages, aVisitMayEndEarly) {
    WatchPages pages;
    for (int i = 0; i < 20; ++i) {
        on_pages(pages, 0, 10);
    }
    int visits = 0;
    EXPECT_FALSE(pages.for_each(kBase, kBase + kPageBytes, [&](Watch&) { return ++visits < 3; }));
    EXPECT_EQ(visits, 3);
}

TEST(WatchPages, aSlotThatIsUsedAgainIsAnotherWatch) {
    WatchPages pages;
    Watch* first = pages.make();
    const std::uint32_t index = first->index;
    const std::uint32_t generation = first->generation;
    EXPECT_EQ(pages.find(index, generation), first);
    pages.recycle(*first);
    EXPECT_EQ(pages.find(index, generation), nullptr);
    Watch* second = pages.make();
    EXPECT_EQ(second->index, index);
    EXPECT_EQ(pages.find(index, generation), nullptr);
    EXPECT_EQ(pages.find(index, second->generation), second);
    EXPECT_EQ(pages.find(0, 0), nullptr);
    EXPECT_EQ(pages.find(2, 1), nullptr);
}

TEST(WatchPages, thereIsACap) {
    WatchPages pages;
    for (std::uint32_t i = 0; i < WatchPages::kMaxWatches; ++i) {
        ASSERT_NE(on_pages(pages, i, i + 2), nullptr);
    }
    EXPECT_EQ(pages.make(), nullptr);
}

TEST(DirtyRanges, isExactOverFewRangesAndAnUpperBoundOverMany) {
    std::mt19937 random(2);
    int exact = 0;
    int inexact = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        DirtyRanges ranges;
        std::vector<bool> plain(256);
        const int adds = 1 + static_cast<int>(random() % 40);
        for (int i = 0; i < adds; ++i) {
            const std::size_t begin = random() % 256;
            const std::size_t end = begin + random() % std::min<std::size_t>(256 - begin + 1, 6);
            const bool was_exact = ranges.exact();
            std::uint64_t fresh = 0;
            for (std::size_t k = begin; k < end; ++k) {
                fresh += plain[k] ? 0 : 1;
                plain[k] = true;
            }
            const std::uint64_t added = ranges.add(begin, end);
            if (was_exact) {
                ASSERT_EQ(added, fresh);
            }
            std::size_t first = 0;
            while (first < 256 && !plain[first]) {
                ++first;
            }
            ASSERT_EQ(ranges.empty(), first == 256);
            std::uint64_t bytes = 0;
            for (const bool dirty : plain) {
                bytes += dirty ? 1 : 0;
            }
            if (first == 256) {
                continue;
            }
            ASSERT_EQ(ranges.first().begin, first);
            std::size_t last = first;
            while (last < 256 && plain[last]) {
                ++last;
            }
            if (ranges.exact()) {
                ASSERT_EQ(ranges.first().end, last);
                ASSERT_EQ(ranges.bytes(), bytes);
            } else {
                ASSERT_LE(ranges.first().end, last);
                ASSERT_GE(ranges.bytes(), bytes);
            }
        }
        ++(ranges.exact() ? exact : inexact);
    }
    EXPECT_GT(exact, 100);
    EXPECT_GT(inexact, 100);
}

TEST(WatchedMemory, knowsWhichPagesNoNeighbourHas) {
    WatchedMemory memory;
    const auto add = [&](std::uintptr_t begin, std::uintptr_t end, MemoryState state = MemoryState::registered) {
        ASSERT_EQ(memory.overlapping(kBase + begin, kBase + end), nullptr);
        ASSERT_TRUE(memory.insert({kBase + begin, kBase + end, state}));
    };
    add(5000, 9000);
    add(100, 200);
    add(300, 400);
    add(9000, 9100);
    add(9200, 20000, MemoryState::busy);
    const auto own = [&](std::uintptr_t begin) {
        const MemoryRange* range = memory.overlapping(kBase + begin, kBase + begin + 1);
        const WatchedMemory::Pages pages = memory.own_pages(*range);
        return std::pair<long, long>(static_cast<long>(pages.begin - kBase), static_cast<long>(pages.end - kBase));
    };
    EXPECT_EQ(own(5000), (std::pair<long, long>(4096, 8192)));  // its last page is shared with 9000
    EXPECT_EQ(own(9200), (std::pair<long, long>(12288, 20480)));
    const auto [begin, end] = own(100);
    EXPECT_GE(begin, end);  // one page, shared with 300
    memory.erase(memory.overlapping(kBase + 300, kBase + 301));
    EXPECT_EQ(own(100), (std::pair<long, long>(0, 4096)));
    memory.erase(memory.overlapping(kBase + 9000, kBase + 9001));
    EXPECT_EQ(own(5000), (std::pair<long, long>(4096, 12288)));  // a busy neighbour has no part in it
    EXPECT_EQ(memory.size(), 3u);
}

TEST(WatchedMemory, isInOrderHoweverRangesComeAndGo) {
    std::mt19937 random(3);
    WatchedMemory memory;
    std::set<std::uintptr_t> plain;
    for (int i = 0; i < 20'000; ++i) {
        const std::uintptr_t address = kBase + random() % 500 * 64;
        MemoryRange* found = memory.overlapping(address, address + 1);
        ASSERT_EQ(found != nullptr, plain.count(address) != 0);
        if (found != nullptr) {
            ASSERT_EQ(found->begin, address);
            memory.erase(found);
            plain.erase(address);
        } else {
            ASSERT_TRUE(memory.insert({address, address + 64, MemoryState::plain}));
            plain.insert(address);
        }
        const auto next = plain.lower_bound(kBase + 5000);
        found = memory.overlapping(kBase + 5000, UINTPTR_MAX);
        // A range may reach over the address from below.
        if (found != nullptr && found->begin >= kBase + 5000) {
            ASSERT_EQ(found->begin, *next);
        }
    }
}

TEST(WatchedMemory, thereIsACap) {
    WatchedMemory memory;
    for (std::uint32_t i = 0; i < WatchedMemory::kMaxRanges; ++i) {
        ASSERT_TRUE(memory.insert({kBase + i * 2, kBase + i * 2 + 1, MemoryState::plain}));
    }
    EXPECT_FALSE(memory.insert({kBase - 10, kBase - 9, MemoryState::plain}));
}

TEST(EdgeBytes, blocksAreDistinctAndUsedAgain) {
    EdgeBytes edges;
    std::set<unsigned char*> blocks;
    std::vector<std::uint32_t> small;
    for (std::uint32_t i = 0; i < EdgeBytes::kSmallBlocks + EdgeBytes::kLargeBlocks; ++i) {
        const std::uint32_t block = edges.take(10);
        ASSERT_NE(block, 0u);
        ASSERT_TRUE(blocks.insert(edges.bytes(block)).second);
        std::memset(edges.bytes(block), 0xff, 10);
        small.push_back(block);
    }
    EXPECT_EQ(edges.take(10), 0u);
    EXPECT_EQ(edges.take(4095), 0u);
    edges.give_back(small.back());
    const std::uint32_t large = edges.take(4095);
    ASSERT_NE(large, 0u);
    std::memset(edges.bytes(large), 0xff, 4095);
    edges.give_back(small.front());
    EXPECT_NE(edges.take(256), 0u);
    edges.give_back(0);
}

}  // namespace
}  // namespace pincheck
