// Samples of the reads of memory, caught by this test's own handler of SIGSEGV, which tells the trap as the tool's
// does; the rule by which their pages open and close; and when they are taken.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "access_trap_faults.h"
#include "interpose/combined_memory.h"
#include "interpose/page_rights.h"
#include "write_watch_fixture.h"

namespace pincheck {
namespace {

using Then = ReadSample::Then;

std::vector<std::uintptr_t> closes(const ReadSample::Step& step) {
    return {step.close, step.close + step.count};
}
using Pages = std::vector<std::uintptr_t>;

TEST(ReadSampleRule, aStoreClosesThePageBefore) {
    ReadSample sample;
    EXPECT_EQ(closes(sample.stored(0x1000)), Pages());
    EXPECT_EQ(closes(sample.stored(0x2000)), Pages({0x1000}));
    EXPECT_EQ(closes(sample.stored(0x2000)), Pages()) << "two threads at once";
    EXPECT_EQ(closes(sample.stored(0x3000)), Pages({0x2000}));
    EXPECT_TRUE(sample.is_open(0x3000));
}
TEST(ReadSampleRule, aStoreAcrossTwoPagesHasBoth) {
    ReadSample sample;
    sample.stored(0x1000);
    EXPECT_EQ(closes(sample.stored(0x2000)), Pages({0x1000}));
    EXPECT_EQ(closes(sample.stored(0x1000)), Pages()) << "the same instruction, on its first page again";
    EXPECT_TRUE(sample.is_open(0x1000));
    EXPECT_TRUE(sample.is_open(0x2000));
    EXPECT_EQ(closes(sample.stored(0x3000)), Pages({0x1000, 0x2000}));
}
TEST(ReadSampleRule, storesNarrowItAndEndIt) {
    ReadSample sample;
    for (std::uint32_t i = 1; i <= 2 * ReadSample::kMostStores; ++i) {
        const Then then = sample.stored(i * 0x1000).then;
        EXPECT_EQ(then, i == ReadSample::kMostStores       ? Then::narrow
                        : i == 2 * ReadSample::kMostStores ? Then::end
                                                           : Then::go_on)
            << i;
    }
    EXPECT_EQ(sample.passed().size(), ReadSample::kMostStores);
    EXPECT_EQ(sample.passed().front(), 0x1000u);
}
TEST(ReadSampleRule, othersEndIt) {
    ReadSample sample;
    for (std::uint32_t i = 1; i <= ReadSample::kMostOthers; ++i) {
        EXPECT_EQ(sample.other().then, i == ReadSample::kMostOthers ? Then::end : Then::go_on);
    }
}

std::vector<SampledRead>* g_told = nullptr;

class AccessTrapSamples : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(trap.open(false, true));
        faults.begin(trap);
        g_told = &told;
        told.reserve(100);  // no heap in the handler
        trap.tell_reads(
            [](void*, const SampledRead& read) noexcept {
                g_told->push_back(read);
                AccessTrapFaults::trap()->give_up(kPage, kPage, true);  // as its own munmap would: no lock may be held
            },
            nullptr);
        trap.add_memory(slab.at(), slab.bytes(), true);
    }
    void TearDown() override { faults.end(); }
    WatchTicket armed() {
        const Armed result = trap.arm_reads({slab.at(), slab.bytes(), slab.at(), 77});
        EXPECT_TRUE(result) << static_cast<int>(result.why);
        return result.ticket;
    }
    // What the handler does there is not known to the compiler.
    unsigned char read(std::size_t offset) {
        const unsigned char value = static_cast<volatile unsigned char*>(slab.data())[offset];
        asm volatile("" ::: "memory");
        return value;
    }
    void store(std::size_t offset) {
        static_cast<volatile unsigned char*>(slab.data())[offset] = 1;
        asm volatile("" ::: "memory");
    }
    bool is_free() const { return is_plain_data(slab.at(), slab.at(slab.bytes())); }

    Slab slab{Kind::anonymous, 64};
    AccessTrap trap;
    AccessTrapFaults faults;
    std::vector<SampledRead> told;
};

TEST_F(AccessTrapSamples, aReadIsToldOnceAPlaceWithItsBytes) {
    const WatchTicket ticket = armed();
    EXPECT_FALSE(is_free());
    read(3 * kPage + 5);
    read(3 * kPage + 6);
    read(9 * kPage);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].address, slab.at());
    EXPECT_EQ(told[0].bytes, slab.bytes());
    EXPECT_EQ(told[0].pin_site, 77u);
    EXPECT_EQ(told[0].culprit.begin, 3 * kPage + 5);
    EXPECT_EQ(told[0].culprit.end, 3 * kPage + 6);
    EXPECT_EQ(faults.count(), 2u);
    trap.retire(ticket);
    EXPECT_TRUE(is_free());
}
TEST_F(AccessTrapSamples, whatIsFilledAndReadBackIsFound) {
    const WatchTicket ticket = armed();
    for (std::size_t at = 0; at < slab.bytes(); ++at) {
        store(at);
    }
    EXPECT_EQ(faults.count(), ReadSample::kMostStores);
    EXPECT_TRUE(told.empty());
    read(100);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].culprit.begin, 100u);
    trap.retire(ticket);
    EXPECT_TRUE(is_free());
}
TEST_F(AccessTrapSamples, storesCostABoundedNumberOfFaults) {
    const WatchTicket ticket = armed();
    for (int turn = 0; turn < 100; ++turn) {
        for (std::size_t page = 0; page < 64; ++page) {
            store(page * 37 % 64 * kPage);
        }
    }
    EXPECT_EQ(faults.count(), 2 * ReadSample::kMostStores);
    EXPECT_EQ(trap.sample_faults(), faults.count());
    EXPECT_TRUE(is_free()) << "the sample is over";
    trap.retire(ticket);
    EXPECT_TRUE(told.empty());
}
TEST_F(AccessTrapSamples, readsCostABoundedNumberOfFaults) {
    const WatchTicket ticket = armed();
    for (std::size_t at = 0; at < slab.bytes(); at += kPage) {
        read(at);
    }
    EXPECT_EQ(faults.count(), ReadSample::kMostOthers);
    EXPECT_TRUE(is_free());
    trap.retire(ticket);
}
TEST_F(AccessTrapSamples, storesAcrossPagesEnd) {
    const WatchTicket ticket = armed();
    for (std::size_t page = 1; page < 64; ++page) {
        const std::uint64_t value = page;
        std::memcpy(slab.data() + page * kPage - 4, &value, sizeof value);
    }
    EXPECT_LE(faults.count(), 2 * ReadSample::kMostStores);
    trap.retire(ticket);
    for (std::size_t page = 1; page < 64; ++page) {
        std::uint64_t value = 0;
        std::memcpy(&value, slab.data() + page * kPage - 4, sizeof value);
        EXPECT_EQ(value, page);
    }
}

TEST_F(AccessTrapSamples, memoryInTheHandsOfACallStaysOpen) {
    const std::uint32_t held = trap.hold(0, slab.at(10 * kPage), kPage);
    EXPECT_NE(held, 0u);
    EXPECT_EQ(trap.arm_reads({slab.at(), slab.bytes(), slab.at(), 0}).why, Unwatched::busy);
    EXPECT_EQ(trap.hold(held, slab.at(2 * kPage), kPage), held) << "another buffer of the call";
    trap.let_go(held);
    const WatchTicket ticket = armed();
    TrapAccess call;
    call.address = slab.at(kPage);
    call.bytes = kPage;
    call.writes = true;
    call.in_system_call = true;
    store(0);
    const std::uint32_t inside = trap.hold(0, slab.at(), 2 * kPage);
    trap.release(call);
    store(5 * kPage);  // would close the first page
    EXPECT_TRUE(is_plain_data(slab.at(), slab.at(2 * kPage)));
    trap.let_go(inside);
    store(6 * kPage);
    EXPECT_FALSE(is_plain_data(slab.at(5 * kPage), slab.at(6 * kPage)));
    trap.retire(ticket);
    EXPECT_TRUE(is_free());
    EXPECT_EQ(trap.hold(0, slab.at() - 100 * kPage, kPage), 0u) << "no memory of ours";
}
TEST_F(AccessTrapSamples, moreCallsThanThereIsRoomForKeepEverythingOpen) {
    std::vector<std::uint32_t> holds;
    for (std::uint32_t i = 0; i <= AccessTrap::kMostHolds; ++i) {
        holds.push_back(trap.hold(0, slab.at(), 1));
    }
    for (std::uint32_t i = 0; i < AccessTrap::kMostHolds; ++i) {
        trap.let_go(holds[i]);
    }
    EXPECT_EQ(trap.arm_reads({slab.at(), slab.bytes(), slab.at(), 0}).why, Unwatched::busy);
    trap.let_go(holds.back());
    trap.retire(armed());
}

TEST_F(AccessTrapSamples, aDownloadIntoItIsGuardedBesides) {
    const WatchTicket sample = armed();
    WatchRequest request;
    request.address = slab.at(8 * kPage);
    request.bytes = 4 * kPage;
    request.side = WatchedSide::destination;
    request.write_combined = true;
    const Armed guard = trap.arm(request);
    ASSERT_TRUE(guard);
    for (std::size_t page = 20; page < 60; ++page) {
        store(page * kPage);
    }
    EXPECT_FALSE(is_plain_data(slab.at(8 * kPage), slab.at(12 * kPage)))
        << "the sample has let go of it, the guard has not";
    read(9 * kPage);
    const TrapFinding finding = trap.retire(guard.ticket);
    ASSERT_EQ(finding.count, 1u);
    EXPECT_FALSE(finding.culprits[0].access.writes);
    EXPECT_EQ(finding.culprits[0].begin, kPage);
    trap.retire(sample);
    EXPECT_TRUE(is_free());
    request.side = WatchedSide::source;
    EXPECT_EQ(trap.arm(request).why, Unwatched::write_combined);
}

TEST_F(AccessTrapSamples, endsWithTheMemoryAndWithTheSignal) {
    const WatchTicket first = armed();
    trap.remove_memory(slab.at());
    EXPECT_TRUE(is_free());
    EXPECT_EQ(trap.retire(first).end, WatchEnd::released);
    trap.add_memory(slab.at(), slab.bytes(), true);
    const WatchTicket second = armed();
    trap.give_up(slab.at(kPage), kPage, false);
    EXPECT_TRUE(is_free());
    trap.retire(second);
    EXPECT_EQ(trap.arm_reads({slab.at(), slab.bytes(), slab.at(), 0}).why, Unwatched::refused);
    trap.remove_memory(slab.at());
    trap.add_memory(slab.at(), slab.bytes(), true);
    const WatchTicket third = armed();
    trap.stop_guarding();
    EXPECT_TRUE(is_free());
    trap.retire(third);
    EXPECT_EQ(trap.arm_reads({slab.at(), slab.bytes(), slab.at(), 0}).why, Unwatched::off);
}
TEST_F(AccessTrapSamples, onlyWholePagesOfTheirOwn) {
    trap.remove_memory(slab.at());
    trap.add_memory(slab.at(100), kPage, true);
    EXPECT_EQ(trap.arm_reads({slab.at(100), kPage, slab.at(100), 0}).why, Unwatched::shared_page);
    trap.remove_memory(slab.at(100));
    trap.add_memory(slab.at(), slab.bytes(), false);
    EXPECT_EQ(trap.arm_reads({slab.at(), slab.bytes(), slab.at(), 0}).why, Unwatched::refused);
}
TEST_F(AccessTrapSamples, aForksChildHasItsRights) {
    const WatchTicket ticket = armed();
    const pid_t child = fork();
    if (child == 0) {
        store(0);
        _exit(read(kPage) == 1 && told.empty() ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    trap.retire(ticket);
    EXPECT_TRUE(is_free());
}

TEST_F(AccessTrapSamples, aFewPagesOfALargeAllocation) {
    constexpr std::size_t kPages = (AccessTrap::kMostSampledBytes / kPage) + 1000;
    Slab large(Kind::anonymous, kPages);
    trap.add_memory(large.at(), large.bytes(), true);
    const Armed sample = trap.arm_reads({large.at(), large.bytes(), large.at(large.bytes()) - 1, 0});
    ASSERT_TRUE(sample);
    EXPECT_TRUE(is_plain_data(large.at(), large.at(1000 * kPage)));
    EXPECT_FALSE(is_plain_data(large.at(1000 * kPage), large.at(1001 * kPage)));
    EXPECT_FALSE(is_plain_data(large.at(large.bytes()) - kPage, large.at(large.bytes())));
    trap.retire(sample.ticket);
    trap.remove_memory(large.at());
}

// After the allocation, copies 1 to 8, 16, 32, ...
TEST_F(AccessTrapSamples, areTakenByCount) {
    CombinedMemory memory(trap);
    memory.made(slab.at(), slab.bytes(), 5);
    EXPECT_EQ(memory.counts().samples, 1u);
    for (int copy = 1; copy <= 100; ++copy) {
        memory.used(slab.at(5 * kPage));
    }
    EXPECT_EQ(memory.counts().samples, 1u + 8 + 3);
    memory.used(slab.at() - 1);
    EXPECT_EQ(memory.counts().samples, 12u);
    read(0);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].pin_site, 5u);
    memory.end_all();
    EXPECT_TRUE(is_free());
    memory.goes(slab.at());
    const CombinedMemory::Counts counts = memory.counts();
    EXPECT_EQ(counts.allocations, 1u);
    EXPECT_EQ(counts.sampled, 1u);
    EXPECT_EQ(counts.faults, 1u);
}
TEST_F(AccessTrapSamples, theOldestEndsWhereTooManyAreUnderWay) {
    trap.remove_memory(slab.at());
    constexpr std::size_t kMany = CombinedMemory::kMostArmed + 1;
    Slab many(Kind::anonymous, kMany);
    CombinedMemory memory(trap);
    for (std::size_t i = 0; i < kMany; ++i) {
        memory.made(many.at(i * kPage), kPage, 0);
    }
    EXPECT_EQ(memory.counts().sampled, kMany);
    EXPECT_TRUE(is_plain_data(many.at(), many.at(kPage)));
    EXPECT_FALSE(is_plain_data(many.at(kPage), many.at(2 * kPage)));
    EXPECT_FALSE(is_plain_data(many.at((kMany - 1) * kPage), many.at(kMany * kPage)));
    for (std::size_t i = 0; i < kMany; ++i) {
        memory.goes(many.at(i * kPage));
    }
    EXPECT_TRUE(is_plain_data(many.at(), many.at(many.bytes())));
}

}  // namespace
}  // namespace pincheck
