// The parts of the CUPTI session that need no CUPTI: clocks, buffers, the budget, and where the library is looked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "interpose/cupti_budget.h"
#include "interpose/cupti_buffers.h"
#include "interpose/cupti_clock.h"
#include "interpose/cupti_library.h"

namespace pincheck {
// The library's own look-up goes past its dlsym.
void* libc_dlsym(void*, const char*) noexcept {
    return nullptr;
}
}  // namespace pincheck

namespace pincheck::cupti {

namespace {

// ---- Clocks

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWall = 1'700'000'000 * kSecond;  // of CUPTI's clock at 0 of ours

TEST(CuptiClock, knowsNothingWithoutAPair) {
    EXPECT_EQ(ClockPairs().to_monotonic(kWall, 0), 0u);
}

TEST(CuptiClock, goesByTheOffset) {
    ClockPairs clock;
    clock.add(10 * kSecond, kWall + 10 * kSecond);
    EXPECT_EQ(clock.to_monotonic(kWall + 9 * kSecond, 0), 9 * kSecond);
    EXPECT_EQ(clock.to_monotonic(kWall + 11 * kSecond, 0), 11 * kSecond);
    clock.add(20 * kSecond, kWall + 20 * kSecond);
    EXPECT_EQ(clock.to_monotonic(kWall + 15 * kSecond, 0), 15 * kSecond);
}

TEST(CuptiClock, followsAClockThatIsSlewed) {
    ClockPairs clock;
    clock.add(10 * kSecond, kWall + 10 * kSecond);
    clock.add(11 * kSecond, kWall + 11 * kSecond + 100'000);
    const std::uint64_t middle = clock.to_monotonic(kWall + 10 * kSecond + kSecond / 2 + 50'000, 0);
    EXPECT_NEAR(static_cast<double>(middle), 10.5 * kSecond, 100);
}

TEST(CuptiClock, survivesAClockThatIsSetForward) {
    ClockPairs clock;
    clock.add(10 * kSecond, kWall + 10 * kSecond);
    clock.add(11 * kSecond, kWall + 11 * kSecond + 3600 * kSecond);
    EXPECT_EQ(clock.to_monotonic(kWall + 10 * kSecond + 5, 0), 10 * kSecond + 5);
    EXPECT_EQ(clock.to_monotonic(kWall + 10 * kSecond + 5 + 3600 * kSecond, 0), 10 * kSecond + 5);
    EXPECT_EQ(clock.to_monotonic(kWall + 12 * kSecond + 3600 * kSecond, 0), 12 * kSecond);
    EXPECT_EQ(clock.to_monotonic(kWall + 9 * kSecond, 0), 9 * kSecond);
}

// Between the two pairs the clock said the same thing twice: only the call tells which moment is meant.
TEST(CuptiClock, setBackMeansTheMomentThatIsNotBeforeTheCall) {
    ClockPairs clock;
    clock.add(10 * kSecond, kWall + 10 * kSecond);
    clock.add(11 * kSecond, kWall + 11 * kSecond);
    clock.add(12 * kSecond, kWall + 10 * kSecond);  // two seconds back, at 11 or later
    clock.add(13 * kSecond, kWall + 11 * kSecond);
    const std::uint64_t said = kWall + 10 * kSecond + kSecond / 2;
    EXPECT_EQ(clock.to_monotonic(said, 12 * kSecond), 12 * kSecond + kSecond / 2);
    EXPECT_EQ(clock.to_monotonic(kWall + 11 * kSecond + 7, 13 * kSecond), 13 * kSecond + 7);
}

TEST(CuptiClock, keepsTheLatestPairs) {
    ClockPairs clock;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        clock.add(i * kSecond, kWall + i * kSecond);
    }
    EXPECT_EQ(clock.to_monotonic(kWall + 5 * kSecond, 0), 5 * kSecond);
    EXPECT_EQ(clock.to_monotonic(kWall + 999 * kSecond + 3, 0), 999 * kSecond + 3);
}

// ---- Buffers

TEST(CuptiBuffers, areBoundedAndGoRound) {
    auto pool = std::make_unique<BufferPool>();
    ASSERT_TRUE(pool->create());
    std::vector<std::uint8_t*> out;
    while (std::uint8_t* buffer = pool->take()) {
        out.push_back(buffer);
    }
    EXPECT_EQ(out.size(), BufferPool::kBuffers);
    EXPECT_EQ(pool->outstanding(), BufferPool::kBuffers);
    EXPECT_EQ(pool->denied(), 1u);
    pool->complete(out[7], 100);
    pool->complete(out[3], BufferPool::kBytes + 5);  // CUPTI would be wrong
    EXPECT_EQ(pool->outstanding(), BufferPool::kBuffers - 2);
    EXPECT_EQ(pool->waiting(), 2u);
    EXPECT_EQ(pool->take(), nullptr) << "read first";
    std::vector<std::pair<unsigned, std::size_t>> read;
    pool->read_full([&](unsigned pass, std::uint8_t*, std::size_t valid) { read.emplace_back(pass, valid); });
    const std::vector<std::pair<unsigned, std::size_t>> expected = {
        {0, BufferPool::kBytes}, {0, 100}, {1, BufferPool::kBytes}, {1, 100}};
    EXPECT_EQ(read, expected);
    EXPECT_EQ(pool->take(), out[3]) << "the lowest free one";
}

TEST(CuptiBuffers, oneThatIsPutBackIsFreeAtOnce) {
    auto pool = std::make_unique<BufferPool>();
    ASSERT_TRUE(pool->create());
    std::uint8_t* first = pool->take();
    std::uint8_t* second = pool->take();
    pool->put_back(first);
    EXPECT_EQ(pool->outstanding(), 1u);
    EXPECT_EQ(pool->waiting(), 0u) << "nothing is in it";
    EXPECT_EQ(pool->take(), first);
    pool->put_back(second);
    EXPECT_EQ(pool->outstanding(), 1u);
}

TEST(CuptiBuffers, leavesOthersBuffersAlone) {
    auto pool = std::make_unique<BufferPool>();
    ASSERT_TRUE(pool->create());
    std::uint8_t* own = pool->take();
    std::uint8_t foreign[64] = {};
    pool->complete(foreign, 64);
    pool->complete(own + 8, 64);
    pool->complete(nullptr, 64);
    EXPECT_EQ(pool->outstanding(), 1u);
    EXPECT_EQ(pool->waiting(), 0u);
}

TEST(CuptiBuffers, areEachTakenByOneThread) {
    auto pool = std::make_unique<BufferPool>();
    ASSERT_TRUE(pool->create());
    std::atomic<std::uint64_t> records{0};
    std::atomic<int> at_work{4};
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> written{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20000; ++round) {
                if (std::uint8_t* buffer = pool->take()) {
                    EXPECT_EQ(buffer[0], 0) << "somebody else has it";
                    buffer[0] = 1;
                    written += 1;
                    pool->complete(buffer, 1);
                }
            }
            at_work -= 1;
        });
    }
    const auto read = [&] {
        pool->read_full([&](unsigned pass, std::uint8_t* buffer, std::size_t valid) {
            records += pass == 1 ? valid : 0;
            buffer[0] = static_cast<std::uint8_t>(pass == 1 ? 0 : buffer[0]);
        });
    };
    while (at_work != 0) {
        read();
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    read();
    EXPECT_EQ(records, written);
    EXPECT_EQ(pool->outstanding(), 0u);
}

// ---- Budget

TEST(CuptiBudget, recordsEverythingWhileItIsCheap) {
    Budget budget;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(budget.record_next());
        budget.recorded(Budget::kWindowNs * Budget::kPermille / 1000, Budget::kWindowNs);
    }
    EXPECT_EQ(budget.every(), 1u);
}

TEST(CuptiBudget, recordsOneWindowInAsManyAsKeepTheShare) {
    Budget budget;
    std::uint64_t cost = 0;
    std::uint64_t wall = 0;
    for (int i = 0; i < 1000; ++i) {
        wall += Budget::kWindowNs;
        if (budget.record_next()) {
            cost += Budget::kWindowNs / 5;  // a fifth of the time while it records
            budget.recorded(Budget::kWindowNs / 5, Budget::kWindowNs);
        } else {
            budget.skipped();
        }
    }
    EXPECT_EQ(budget.every(), 10u);
    EXPECT_LE(cost, wall * Budget::kPermille / 1000 + Budget::kWindowNs / 5);
    EXPECT_GE(cost, wall * Budget::kPermille / 1000 / 2);
}

TEST(CuptiBudget, comesBackWhenItIsCheapAgain) {
    Budget budget;
    budget.recorded(Budget::kWindowNs, Budget::kWindowNs);
    EXPECT_EQ(budget.every(), 50u);
    while (!budget.record_next()) {
        budget.skipped();
    }
    budget.recorded(0, Budget::kWindowNs);
    EXPECT_TRUE(budget.record_next());
    EXPECT_EQ(budget.every(), 1u);
}

TEST(CuptiBudget, looksAgainNowAndThen) {
    Budget budget;
    budget.recorded(1000 * Budget::kWindowNs, Budget::kWindowNs);
    EXPECT_EQ(budget.every(), Budget::kMostWindows);
}

// ---- Where the library is

std::vector<std::string> places(const Places& where) {
    std::vector<std::string> all;
    for_each_place(
        where,
        [](const char* path, void* list) {
            static_cast<std::vector<std::string>*>(list)->emplace_back(path);
            return false;
        },
        &all);
    return all;
}

TEST(CuptiPlaces, withoutAnythingKnownTheLoaderIsAsked) {
    EXPECT_EQ(places(Places{}), (std::vector<std::string>{"libcupti.so.13", "libcupti.so.12"}));
}

TEST(CuptiPlaces, besideTheRuntimeFirstAndOfItsVersion) {
    Places where;
    where.runtime_major = 12;
    std::strcpy(where.runtime_folder, "/venv/lib/python3/site-packages/nvidia/cuda_runtime/lib/");
    where.cuda_homes[0] = "/opt/cuda";
    const std::vector<std::string> all = places(where);
    ASSERT_GT(all.size(), 8u);
    EXPECT_EQ(all.front(), "/venv/lib/python3/site-packages/nvidia/cuda_runtime/lib/libcupti.so.12");
    const auto index = [&](const std::string& path) { return std::find(all.begin(), all.end(), path) - all.begin(); };
    const auto wheel =
        index("/venv/lib/python3/site-packages/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12");
    const auto home = index("/opt/cuda/extras/CUPTI/lib64/libcupti.so.12");
    EXPECT_LT(wheel, home);
    EXPECT_LT(home, index("libcupti.so.12"));
    EXPECT_LT(index("libcupti.so.12"), static_cast<std::ptrdiff_t>(all.size()));
}

TEST(CuptiPlaces, wheelsOfAProgramThatHasTheRuntimeInside) {
    Places where;
    std::strcpy(where.wheels_folder, "/venv/lib/python3/site-packages/");
    const std::vector<std::string> expected = {"/venv/lib/python3/site-packages/nvidia/cu13/lib/libcupti.so.13",
                                               "/venv/lib/python3/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12",
                                               "libcupti.so.13", "libcupti.so.12"};
    EXPECT_EQ(places(where), expected);
}

TEST(CuptiPlaces, firstThatServesIsTheLast) {
    int asked = 0;
    for_each_place(
        Places{},
        [](const char*, void* count) {
            ++*static_cast<int*>(count);
            return true;
        },
        &asked);
    EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace pincheck::cupti
