// Which calls are watched, on clocks that the tests turn.
#include "interpose/watch_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace pincheck {
namespace {

constexpr std::uint64_t kStart = 1'000'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(WatchBudget, byCountWatchesTheFirstEightCallsAndThenPowersOfTwo) {
    WatchBudget budget(WatchBudget::Policy::by_count, kStart);
    WatchSite site;
    std::vector<int> watched;
    for (int call = 1; call <= 200; ++call) {
        if (budget.wants(site, kStart)) {
            watched.push_back(call);
        }
    }
    EXPECT_EQ(watched, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128}));
}

TEST(WatchBudget, byCountIsTheSameHoweverLongItTakesAndHoweverMuchItCosts) {
    WatchBudget fast(WatchBudget::Policy::by_count, kStart);
    WatchBudget slow(WatchBudget::Policy::by_count, kStart);
    WatchSite fast_site;
    WatchSite slow_site;
    for (std::uint64_t call = 0; call < 3000; ++call) {
        const bool watches = fast.wants(fast_site, kStart + call);
        EXPECT_EQ(slow.wants(slow_site, kStart + call * kSecond), watches);
        if (watches) {
            slow.spent(10 * kSecond, 1'000'000);
        }
    }
}

TEST(WatchBudget, byCountCountsEachSiteForItself) {
    WatchBudget budget(WatchBudget::Policy::by_count, kStart);
    WatchSite busy;
    for (int i = 0; i < 1000; ++i) {
        budget.wants(busy, kStart);
    }
    WatchSite fresh;
    EXPECT_TRUE(budget.wants(fresh, kStart));
}

TEST(WatchBudget, byCostWatchesEverythingThatIsCheap) {
    WatchBudget budget(WatchBudget::Policy::by_cost, kStart);
    WatchSite site;
    // One copy a millisecond, 8 us each: 0.8 %.
    for (std::uint64_t call = 1; call <= 20'000; ++call) {
        ASSERT_TRUE(budget.wants(site, kStart + call * 1'000'000)) << call;
        budget.spent(8'000, 0);
    }
}

// Copies every `interval` of a cost each, for `seconds`. Returns how many were watched.
std::uint64_t drive(WatchBudget& budget, std::vector<WatchSite>& sites, std::uint64_t& now, std::uint64_t seconds,
                    std::uint64_t interval, std::uint64_t ns, std::uint64_t pages) {
    std::uint64_t watched = 0;
    const std::uint64_t end = now + seconds * kSecond;
    for (std::size_t i = 0; now < end; ++i, now += interval) {
        if (budget.wants(sites[i % sites.size()], now)) {
            ++watched;
            budget.spent(ns, pages);
        }
    }
    return watched;
}

TEST(WatchBudget, byCostStaysUnderTwoPercentOfTheTime) {
    for (const std::uint64_t cost : {2'000ull, 10'000ull, 300'000ull, 30'000'000ull}) {
        for (const std::uint64_t interval : {2'000ull, 50'000ull, 1'000'000ull}) {
            WatchBudget budget(WatchBudget::Policy::by_cost, kStart);
            std::vector<WatchSite> sites(5);
            std::uint64_t now = kStart;
            const std::uint64_t watched = drive(budget, sites, now, 5, interval, cost, 0);
            // One copy may be in when the limit is reached, and the start is free.
            EXPECT_LE(budget.spent_ns(), 5 * kSecond / 50 + WatchBudget::kStartNs + cost) << cost << ' ' << interval;
            EXPECT_GT(watched, 0u);
            // And makes use of a fair part of it where there is enough to watch.
            if (cost * (5 * kSecond / interval) > kSecond) {
                EXPECT_GE(budget.spent_ns(), 5 * kSecond / 500) << cost << ' ' << interval;
            }
        }
    }
}

TEST(WatchBudget, pageFaultsOfTheProgramCountAsCost) {
    WatchBudget with(WatchBudget::Policy::by_cost, kStart);
    WatchBudget without(WatchBudget::Policy::by_cost, kStart);
    std::vector<WatchSite> sites(1);
    std::uint64_t now = kStart;
    const std::uint64_t few = drive(with, sites, now, 5, 100'000, 1'000, 256);
    std::vector<WatchSite> others(1);
    now = kStart;
    EXPECT_GT(drive(without, others, now, 5, 100'000, 1'000, 0), 10 * few);
    EXPECT_LE(with.spent_ns(), 5 * kSecond / 50 + WatchBudget::kStartNs + 257'000);
}

TEST(WatchBudget, aBusySiteLeavesRoomForAFreshOne) {
    WatchBudget budget(WatchBudget::Policy::by_cost, kStart);
    std::vector<WatchSite> busy(1);
    std::uint64_t now = kStart;
    drive(budget, busy, now, 5, 10'000, 100'000, 0);
    EXPECT_GT(budget.every(), 1u);
    WatchSite fresh;
    for (std::uint64_t i = 0; i < WatchBudget::kFirstCalls; ++i) {
        EXPECT_TRUE(budget.wants(fresh, now));
        budget.spent(100'000, 0);
    }
}

TEST(WatchBudget, everySiteIsWatchedTheSameFractionOfItsCalls) {
    WatchBudget budget(WatchBudget::Policy::by_cost, kStart);
    WatchSite busy;
    WatchSite rare;
    std::uint64_t of_busy = 0;
    std::uint64_t of_rare = 0;
    std::uint64_t now = kStart;
    for (int i = 0; i < 2'000'000; ++i, now += 10'000) {
        WatchSite& site = i % 100 == 0 ? rare : busy;
        if (budget.wants(site, now)) {
            ++(i % 100 == 0 ? of_rare : of_busy);
            budget.spent(20'000, 0);
        }
    }
    const double busy_share = static_cast<double>(of_busy) / static_cast<double>(busy.calls.load());
    const double rare_share = static_cast<double>(of_rare) / static_cast<double>(rare.calls.load());
    EXPECT_GT(rare_share, busy_share / 2);
    EXPECT_LT(rare_share, busy_share * 2);
}

TEST(WatchBudget, buffersThatAreUsedByTurnsAreAllWatchedNowAndThen) {
    for (std::size_t buffers = 2; buffers <= 8; ++buffers) {
        WatchBudget budget(WatchBudget::Policy::by_cost, kStart);
        WatchSite site;
        std::vector<int> watched(buffers);
        std::uint64_t now = kStart;
        for (std::size_t i = 0; i < 400'000; ++i, now += 10'000) {
            if (budget.wants(site, now)) {
                ++watched[i % buffers];
                budget.spent(10'000, 0);
            }
        }
        for (const int count : watched) {
            EXPECT_GT(count, 100) << buffers;
        }
    }
}

TEST(WatchBudget, whenItGetsCheaperMoreIsWatchedAgain) {
    WatchBudget budget(WatchBudget::Policy::by_cost, kStart);
    std::vector<WatchSite> sites(3);
    std::uint64_t now = kStart;
    drive(budget, sites, now, 3, 100'000, 1'000'000, 0);
    const std::uint64_t every = budget.every();
    EXPECT_GT(every, 8u);
    drive(budget, sites, now, 10, 1'000'000, 1'000, 0);
    EXPECT_EQ(budget.every(), 1u);
}

TEST(WatchBudget, threadsCountTogether) {
    WatchBudget budget(WatchBudget::Policy::by_count, kStart);
    WatchSite site;
    std::atomic<int> watched{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 1024; ++i) {
                watched += budget.wants(site, kStart) ? 1 : 0;
                budget.spent(1, 1);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(watched, 8 + 9);  // 16 to 4096
    EXPECT_EQ(budget.spent_ns(), 4096 * (1 + WatchBudget::kFaultNs));
}

}  // namespace
}  // namespace pincheck
