// Sources that nobody added: registered for their watches alone, and given back with the last of them.
#include <fcntl.h>

#include "interpose/kernel_page_watch.h"
#include "write_watch_fixture.h"

namespace pincheck {
namespace {

class WriteWatchOfPageable : public WriteWatchTest, public testing::WithParamInterface<Kind> {
  protected:
    // The kernel gives a page to one userfaultfd at a time.
    bool is_registered(std::size_t page, std::size_t pages = 1) {
        KernelPageWatch other;
        EXPECT_EQ(other.open(), WatchRefusal::none);
        const KernelPageWatch::Answer answer = other.add(slab.at(page * kPage), slab.at((page + pages) * kPage));
        return answer == KernelPageWatch::Answer::busy;
    }
    Slab slab{GetParam(), 64};
};
INSTANTIATE_TEST_SUITE_P(Memory, WriteWatchOfPageable, testing::Values(Kind::shared, Kind::anonymous),
                         [](const auto& parameter) {
                             return parameter.param == Kind::shared ? "shared" : "anonymous";
                         });

TEST_P(WriteWatchOfPageable, writesAreFoundAndThePagesGivenBack) {
    const std::size_t start = kPage + 100;
    WatchTicket ticket = armed(pageable(slab.at(start), 3 * kPage));
    EXPECT_TRUE(is_registered(1));
    EXPECT_FALSE(is_registered(5));
    slab.write(2 * kPage + 5);
    expect_written(watch.retire(ticket, 0), kPage - 100, 2 * kPage - 100);
    EXPECT_FALSE(is_registered(1, 4));
    ticket = armed(pageable(slab.at(start), 3 * kPage));
    slab.write(start - 1);
    slab.write(start + 3 * kPage);
    expect_clean(watch.retire(ticket, 0));
}

TEST_P(WriteWatchOfPageable, aPageIsGivenBackWithItsLastWatch) {
    const WatchTicket first = armed(pageable(slab.at(2 * kPage), 4 * kPage));
    const WatchTicket second = armed(pageable(slab.at(4 * kPage), 4 * kPage));
    expect_clean(watch.retire(first, 0));
    EXPECT_FALSE(is_registered(2, 2));
    EXPECT_TRUE(is_registered(4));
    slab.write(5 * kPage);
    expect_written(watch.retire(second, 0), kPage, 2 * kPage);
    EXPECT_FALSE(is_registered(2, 6));
}

TEST_P(WriteWatchOfPageable, aBufferThatIsGoneSaysSo) {
    const WatchTicket ticket = armed(pageable(slab.at(8 * kPage), 4 * kPage));
    munmap(slab.data() + 9 * kPage, kPage);
    EXPECT_EQ(watch.retire(ticket, 0).end, WatchEnd::mapping_gone);
}

TEST_P(WriteWatchOfPageable, memoryThatWasAddedIsNotPageable) {
    ASSERT_EQ(watch.add_memory(slab.at(4 * kPage + 100), 4 * kPage), MemoryState::registered);
    EXPECT_EQ(watch.arm(pageable(slab.at(4 * kPage), 50)).why, Unwatched::shared_page);
    EXPECT_EQ(watch.arm(pageable(slab.at(kPage), 4 * kPage)).why, Unwatched::shared_page);
    const WatchTicket ticket = armed(source(slab.at(4 * kPage + 100), 4 * kPage));
    slab.write(4 * kPage + 100);
    expect_written(watch.retire(ticket, 0), 0, 1);
}

// Registered memory (cudaHostRegister) may come to lie beside a source that is being watched, and over it.
TEST_P(WriteWatchOfPageable, memoryThatIsAddedMeanwhileKeepsItsPages) {
    const WatchTicket beside = armed(pageable(slab.at(10 * kPage), 2 * kPage + 100));
    ASSERT_EQ(watch.add_memory(slab.at(12 * kPage + 200), 2 * kPage), MemoryState::registered);
    expect_clean(watch.retire(beside, 0));
    EXPECT_FALSE(is_registered(10, 2));
    EXPECT_TRUE(is_registered(12));
    WatchTicket ticket = armed(source(slab.at(12 * kPage + 200), 2 * kPage));
    slab.write(12 * kPage + 300);
    expect_written(watch.retire(ticket, 0), 100, 101);

    const WatchTicket below = armed(pageable(slab.at(20 * kPage), 4 * kPage));
    ASSERT_EQ(watch.add_memory(slab.at(20 * kPage), 4 * kPage), MemoryState::registered);
    EXPECT_EQ(watch.remove_memory(slab.at(20 * kPage), 0), 0u);
    EXPECT_EQ(watch.retire(below, 0).end, WatchEnd::lost) << "page-locking looks like writing";
    EXPECT_FALSE(is_registered(20, 4));
}

TEST_P(WriteWatchOfPageable, whatTakesTooManyMappingsIsNotWatched) {
    WriteWatch few;
    WatchSettings settings;
    settings.most_mappings = 4;
    few.open(settings);
    const Armed first = few.arm(pageable(slab.at(0), kPage));
    const Armed second = few.arm(pageable(slab.at(4 * kPage), kPage));
    EXPECT_TRUE(first && second);
    EXPECT_EQ(few.arm(pageable(slab.at(8 * kPage), kPage)).why, Unwatched::capped);
    few.retire(first.ticket, 0);
    EXPECT_TRUE(few.arm(pageable(slab.at(8 * kPage), kPage)));
}

// With asynchronous protection the kernel takes every kind of mapping.
TEST_F(WriteWatchTest, aMappedFileIsWatchedWhileItIsMapped) {
    const int file = open("/proc/self/exe", O_RDONLY);
    void* mapped = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    expect_clean(watch.retire(armed(pageable(address, 100)), 0));
    const WatchTicket ticket = armed(pageable(address, 100));
    *static_cast<volatile char*>(mapped) = '#';  // instead of 0x7f
    expect_written(watch.retire(ticket, 0), 0, 1);
    munmap(mapped, kPage);
    EXPECT_EQ(watch.arm(pageable(address, 100)).why, Unwatched::refused);
    close(file);
}

}  // namespace
}  // namespace pincheck
