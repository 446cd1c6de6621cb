// What copies leave in the host's page tables: the watches of races=watch and races=trap rest on it. The kernel's
// record of written pages is that of asynchronous write protection (userfaultfd(2), PAGEMAP_SCAN; Linux 6.7).
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gate.h"
#include "host_memory.h"
#include "interpose/kernel_page_watch.h"

using namespace conformance;
using pincheck::KernelPageWatch;
using pincheck::WatchRefusal;

namespace {

constexpr std::size_t kPages = 64;
constexpr std::size_t kBytes = kPages * pincheck::kPageBytes;

// The whole pages of some memory, under protection.
class Marks {
  public:
    explicit Marks(const char* memory)
        : begin_(pincheck::page_ceil(reinterpret_cast<std::uintptr_t>(memory))),
          end_(pincheck::page_floor(reinterpret_cast<std::uintptr_t>(memory) + kBytes)) {
        refusal_ = watch_.open();
        if (refusal_ == WatchRefusal::none) {
            added_ = watch_.add(begin_, end_);
        }
    }
    WatchRefusal refusal() const { return refusal_; }
    KernelPageWatch::Answer added() const { return added_; }
    char* first() const { return reinterpret_cast<char*>(begin_); }
    std::size_t bytes() const { return end_ - begin_; }
    void protect() { EXPECT_EQ(watch_.protect(begin_, end_), KernelPageWatch::Answer::done); }
    // Written since protect().
    std::size_t written() {
        std::size_t pages = 0;
        for (std::uintptr_t at = begin_; at < end_;) {
            pincheck::uffd::PageRegion regions[kPages];
            std::uint32_t count = 0;
            std::uintptr_t next = end_;
            EXPECT_EQ(watch_.scan(at, end_, false, regions, kPages, count, next), KernelPageWatch::Answer::done);
            for (std::uint32_t i = 0; i < count; ++i) {
                pages += (regions[i].end - regions[i].begin) / pincheck::kPageBytes;
            }
            at = next;
        }
        return pages;
    }

  private:
    std::uintptr_t begin_;
    std::uintptr_t end_;
    KernelPageWatch watch_;
    WatchRefusal refusal_{};
    KernelPageWatch::Answer added_{};
};

// Under the tool itself page-locked memory is the tool's to protect.
#define NEEDS(marks)                                                          \
    if ((marks).refusal() != WatchRefusal::none) {                            \
        GTEST_SKIP() << pincheck::refusal_text((marks).refusal());            \
    }                                                                         \
    if ((marks).added() == KernelPageWatch::Answer::busy) {                   \
        GTEST_SKIP() << "another userfaultfd of this process has the memory"; \
    }                                                                         \
    ASSERT_EQ((marks).added(), KernelPageWatch::Answer::done)

class MarksOfPages : public testing::TestWithParam<Kind> {
  protected:
    static bool all(const char* bytes, std::size_t count, char value) {
        return std::all_of(bytes, bytes + count, [&](char one) { return one == value; });
    }
    DeviceMemory device{kBytes};
    Stream stream;
};
INSTANTIATE_TEST_SUITE_P(Of, MarksOfPages, testing::Values(Kind::pinned, Kind::mapped, Kind::registered),
                         testing::PrintToStringParamName());

TEST_P(MarksOfPages, AreLeftByTheHostAlone) {
    HostMemory host(GetParam(), kBytes);
    Marks marks(host.data());
    NEEDS(marks);
    std::fill_n(host.data(), kBytes, 1);
    CUDA_OK(cudaMemsetAsync(device, 7, kBytes, stream));
    marks.protect();
    CUDA_OK(cudaMemcpyAsync(host.data(), device, kBytes, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(marks.written(), 0u) << "a download writes past the page tables";
    EXPECT_TRUE(all(host.data(), kBytes, 7));
    CUDA_OK(cudaMemcpyAsync(device, host.data(), kBytes, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(marks.written(), 0u) << "an upload does not write";
    static_cast<volatile char*>(marks.first())[2 * pincheck::kPageBytes + 5] = 3;
    EXPECT_EQ(marks.written(), 1u);
}

// The device goes on to write where the host may not.
TEST_P(MarksOfPages, DownloadsArriveInPagesThatAreTakenFromTheHost) {
    HostMemory host(GetParam(), kBytes);
    std::fill_n(host.data(), kBytes, 1);
    CUDA_OK(cudaMemsetAsync(device, 9, kBytes, stream));
    const std::uintptr_t begin = pincheck::page_ceil(reinterpret_cast<std::uintptr_t>(host.data()));
    const std::size_t bytes = pincheck::page_floor(reinterpret_cast<std::uintptr_t>(host.data()) + kBytes) - begin;
    void* const pages = reinterpret_cast<void*>(begin);
    ASSERT_EQ(mprotect(pages, bytes, PROT_NONE), 0);
    CUDA_OK(cudaMemcpyAsync(host.data(), device, kBytes, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    ASSERT_EQ(mprotect(pages, bytes, PROT_READ | PROT_WRITE), 0);
    EXPECT_TRUE(all(host.data(), kBytes, 9));
}

// What the driver does to a source inside the call is over when the call returns.
TEST(MarksOfPageableSources, AreNotLeftAfterTheCall) {
    for (const std::size_t bytes : {std::size_t{1000}, kBytes}) {
        HostMemory host(Kind::pageable, kBytes);
        DeviceMemory device(kBytes);
        Stream stream;
        Gate gate;
        Marks marks(host.data());
        NEEDS(marks);
        std::fill_n(host.data(), kBytes, 4);
        gate.close_in(stream);
        marks.protect();
        CUDA_OK(cudaMemcpyAsync(device, host.data(), bytes, cudaMemcpyHostToDevice, stream));
        marks.protect();
        gate.open();
        CUDA_OK(cudaStreamSynchronize(stream));
        EXPECT_EQ(marks.written(), 0u) << bytes;
        std::vector<char> back(bytes);
        CUDA_OK(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
        EXPECT_EQ(back, std::vector<char>(bytes, 4)) << bytes;
    }
}

}  // namespace
