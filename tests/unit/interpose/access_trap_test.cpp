// Accesses to buffers in flight, caught at the instruction: guarded destinations by this test's own handler of SIGSEGV,
// protected sources by a thread of its own, each of which tells the trap as the tool's do.
#include "interpose/access_trap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "access_trap_faults.h"
#include "interpose/page_rights.h"
#include "write_watch_fixture.h"

namespace pincheck {
namespace {

class AccessTrapTest : public testing::Test {
  protected:
    void SetUp() override {
        opened = trap.open(true, true);
        ASSERT_TRUE(opened);
        faults.begin(trap);
        if (trap.traps(WatchedSide::source)) {
            // Ends when the descriptor does: with the process.
            std::thread([&trap = trap] {
                WriteFaults::Fault fault;
                while (trap.faults().next(fault)) {
                    TrapAccess access;
                    access.address = fault.address;
                    access.writes = true;
                    access.site = AccessTrapFaults::site;
                    trap.release(access);
                }
            }).detach();
        }
        trap.add_memory(slab.at(), slab.bytes());
    }
    void TearDown() override { faults.end(); }
    bool traps_sources() const { return trap.traps(WatchedSide::source); }
    WatchTicket armed(const WatchRequest& request) {
        const Armed result = trap.arm(request);
        EXPECT_TRUE(result) << static_cast<int>(result.why);
        EXPECT_TRUE(AccessTrap::is_own(result.ticket));
        return result.ticket;
    }
    unsigned char read(std::size_t offset) { return static_cast<volatile unsigned char*>(slab.data())[offset]; }

    // Neither is ever destroyed: a thread waits for faults of theirs.
    template <class T, class... A>
    static T& kept(A... arguments) {
        static std::vector<T*>& all = *new std::vector<T*>;
        return *all.emplace_back(new T(arguments...));
    }
    AccessTrap& trap = kept<AccessTrap>();
    Slab& slab = kept<Slab>(Kind::shared, std::size_t{64});
    AccessTrapFaults faults;
    bool opened = false;
};

#define NEEDS_SOURCES()                                                                        \
    if (!traps_sources()) {                                                                    \
        GTEST_SKIP() << "userfaultfd is not permitted here for faults from within the kernel"; \
    }

void expect_silent(const TrapFinding& finding) {
    EXPECT_EQ(finding.end, WatchEnd::complete);
    EXPECT_EQ(finding.count, 0u);
    EXPECT_FALSE(finding.is_changed());
}
void expect_access(const TrapFinding& finding, bool writes, std::uint64_t begin, std::uint64_t end,
                   std::uint32_t site = 1) {
    EXPECT_EQ(finding.end, WatchEnd::complete);
    ASSERT_EQ(finding.count, 1u);
    EXPECT_EQ(finding.culprits[0].access.writes, writes);
    EXPECT_EQ(finding.culprits[0].access.site, site);
    EXPECT_EQ(finding.culprits[0].begin, begin);
    EXPECT_EQ(finding.culprits[0].end, end);
}

TEST_F(AccessTrapTest, aReadOfADestinationIsCaughtAndGoesOn) {
    slab[5 * kPage] = 42;
    const WatchTicket ticket = armed(destination(slab.at(4 * kPage), 4 * kPage));
    EXPECT_EQ(read(5 * kPage), 42);
    expect_access(trap.retire(ticket), false, kPage, kPage + 1);
    EXPECT_TRUE(is_plain_data(slab.at(), slab.at(slab.bytes())));
}

TEST_F(AccessTrapTest, aWriteOfADestinationIsCaughtAndGoesOn) {
    const WatchTicket ticket = armed(destination(slab.at(4 * kPage), 4 * kPage));
    slab.write(4 * kPage + 9, 77);
    EXPECT_EQ(read(4 * kPage + 9), 77) << "the page is open now";
    expect_access(trap.retire(ticket), true, 9, 10);
}

TEST_F(AccessTrapTest, aReadOfASourceIsNone) {
    NEEDS_SOURCES();
    const WatchTicket ticket = armed(source(slab.at(100), 2 * kPage));
    EXPECT_EQ(read(200), 1);
    expect_silent(trap.retire(ticket));
    slab.write(200);
}

TEST_F(AccessTrapTest, aStoreIntoASourceIsCaughtWhereverItComesFrom) {
    NEEDS_SOURCES();
    const WatchTicket ticket = armed(source(slab.at(100), 4 * kPage));
    slab.write(kPage + 7, 5);
    const int file = ::open("/dev/zero", O_RDONLY);
    EXPECT_EQ(::read(file, slab.data() + 3 * kPage, 10), 10) << "a system call works as ever";
    close(file);
    EXPECT_EQ(slab[kPage + 7], 5);
    expect_access(trap.retire(ticket), true, kPage + 7 - 100, 3 * kPage - 100 + 1);
}

TEST_F(AccessTrapTest, neighboursOnSharedPagesAreNotBlamed) {
    const WatchTicket result = armed(destination(slab.at(10 * kPage + 100), 2 * kPage));
    slab.write(10 * kPage);
    EXPECT_EQ(read(12 * kPage + 100), 1);
    expect_silent(trap.retire(result));
    if (traps_sources()) {
        const WatchTicket ticket = armed(source(slab.at(20 * kPage + 100), 1000));
        slab.write(20 * kPage + 99);
        slab.write(20 * kPage + 1100);
        expect_silent(trap.retire(ticket));
    }
}

TEST_F(AccessTrapTest, whatIsChangedBehindANeighboursStoreIsCompared) {
    NEEDS_SOURCES();
    const WatchTicket ticket = armed(source(slab.at(100), 2 * kPage));
    slab.write(0);
    slab.write(300, 99);
    slab.write(2 * kPage + 200);
    slab.write(2 * kPage + 50, 98);
    TrapFinding finding = trap.retire(ticket);
    EXPECT_EQ(finding.count, 0u);
    EXPECT_EQ(finding.changed_begin, 200u);
    EXPECT_EQ(finding.changed_end, 201u);
    // The store that was caught on that page is told as such, and not again.
    const WatchTicket again = armed(source(slab.at(100), 1000));
    slab.write(300, 97);
    slab.write(0);
    finding = trap.retire(again);
    expect_access(finding, true, 200, 201);
    EXPECT_FALSE(finding.is_changed());
}

TEST_F(AccessTrapTest, onePageOfSeveralCopiesTellsAllOfThem) {
    const WatchTicket first = armed(destination(slab.at(), 8 * kPage));
    const WatchTicket second = armed(destination(slab.at(4 * kPage), 8 * kPage));
    EXPECT_EQ(read(5 * kPage), 1);
    expect_access(trap.retire(first), false, 5 * kPage, 5 * kPage + 1);
    EXPECT_EQ(read(6 * kPage), 1);
    const TrapFinding rest = trap.retire(second);
    expect_access(rest, false, kPage, 2 * kPage + 1);
}

TEST_F(AccessTrapTest, theEndOfOneLeavesTheOthersGuarded) {
    const WatchTicket first = armed(destination(slab.at(), 8 * kPage));
    const WatchTicket second = armed(destination(slab.at(4 * kPage), 8 * kPage));
    expect_silent(trap.retire(first));
    EXPECT_EQ(read(2 * kPage), 1);
    slab.write(5 * kPage);
    expect_access(trap.retire(second), true, kPage, kPage + 1);
    if (traps_sources()) {
        const WatchTicket one = armed(source(slab.at(20 * kPage), 4 * kPage));
        const WatchTicket other = armed(source(slab.at(20 * kPage), 4 * kPage));
        expect_silent(trap.retire(one));
        slab.write(21 * kPage);
        expect_access(trap.retire(other), true, kPage, kPage + 1);
    }
}

TEST_F(AccessTrapTest, aDestinationThatIsUploadedNextIsGuardedForBoth) {
    NEEDS_SOURCES();
    const WatchTicket result = armed(destination(slab.at(), 2 * kPage));
    const WatchTicket upload = armed(source(slab.at(), 2 * kPage));
    slab.write(10);
    expect_access(trap.retire(result), true, 10, 11);
    expect_access(trap.retire(upload), true, 10, 11);
}

TEST_F(AccessTrapTest, accessesOfOnePlaceAreOneAndTooManyReleaseTheCopy) {
    const WatchTicket ticket = armed(destination(slab.at(), 64 * kPage));
    for (std::size_t page = 0; page < 64; ++page) {
        AccessTrapFaults::site = page < 2 ? 7 : 8;
        EXPECT_EQ(read(page * kPage), 1);
    }
    AccessTrapFaults::site = 1;
    const TrapFinding finding = trap.retire(ticket);
    ASSERT_EQ(finding.count, 2u);
    EXPECT_EQ(finding.culprits[0].access.site, 7u);
    EXPECT_EQ(finding.culprits[0].end, kPage + 1);
    EXPECT_EQ(finding.culprits[1].access.site, 8u);
    EXPECT_EQ(finding.culprits[1].begin, 2 * kPage);
    EXPECT_LE(finding.faults, AccessTrap::kMostFaults);
}

TEST_F(AccessTrapTest, aWholeRangeIsReleasedAtOnceForASystemCall) {
    const WatchTicket ticket = armed(destination(slab.at(), 8 * kPage));
    TrapAccess access;
    access.address = slab.at(kPage + 10);
    access.bytes = 3 * kPage;
    access.call = 5;
    access.in_system_call = true;
    EXPECT_EQ(trap.look(access.address, access.bytes, false), AccessTrap::Target::minded);
    trap.release(access);
    const int file = ::open("/dev/null", O_WRONLY);
    EXPECT_EQ(write(file, slab.data() + kPage + 10, 3 * kPage), static_cast<ssize_t>(3 * kPage));
    close(file);
    const TrapFinding finding = trap.retire(ticket);
    ASSERT_EQ(finding.count, 1u);
    EXPECT_EQ(finding.culprits[0].access.call, 5u);
    EXPECT_EQ(finding.culprits[0].begin, kPage + 10);
    EXPECT_EQ(finding.culprits[0].end, 4 * kPage + 10);
}

TEST_F(AccessTrapTest, nobodysAccessIsLetGoOnUntold) {
    const WatchTicket ticket = armed(destination(slab.at(), 2 * kPage));
    TrapAccess access;
    access.address = slab.at();
    access.is_nobodys = true;
    trap.release(access);
    EXPECT_EQ(slab[0], 1);
    expect_silent(trap.retire(ticket));
}

TEST_F(AccessTrapTest, releasedMemoryEndsItsWatches) {
    const WatchTicket result = armed(destination(slab.at(), 2 * kPage));
    EXPECT_EQ(read(kPage), 1);
    trap.remove_memory(slab.at());
    EXPECT_EQ(read(0), 1) << "nothing is guarded any more";
    const TrapFinding finding = trap.retire(result);
    EXPECT_EQ(finding.end, WatchEnd::released);
    EXPECT_EQ(finding.count, 1u);
    EXPECT_EQ(trap.arm(destination(slab.at(), kPage)).why, Unwatched::not_added);
    EXPECT_EQ(trap.look(slab.at(), 1, false), AccessTrap::Target::foreign);
}

TEST_F(AccessTrapTest, unmappedMemoryIsSaid) {
    const WatchTicket result = armed(destination(slab.at(40 * kPage), 2 * kPage));
    munmap(slab.data() + 40 * kPage, 2 * kPage);
    EXPECT_EQ(trap.retire(result).end, WatchEnd::mapping_gone);
    if (traps_sources()) {
        const WatchTicket upload = armed(source(slab.at(44 * kPage), 2 * kPage));
        munmap(slab.data() + 44 * kPage, 2 * kPage);
        EXPECT_EQ(trap.retire(upload).end, WatchEnd::mapping_gone);
    }
}

TEST_F(AccessTrapTest, memoryWhoseRightsTheProgramChangesIsItsOwn) {
    const WatchTicket ticket = armed(destination(slab.at(), 4 * kPage));
    trap.give_up(slab.at(kPage), kPage, false);
    ASSERT_EQ(mprotect(slab.data() + kPage, kPage, PROT_READ), 0);
    EXPECT_EQ(read(kPage), 1);
    expect_silent(trap.retire(ticket));
    EXPECT_EQ(trap.arm(destination(slab.at(), 4 * kPage)).why, Unwatched::refused);
    EXPECT_FALSE(is_plain_data(slab.at(), slab.at(4 * kPage))) << "the right that was taken is not given back";
    mprotect(slab.data() + kPage, kPage, PROT_READ | PROT_WRITE);
}

TEST_F(AccessTrapTest, memoryThatIsAboutToBeUnmappedIsSaidToBeGoneWhateverComesThere) {
    const WatchTicket result = armed(destination(slab.at(30 * kPage), 4 * kPage));
    const Armed upload = trap.arm(source(slab.at(31 * kPage), kPage));
    trap.give_up(slab.at(31 * kPage), kPage, true);
    void* there = slab.data() + 31 * kPage;
    munmap(there, kPage);
    ASSERT_EQ(mmap(there, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), there);
    slab.write(31 * kPage);
    EXPECT_EQ(trap.retire(result).end, WatchEnd::mapping_gone);
    if (upload) {
        EXPECT_EQ(trap.retire(upload.ticket).end, WatchEnd::mapping_gone);
    }
}

TEST_F(AccessTrapTest, onlyReadableAndWritableMemoryIsGuarded) {
    Slab other(Kind::anonymous, 4);
    ASSERT_EQ(mprotect(other.data() + kPage, kPage, PROT_READ), 0);
    trap.add_memory(other.at(), other.bytes());
    EXPECT_EQ(trap.arm(destination(other.at(), 4 * kPage)).why, Unwatched::refused);
    trap.remove_memory(other.at());
}

TEST_F(AccessTrapTest, partsOfPagesAreNotGuarded) {
    EXPECT_EQ(trap.arm(destination(slab.at(10), kPage)).why, Unwatched::shared_page);
    const Armed most = trap.arm(destination(slab.at(10), 2 * kPage));
    EXPECT_TRUE(most);
    EXPECT_EQ(most.unwatched_bytes, kPage);
    expect_silent(trap.retire(most.ticket));
    WatchRequest request = source(slab.at(), kPage);
    request.write_combined = true;
    EXPECT_EQ(trap.arm(request).why, Unwatched::write_combined);
}

TEST_F(AccessTrapTest, tooManyGuardsAreNotArmed) {
    std::vector<WatchTicket> tickets;
    for (std::uint32_t i = 0; i < AccessTrap::kMostGuards; ++i) {
        tickets.push_back(armed(destination(slab.at(i % 64 * kPage), kPage)));
    }
    EXPECT_EQ(trap.arm(destination(slab.at(), kPage)).why, Unwatched::no_room);
    for (const WatchTicket& ticket : tickets) {
        expect_silent(trap.retire(ticket));
    }
    EXPECT_TRUE(is_plain_data(slab.at(), slab.at(slab.bytes())));
}

TEST_F(AccessTrapTest, guardingStopsWhereTheSignalIsGone) {
    const WatchTicket ticket = armed(destination(slab.at(), 2 * kPage));
    trap.stop_guarding();
    EXPECT_TRUE(is_plain_data(slab.at(), slab.at(slab.bytes())));
    EXPECT_EQ(trap.arm(destination(slab.at(), kPage)).why, Unwatched::off);
    expect_silent(trap.retire(ticket));
}

TEST_F(AccessTrapTest, aForksChildHasItsRights) {
    armed(destination(slab.at(), 2 * kPage));
    if (traps_sources()) {
        armed(source(slab.at(8 * kPage), kPage));
    }
    const pid_t child = fork();
    if (child == 0) {
        slab.write(kPage);
        slab.write(8 * kPage);
        const bool off = !trap.arm(destination(slab.at(), kPage)) && trap.retire({1, 1}).end == WatchEnd::unknown;
        _exit(read(kPage) == 7 && off ? 0 : 1);
    }
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read(0), 1) << "and the parent's are as they were";
}

// Many threads, copies that overlap: an access is told to every copy that it breaks, as far as its page was not open
// already, and nothing is told that was not made.
TEST_F(AccessTrapTest, manyThreadsAndCopies) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 200;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int number = 0; number < kThreads; ++number) {
        threads.emplace_back([&, number] {
            std::mt19937 random(static_cast<unsigned>(number));
            const std::size_t own = static_cast<std::size_t>(number) * 16;  // pages of this thread
            for (int round = 0; round < kRounds; ++round) {
                const bool upload = traps_sources() && random() % 2 == 0;
                const std::size_t begin = own * kPage + random() % (8 * kPage);
                const std::size_t bytes = 2 * kPage + random() % (5 * kPage);
                const Armed result =
                    trap.arm(upload ? source(slab.at(begin), bytes) : destination(slab.at(begin), bytes));
                const std::size_t at = begin + kPage + random() % (bytes - 2 * kPage);
                const bool touches = random() % 2 == 0;
                if (touches) {
                    slab.write(at);
                }
                const TrapFinding finding = trap.retire(result.ticket);
                wrong += !result || finding.count != (touches ? 1u : 0u) || finding.is_changed() ||
                         (touches && finding.culprits[0].begin != at - begin);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(is_plain_data(slab.at(), slab.at(slab.bytes())));
}

TEST(PageRights, plain_data_is_read_and_written_and_not_run) {
    Slab data(Kind::anonymous, 8);
    EXPECT_TRUE(is_plain_data(data.at(), data.at(8 * kPage)));
    EXPECT_TRUE(is_plain_data(data.at(kPage), data.at(2 * kPage)));
    for (const int rights : {PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE | PROT_EXEC}) {
        ASSERT_EQ(mprotect(data.data() + 3 * kPage, kPage, rights), 0);
        EXPECT_FALSE(is_plain_data(data.at(), data.at(8 * kPage))) << rights;
        EXPECT_TRUE(is_plain_data(data.at(), data.at(3 * kPage))) << rights;
    }
    munmap(data.data() + 3 * kPage, kPage);
    EXPECT_FALSE(is_plain_data(data.at(), data.at(8 * kPage))) << "a hole";
    EXPECT_FALSE(is_plain_data(data.at(3 * kPage), data.at(4 * kPage)));
    mmap(data.data() + 3 * kPage, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

}  // namespace
}  // namespace pincheck
