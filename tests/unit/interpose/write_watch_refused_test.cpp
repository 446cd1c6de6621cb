// Where the kernel's help is refused, taken, or belongs to somebody else.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "write_watch_fixture.h"

namespace pincheck {
namespace {

// 0 when `body` returned true in a fork's child.
int in_child(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        _exit(body() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Descriptors of ours are those from 500 on that nobody had before.
std::vector<int> high_descriptors() {
    std::vector<int> found;
    for (int i = 500; i < 600; ++i) {
        if (fcntl(i, F_GETFD) >= 0) {
            found.push_back(i);
        }
    }
    return found;
}

bool install_filter() {
    sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program{1, allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// For mkstemp.
std::string temporary_name() {
    const char* directory = std::getenv("TMPDIR");
    return std::string(directory != nullptr ? directory : "/tmp") + "/XXXXXX";
}

class ProgramsOwn {
  public:
    ProgramsOwn() : descriptor_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | uffd::kUserModeOnly))) {
        uffd::Api api{uffd::kApi, uffd::kFeatures, 0};
        ioctl(descriptor_, uffd::kApiCall, &api);
    }
    ~ProgramsOwn() { close(descriptor_); }
    bool add(std::uintptr_t begin, std::size_t bytes) {
        uffd::Register request{{begin, bytes}, uffd::kRegisterWriteProtect, 0};
        return ioctl(descriptor_, uffd::kRegisterCall, &request) == 0;
    }
    int number() const { return descriptor_; }

  private:
    int descriptor_;
};

TEST_F(WriteWatchTest, memoryThatTheProgramWatchesItselfIsLeftToIt) {
    Slab slab(Kind::shared, 8);
    ProgramsOwn own;
    ASSERT_TRUE(own.add(slab.at(4 * kPage), 4 * kPage));
    EXPECT_EQ(watch.add_memory(slab.at(), 8 * kPage), MemoryState::busy);
    EXPECT_EQ(watch.arm(source(slab.at(), kPage)).why, Unwatched::busy);
    EXPECT_EQ(watch.stats().ranges_busy, 1u);
    // And removing it does not take it away from the program.
    EXPECT_EQ(watch.remove_memory(slab.at(), 0), 0u);
    EXPECT_EQ(watch.add_memory(slab.at(), 8 * kPage), MemoryState::busy);
}

TEST_F(WriteWatchTest, memoryThatWasRemovedIsFreeForTheProgramToWatch) {
    Slab slab(Kind::shared, 8);
    ProgramsOwn own;
    watch.add_memory(slab.at(), 4 * kPage + 100);
    watch.add_memory(slab.at(4 * kPage + 100), 2 * kPage);
    watch.remove_memory(slab.at(), 0);
    EXPECT_TRUE(own.add(slab.at(), 4 * kPage));
    EXPECT_FALSE(own.add(slab.at(4 * kPage), kPage));
    watch.remove_memory(slab.at(4 * kPage + 100), 0);
    EXPECT_TRUE(own.add(slab.at(4 * kPage), 4 * kPage));
}

TEST_F(WriteWatchTest, aRangeThatTheProgramWatchesDoesNotKeepOthersFromBeingWatched) {
    Slab slab(Kind::shared, 8);
    Slab other(Kind::shared, 8);
    ProgramsOwn own;
    ASSERT_TRUE(own.add(slab.at(), 8 * kPage));
    EXPECT_EQ(watch.add_memory(slab.at(), 8 * kPage), MemoryState::busy);
    ASSERT_EQ(watch.add_memory(other.at(), 8 * kPage), MemoryState::registered);
    const WatchTicket ticket = armed(source(other.at(), kPage));
    other.write(0);
    EXPECT_TRUE(watch.retire(ticket, 0).written());
}

TEST_F(WriteWatchTest, aFileMappedForReadingOnlyIsRefusedAndCounted) {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void* mapped = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    ASSERT_NE(mapped, MAP_FAILED);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    EXPECT_EQ(watch.add_memory(address, kPage), MemoryState::refused);
    EXPECT_EQ(watch.arm(source(address, kPage)).why, Unwatched::refused);
    EXPECT_EQ(watch.stats().ranges_refused, 1u);
    EXPECT_EQ(watch.remove_memory(address, 0), 0u);
    munmap(mapped, kPage);
}

// Asynchronous protection takes any memory of whole small pages, where the synchronous one takes anonymous and shared.
TEST_F(WriteWatchTest, aMappedFileIsWatched) {
    std::string path = temporary_name();
    const int file = mkstemp(path.data());
    unlink(path.c_str());
    ASSERT_EQ(ftruncate(file, 2 * kPage), 0);
    for (const int kind : {MAP_SHARED, MAP_PRIVATE}) {
        void* mapped = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, kind, file, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        const auto address = reinterpret_cast<std::uintptr_t>(mapped);
        ASSERT_EQ(watch.add_memory(address, 2 * kPage), MemoryState::registered);
        const WatchTicket ticket = armed(source(address, 2 * kPage));
        expect_clean(watch.check(ticket, 0));
        static_cast<volatile unsigned char*>(mapped)[kPage] = 1;
        expect_written(watch.retire(ticket, 0), kPage, 2 * kPage);
        watch.remove_memory(address, 0);
        munmap(mapped, 2 * kPage);
    }
    close(file);
}

TEST(WriteWatchRefused, underASeccompFilterNothingIsTriedAndTheReasonIsSaid) {
    EXPECT_EQ(in_child([] {
                  WriteWatch watch;
                  return install_filter() && !watch.open(WatchSettings{}) &&
                         watch.refusal() == WatchRefusal::seccomp_filter && high_descriptors().empty();
              }),
              0);
}

TEST(WriteWatchRefused, everyReasonHasAText) {
    for (int i = 0; i <= static_cast<int>(WatchRefusal::closed_by_program); ++i) {
        EXPECT_STRNE(refusal_text(static_cast<WatchRefusal>(i)), "unknown") << i;
    }
    EXPECT_EQ(refusal_of_userfaultfd(EPERM), WatchRefusal::not_permitted);
    EXPECT_EQ(refusal_of_userfaultfd(ENOSYS), WatchRefusal::no_userfaultfd);
    EXPECT_EQ(refusal_of_userfaultfd(EMFILE), WatchRefusal::no_resources);
}

TEST_F(WriteWatchTest, noPrivilegeIsNeeded) {
    if (getuid() != 0) {
        GTEST_SKIP() << "runs without privilege anyway";
    }
    EXPECT_EQ(in_child([] {
                  // What a program of nobody's has: dumpable, no capability.
                  if (setresuid(65534, 65534, 65534) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
                      return false;
                  }
                  WriteWatch own;
                  own.open(WatchSettings{});
                  Slab slab(Kind::shared, 2);
                  own.add_memory(slab.at(), slab.bytes());
                  const Armed ticket = own.arm(source(slab.at(), kPage));
                  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
                  const bool has_read = read(zero, slab.data(), 10) == 10;
                  return own.refusal() == WatchRefusal::none && has_read && own.retire(ticket.ticket, 0).written();
              }),
              0);
}

TEST_F(WriteWatchTest, theDescriptorsAreOutOfTheProgramsWayAndEndWithAnExec) {
    const std::vector<int> ours = high_descriptors();
    ASSERT_EQ(ours.size(), 2u);
    for (const int descriptor : ours) {
        EXPECT_EQ(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    }
    const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_LT(lowest, 500);
    close(lowest);
}

TEST_F(WriteWatchTest, aChildThatWritesAndClosesLeavesTheParentsWatchesAlone) {
    for (const Kind kind : {Kind::shared, Kind::anonymous}) {
        Slab slab(kind, 8);
        ASSERT_EQ(watch.add_memory(slab.at(), 8 * kPage), MemoryState::registered);
        const WatchTicket clean = armed(source(slab.at(), 4 * kPage));
        const WatchTicket written = armed(source(slab.at(4 * kPage), 4 * kPage));
        EXPECT_EQ(in_child([&] {
                      slab.write(0);
                      // Every member does nothing, before and after the descriptors are closed.
                      const bool nothing = watch.retire(clean, 0).end == WatchEnd::unknown &&
                                           !watch.arm(source(slab.at(), kPage)) &&
                                           watch.remove_memory(slab.at(), 0) == 0 && watch.stats().watches == 0;
                      watch.close_in_child();
                      return nothing && watch.check(clean, 0).end == WatchEnd::unknown && high_descriptors().empty();
                  }),
                  0);
        slab.write(5 * kPage);
        expect_clean(watch.retire(clean, 0));
        expect_written(watch.retire(written, 0), kPage, 2 * kPage);
        watch.remove_memory(slab.at(), 0);
    }
}

TEST_F(WriteWatchTest, aChildHasAWatchOfItsOwn) {
    Slab slab(Kind::anonymous, 4);
    watch.add_memory(slab.at(), 4 * kPage);
    const WatchTicket parents = armed(source(slab.at(), 4 * kPage));
    EXPECT_EQ(in_child([&] {
                  watch.close_in_child();
                  WriteWatch own;
                  own.open(WatchSettings{});
                  if (own.add_memory(slab.at(), 4 * kPage) != MemoryState::registered) {
                      return false;
                  }
                  const Armed ticket = own.arm(source(slab.at(), 4 * kPage));
                  slab.write(kPage);
                  return own.retire(ticket.ticket, 0).begin == kPage;
              }),
              0);
    expect_clean(watch.retire(parents, 0));
}

// In a child of its own, which may close what it likes.
bool survives_loss(const std::function<void()>& lose) {
    WriteWatch watch;
    watch.open(WatchSettings{});
    Slab slab(Kind::shared, 8);
    watch.add_memory(slab.at(), 8 * kPage);
    const Armed before = watch.arm(source(slab.at(), kPage));
    const Armed other = watch.arm(source(slab.at(2 * kPage), kPage));
    lose();
    slab.write(0);
    bool right = watch.retire(before.ticket, 0).end == WatchEnd::lost &&
                 watch.retire(other.ticket, 0).end == WatchEnd::lost &&
                 watch.refusal() == WatchRefusal::closed_by_program && watch.stats().lost == 2;
    // What comes later is judged by checksum.
    const Armed later = watch.arm(source(slab.at(), 2 * kPage));
    slab.write(kPage);
    const WatchFinding finding = watch.retire(later.ticket, 0);
    right = right && finding.written() && !finding.located;
    return right && watch.remove_memory(slab.at(), 0) == 0 && watch.add_memory(slab.at(), kPage) == MemoryState::plain;
}

TEST_F(WriteWatchTest, aProgramThatClosesAllDescriptorsMakesTheWatchesLost) {
    EXPECT_EQ(in_child([] {
                  return survives_loss([] {
                      for (int i = 3; i < 1024; ++i) {
                          close(i);
                      }
                  });
              }),
              0);
}

TEST_F(WriteWatchTest, aFileOfTheProgramsUnderOurNumberIsNotTouched) {
    EXPECT_EQ(in_child([] {
                  std::string path = temporary_name();
                  const int file = mkstemp(path.data());
                  unlink(path.c_str());
                  return survives_loss([&] {
                      for (const int descriptor : high_descriptors()) {
                          dup2(file, descriptor);
                      }
                  });
              }),
              0);
}

TEST_F(WriteWatchTest, theProgramsOwnUserfaultfdUnderOurNumberIsNotUsed) {
    EXPECT_EQ(in_child([] {
                  ProgramsOwn own;
                  Slab slab(Kind::shared, 4);
                  own.add(slab.at(), 4 * kPage);
                  const bool survives = survives_loss([&] {
                      for (const int descriptor : high_descriptors()) {
                          dup2(own.number(), descriptor);
                      }
                  });
                  // Still the program's.
                  WriteWatch other;
                  other.open(WatchSettings{});
                  return survives && other.add_memory(slab.at(), kPage) == MemoryState::busy;
              }),
              0);
}

TEST_F(WriteWatchTest, aCallThatFindsTheLossWhileAddingOrArmingGoesOnByChecksum) {
    const auto close_ours = [] {
        for (const int descriptor : high_descriptors()) {
            close(descriptor);
        }
    };
    EXPECT_EQ(
        in_child([&] {
            Slab slab(Kind::shared, 4);
            WriteWatch adding;
            adding.open(WatchSettings{});
            close_ours();
            if (adding.add_memory(slab.at(), kPage) != MemoryState::plain || !adding.arm(source(slab.at(), kPage))) {
                return false;
            }
            WriteWatch arming;
            arming.open(WatchSettings{});
            arming.add_memory(slab.at(), kPage);
            close_ours();
            const Armed ticket = arming.arm(source(slab.at(), kPage));
            slab.write(0);
            return arming.retire(ticket.ticket, 0).written() && arming.stats().by_checksum == 1;
        }),
        0);
}

TEST(WriteWatchCaps, rangesPastTheCapOnMappingsAreJudgedByChecksum) {
    WriteWatch watch;
    WatchSettings settings;
    settings.most_mappings = 4;
    watch.open(settings);
    if (watch.refusal() != WatchRefusal::none) {
        GTEST_SKIP() << refusal_text(watch.refusal());
    }
    Slab slab(Kind::anonymous, 1024);
    EXPECT_EQ(watch.add_memory(slab.at(), kPage), MemoryState::registered);
    EXPECT_EQ(watch.add_memory(slab.at(2 * kPage), kPage), MemoryState::registered);
    EXPECT_EQ(watch.add_memory(slab.at(4 * kPage), 600 * kPage), MemoryState::capped);
    EXPECT_EQ(watch.stats().ranges_capped, 1u);
    EXPECT_EQ(watch.stats().mappings, 4u);
    const Armed small = watch.arm(source(slab.at(4 * kPage), kPage));
    ASSERT_TRUE(small);
    slab.write(4 * kPage);
    EXPECT_TRUE(watch.retire(small.ticket, 0).written());
    EXPECT_EQ(watch.arm(source(slab.at(4 * kPage), 600 * kPage)).why, Unwatched::capped);
    EXPECT_EQ(watch.arm(destination(slab.at(4 * kPage), kPage)).why, Unwatched::capped);
    watch.remove_memory(slab.at(), 0);
    watch.remove_memory(slab.at(4 * kPage), 0);
    EXPECT_EQ(watch.add_memory(slab.at(4 * kPage), kPage), MemoryState::registered);
}

TEST(WriteWatchCaps, theCapIsHalfOfWhatTheProcessMayHave) {
    WriteWatch watch;
    watch.open(WatchSettings{});
    FILE* file = fopen("/proc/sys/vm/max_map_count", "r");
    unsigned count = 0;
    ASSERT_TRUE(file != nullptr && fscanf(file, "%u", &count) == 1);
    fclose(file);
    EXPECT_EQ(watch.stats().most_mappings, count / 2);
}

TEST_F(WriteWatchTest, moreWatchesThanThereIsRoomForAreCounted) {
    Slab slab(Kind::shared, 16);
    watch.add_memory(slab.at(), slab.bytes());
    std::vector<WatchTicket> tickets;
    for (std::uint32_t i = 0; i < WatchPages::kMaxWatches; ++i) {
        tickets.push_back(armed(source(slab.at(), 16 * kPage)));
    }
    EXPECT_EQ(watch.arm(source(slab.at(), kPage)).why, Unwatched::no_room);
    slab.write(3 * kPage);
    for (const WatchTicket ticket : tickets) {
        const WatchFinding finding = watch.retire(ticket, 0);
        ASSERT_EQ(finding.begin, 3 * kPage);
        ASSERT_EQ(finding.written_pages, 1u);
    }
    EXPECT_TRUE(watch.arm(source(slab.at(), kPage)));
}

TEST_F(WriteWatchTest, edgesPastTheRoomForThemAreUnwatchedAndCounted) {
    Slab slab(Kind::shared, 4);
    watch.add_memory(slab.at(), slab.bytes());
    std::vector<WatchTicket> tickets;
    for (std::uint32_t i = 0; i < EdgeBytes::kLargeBlocks; ++i) {
        tickets.push_back(armed(source(slab.at(), 2 * kPage + 1000)));
    }
    const Armed result = watch.arm(source(slab.at(), 2 * kPage + 1000));
    ASSERT_TRUE(result);
    EXPECT_EQ(result.why, Unwatched::no_room);
    EXPECT_EQ(result.unwatched_bytes, 1000u);
    EXPECT_EQ(watch.arm(source(slab.at(), 1000)).why, Unwatched::no_room);
    slab.write(2 * kPage);
    EXPECT_FALSE(watch.retire(result.ticket, 0).written());
    expect_written(watch.retire(tickets[0], 0), 2 * kPage, 2 * kPage + 1);
    EXPECT_EQ(watch.arm(source(slab.at(), 1000)).why, Unwatched::none);
}

}  // namespace
}  // namespace pincheck
