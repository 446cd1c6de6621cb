// The map of page-locked ranges against a plain std::map, and under concurrent use. Built twice: with the suite's flags
// and with the thread sanitizer.
#include "interpose/pinned_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace {

using pincheck::PinnedMap;
using pincheck::PinnedRange;

PinnedRange range(std::uintptr_t address, std::uint64_t bytes, std::uint32_t site) {
    PinnedRange result;
    result.address = address;
    result.bytes = bytes;
    result.site = site;
    result.memory_flags = static_cast<std::uint16_t>(site & 0xf);
    return result;
}

TEST(PinnedMap, isEmptyAtFirst) {
    PinnedMap map;
    PinnedRange found;
    EXPECT_FALSE(map.find(0x1000, found));
    EXPECT_FALSE(map.find(0, found));
    EXPECT_FALSE(map.remove(0x1000, found));
    EXPECT_FALSE(map.find_containing(0x1000, found));
    EXPECT_FALSE(map.insert(range(0, 10, 1)));
}

TEST(PinnedMap, aSecondInsertAtAnAddressReplacesTheFirst) {
    PinnedMap map;
    EXPECT_TRUE(map.insert(range(0x1000, 10, 1)));
    EXPECT_TRUE(map.insert(range(0x1000, 20, 2)));
    EXPECT_EQ(map.size(), 1u);
    PinnedRange found;
    ASSERT_TRUE(map.find(0x1000, found));
    EXPECT_EQ(found.bytes, 20u);
    EXPECT_EQ(found.site, 2u);
}

TEST(PinnedMap, findsARangeByAnyAddressInIt) {
    PinnedMap map;
    map.insert(range(0x1000, 0x10, 1));
    map.insert(range(0x1010, 0x10, 2));
    PinnedRange found;
    EXPECT_FALSE(map.find_containing(0xfff, found));
    ASSERT_TRUE(map.find_containing(0x100f, found));
    EXPECT_EQ(found.site, 1u);
    ASSERT_TRUE(map.find_containing(0x1010, found));
    EXPECT_EQ(found.site, 2u);
    EXPECT_FALSE(map.find_containing(0x1020, found));
}

TEST(PinnedMap, agreesWithAPlainMapOverRandomInsertsAndRemovals) {
    std::mt19937_64 random(1);
    PinnedMap map;
    std::map<std::uintptr_t, PinnedRange> plain;
    for (int i = 0; i < 60'000; ++i) {
        // Few distinct addresses, a page apart: long probe runs, many replacements.
        const std::uintptr_t address = 0x7f0000000000 + 4096 * (random() % 700);
        PinnedRange found;
        if (random() % 2 == 0) {
            const PinnedRange fresh = range(address, 1 + random() % 4096, static_cast<std::uint32_t>(i));
            ASSERT_TRUE(map.insert(fresh));
            plain[address] = fresh;
        } else {
            const bool there = plain.erase(address) != 0;
            ASSERT_EQ(map.remove(address, found), there);
        }
        const std::uintptr_t other = 0x7f0000000000 + 4096 * (random() % 700);
        const auto expected = plain.find(other);
        ASSERT_EQ(map.find(other, found), expected != plain.end());
        if (expected != plain.end()) {
            ASSERT_EQ(found.site, expected->second.site);
            ASSERT_EQ(found.bytes, expected->second.bytes);
        }
        ASSERT_EQ(map.size(), plain.size());
    }
}

TEST(PinnedMap, readersNeverSeeHalfARangeWhileOthersWrite) {
    PinnedMap map;
    constexpr std::uintptr_t kBase = 0x7f0000000000;
    constexpr int kStable = 64;
    // Odd pages stay; even pages come and go. `bytes` and `site` always belong together.
    for (int i = 0; i < kStable; ++i) {
        map.insert(range(kBase + 4096 * (2 * i + 1), 1000 + i, static_cast<std::uint32_t>(i)));
    }
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int reader = 0; reader < 2; ++reader) {
        threads.emplace_back([&] {
            for (int i = 0; !stop; i = (i + 1) % kStable) {
                PinnedRange found;
                if (!map.find(kBase + 4096 * (2 * i + 1), found) || found.bytes != 1000u + i ||
                    found.site != static_cast<std::uint32_t>(i)) {
                    ++wrong;
                }
                if (map.find(kBase + 4096 * (2 * i), found) && found.bytes != found.site * 7ull) {
                    ++wrong;
                }
            }
        });
    }
    for (int writer = 0; writer < 2; ++writer) {
        threads.emplace_back([&, writer] {
            std::mt19937 random(static_cast<unsigned>(writer));
            for (int i = 0; i < 30'000; ++i) {
                const std::uintptr_t address = kBase + 4096 * (2 * (random() % 500));
                PinnedRange taken;
                if (random() % 2 == 0) {
                    map.insert(range(address, 7ull * (i + 1), static_cast<std::uint32_t>(i + 1)));
                } else {
                    map.remove(address, taken);
                }
            }
        });
    }
    threads[2].join();
    threads[3].join();
    stop = true;
    threads[0].join();
    threads[1].join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
