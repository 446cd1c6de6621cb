// Memory of the kinds that are page-locked, and a write watch over it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "interpose/write_watch.h"

namespace pincheck {

constexpr std::size_t kPage = kPageBytes;

enum class Kind { shared, anonymous, huge };

// Pages in memory, all bytes 1.
class Slab {
  public:
    Slab(Kind kind, std::size_t pages) : bytes_(pages * kPage) {
        // Huge ones start at a multiple of 2 MiB.
        const std::size_t slack = kind == Kind::huge ? 2u << 20 : 0;
        mapped_bytes_ = bytes_ + slack;
        mapped_ =
            static_cast<unsigned char*>(mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                                             (kind == Kind::shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0));
        const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(mapped_);
        data_ = mapped_ + (slack != 0 ? (slack - start % slack) % slack : 0);
        madvise(data_, bytes_, kind == Kind::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        std::memset(data_, 1, bytes_);
    }
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;
    ~Slab() { munmap(mapped_, mapped_bytes_); }

    unsigned char* data() { return data_; }
    std::size_t bytes() const { return bytes_; }
    std::uintptr_t at(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(data_) + offset; }
    unsigned char& operator[](std::size_t offset) { return data_[offset]; }
    // A store that the compiler may not leave out.
    void write(std::size_t offset, unsigned char value = 7) {
        static_cast<volatile unsigned char*>(data_)[offset] = value;
    }

  private:
    unsigned char* mapped_ = nullptr;
    unsigned char* data_ = nullptr;
    std::size_t mapped_bytes_ = 0;
    std::size_t bytes_ = 0;
};

inline WatchRequest source(std::uintptr_t address, std::uint64_t bytes, std::uint64_t mark = 0) {
    return {address, bytes, WatchedSide::source, false, mark};
}
inline WatchRequest pageable(std::uintptr_t address, std::uint64_t bytes, std::uint64_t mark = 0) {
    return {address, bytes, WatchedSide::source, false, mark, true};
}
inline WatchRequest destination(std::uintptr_t address, std::uint64_t bytes, std::uint64_t mark = 0) {
    return {address, bytes, WatchedSide::destination, false, mark};
}

// Skipped where the kernel does not help, with its reason.
class WriteWatchTest : public testing::Test {
  protected:
    void SetUp() override {
        watch.open(WatchSettings{});
        if (watch.refusal() != WatchRefusal::none) {
            GTEST_SKIP() << refusal_text(watch.refusal());
        }
    }
    WatchTicket armed(const WatchRequest& request) {
        const Armed result = watch.arm(request);
        EXPECT_TRUE(result) << static_cast<int>(result.why);
        return result.ticket;
    }
    WriteWatch watch;
};

// On both kinds of memory that the CUDA driver makes or registers, and on huge pages.
class WriteWatchOnMemory : public WriteWatchTest, public testing::WithParamInterface<Kind> {
  protected:
    Slab slab{GetParam(), 1024};
    void SetUp() override {
        WriteWatchTest::SetUp();
        if (!IsSkipped()) {
            ASSERT_EQ(watch.add_memory(slab.at(), slab.bytes()), MemoryState::registered);
        }
    }
};

inline void expect_clean(const WatchFinding& finding) {
    EXPECT_EQ(finding.end, WatchEnd::complete);
    EXPECT_FALSE(finding.written());
    EXPECT_EQ(finding.begin, finding.end_byte);
    EXPECT_EQ(finding.written_pages, 0u);
}
inline void expect_written(const WatchFinding& finding, std::uint64_t begin, std::uint64_t end) {
    EXPECT_EQ(finding.end, WatchEnd::complete);
    EXPECT_TRUE(finding.written());
    EXPECT_EQ(finding.begin, begin);
    EXPECT_EQ(finding.end_byte, end);
}

}  // namespace pincheck
