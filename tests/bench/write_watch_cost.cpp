// write_watch_cost [ROUNDS]: what watching a buffer costs, medians in nanoseconds. No GPU, no CUDA: memory of the kinds
// that the driver page-locks (shared like /dev/zero's, anonymous, anonymous in huge pages).
//
// "write" is the program's own cost, a page: the first store into each protected page, of all pages.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "interpose/clock.h"
#include "interpose/write_watch.h"

namespace {

using namespace pincheck;

constexpr std::size_t kSlab = 128u << 20;

std::uint64_t median(std::vector<std::uint64_t>& times) {
    std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

struct Costs {
    std::vector<std::uint64_t> arm;
    std::vector<std::uint64_t> check;
    std::vector<std::uint64_t> retire;
    std::vector<std::uint64_t> write;
    std::vector<std::uint64_t> dirty_retire;
};

// One watch at a time, as a loop that copies, waits and refills makes them.
void measure(WriteWatch& watch, const char* kind, unsigned char* data, std::size_t bytes, int rounds) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    Costs costs;
    for (int i = 0; i < rounds; ++i) {
        const bool writes = i % 4 == 3;
        const std::uint64_t begin = now_ns();
        const Armed armed = watch.arm({address, bytes, WatchedSide::source, false, 0});
        const std::uint64_t is_armed = now_ns();
        watch.check(armed.ticket, 0);
        const std::uint64_t is_checked = now_ns();
        for (std::size_t at = 0; writes && at < bytes; at += kPageBytes) {
            static_cast<volatile unsigned char*>(data)[at] = 3;
        }
        const std::uint64_t is_written = now_ns();
        watch.retire(armed.ticket, 0);
        const std::uint64_t end = now_ns();
        costs.arm.push_back(is_armed - begin);
        costs.check.push_back(is_checked - is_armed);
        (writes ? costs.dirty_retire : costs.retire).push_back(end - is_written);
        if (writes) {
            costs.write.push_back((is_written - is_checked) / ((bytes + kPageBytes - 1) / kPageBytes));
        }
        std::memset(data, 1, bytes);
    }
    std::printf("%-10s %10zu B  arm %8lu  check %8lu  retire %8lu  written: retire %8lu, write %5lu a page\n", kind,
                bytes, median(costs.arm), median(costs.check), median(costs.retire), median(costs.dirty_retire),
                median(costs.write));
}

// `others` copies of the same buffer in flight already.
void measure_overlap(WriteWatch& watch, unsigned char* data, std::size_t bytes, int others, int rounds) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    std::vector<WatchTicket> tickets;
    for (int i = 0; i < others; ++i) {
        tickets.push_back(watch.arm({address, bytes, WatchedSide::source, false, 0}).ticket);
    }
    std::vector<std::uint64_t> arm;
    std::vector<std::uint64_t> retire;
    for (int i = 0; i < rounds; ++i) {
        const std::uint64_t begin = now_ns();
        const Armed armed = watch.arm({address, bytes, WatchedSide::source, false, 0});
        const std::uint64_t is_armed = now_ns();
        watch.retire(armed.ticket, 0);
        arm.push_back(is_armed - begin);
        retire.push_back(now_ns() - is_armed);
    }
    for (const WatchTicket ticket : tickets) {
        watch.retire(ticket, 0);
    }
    std::printf("%4d more on it %6zu B  arm %8lu  retire %8lu\n", others, bytes, median(arm), median(retire));
}

void measure_memory(WriteWatch& watch, unsigned char* data, int rounds) {
    std::vector<std::uint64_t> add;
    std::vector<std::uint64_t> remove;
    for (int i = 0; i < rounds; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(data) + 2 * static_cast<std::size_t>(i) * kPageBytes;
        const std::uint64_t begin = now_ns();
        watch.add_memory(address, kPageBytes);
        add.push_back(now_ns() - begin);
    }
    for (int i = 0; i < rounds; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(data) + 2 * static_cast<std::size_t>(i) * kPageBytes;
        const std::uint64_t begin = now_ns();
        watch.remove_memory(address, 0);
        remove.push_back(now_ns() - begin);
    }
    std::printf("one page       add_memory %6lu  remove_memory %6lu  (%d ranges)\n", median(add), median(remove),
                rounds);
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 400;
    if (rounds < 4) {
        return 2;
    }
    WriteWatch watch;
    watch.open(WatchSettings{});
    std::printf("%s\n", refusal_text(watch.refusal()));
    for (const char* kind : {"shared", "anonymous", "huge"}) {
        const int flags = kind[0] == 's' ? MAP_SHARED : MAP_PRIVATE;
        auto* memory =
            static_cast<unsigned char*>(mmap(nullptr, kSlab, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0));
        if (memory == MAP_FAILED) {
            return 1;
        }
        madvise(memory, kSlab, kind[0] == 'h' ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        std::memset(memory, 1, kSlab);
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        watch.add_memory(address, kSlab);
        // From a huge page's start.
        unsigned char* data = memory + ((2u << 20) - address % (2u << 20)) % (2u << 20);
        measure(watch, kind, data + 256, 40, rounds);
        for (const std::size_t bytes : {std::size_t{4096}, std::size_t{64} << 10, std::size_t{1} << 20}) {
            measure(watch, kind, data, bytes, rounds);
        }
        measure(watch, kind, data + 256, 1u << 20, rounds);
        measure(watch, kind, data, 64u << 20, rounds / 20 + 8);
        if (kind[0] == 's') {
            for (const int others : {1, 100, 1000}) {
                measure_overlap(watch, data, 1u << 20, others, rounds);
            }
        }
        watch.remove_memory(address, 0);
        if (kind[0] == 'a') {
            measure_memory(watch, memory, rounds);
        }
        munmap(memory, kSlab);
    }
    WriteWatch sums;
    WatchSettings settings;
    settings.use_kernel = false;
    sums.open(settings);
    std::vector<unsigned char> buffer(1u << 20, 1);
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{64} << 10, std::size_t{1} << 20}) {
        measure(sums, "checksum", buffer.data(), bytes, rounds);
    }
    return 0;
}
