// Very many copies from 50 sites, and pageable ones behind very many distinct stacks (scenario K8), over the stub
// driver of tests/bench: many_sites COPIES LEVELS THREADS. COPIES are divided among the threads and the 50 sites; 4 to
// the power of LEVELS stacks make one copy each. Prints what it did, and with a fourth argument its peak memory in KiB.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stub_api.h"

namespace {

void* pinned = nullptr;
char pageable[64];

// Each site copies from and to a place of its own.
template <std::size_t Site>
__attribute__((noinline)) int copy_at() {
    constexpr std::size_t kPlace = Site * kStubBytes;
    const int status = cudaMemcpyAsync(static_cast<char*>(kStubDevice) + kPlace, static_cast<char*>(pinned) + kPlace,
                                       kStubBytes, 1, nullptr);
    asm volatile("" ::"i"(Site) : "memory");  // every site is a function of its own, and no tail call
    return status;
}

template <std::size_t... Sites>
constexpr auto table(std::index_sequence<Sites...>) {
    return std::array<int (*)(), sizeof...(Sites)>{&copy_at<Sites>...};
}
constexpr auto kSites = table(std::make_index_sequence<50>());

int deep(unsigned path, int levels);
template <int Way>
__attribute__((noinline)) int step(unsigned path, int levels) {
    const int status = deep(path, levels);
    asm volatile("" ::"i"(Way) : "memory");
    return status;
}
int deep(unsigned path, int levels) {
    if (levels == 0) {
        const int status = cudaMemcpyAsync(kStubDevice, pageable, sizeof pageable, 1, nullptr);
        asm volatile("" ::: "memory");
        return status;
    }
    switch (path % 4) {
        case 0:
            return step<0>(path / 4, levels - 1);
        case 1:
            return step<1>(path / 4, levels - 1);
        case 2:
            return step<2>(path / 4, levels - 1);
        default:
            return step<3>(path / 4, levels - 1);
    }
}

std::string peak_memory() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
        if (line.rfind("VmHWM:", 0) == 0) {
            return line.substr(line.find_first_of("0123456789"));
        }
    }
    return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        return 2;
    }
    const long copies = std::atol(argv[1]);
    const int levels = std::atoi(argv[2]);
    const int threads = std::atoi(argv[3]);
    if (cudaMallocHost(&pinned, kStubBytes * kSites.size()) != 0) {
        return 2;
    }
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&] {
            for (long i = 0; i < copies / threads; ++i) {
                kSites[static_cast<std::size_t>(i) % kSites.size()]();
            }
        });
    }
    for (std::thread& thread : all) {
        thread.join();
    }
    const unsigned stacks = levels > 0 ? 1u << (2 * levels) : 0;
    for (unsigned path = 0; path < stacks; ++path) {
        deep(path, levels);
    }
    std::printf("%ld copies, %u stacks\n", copies / threads * threads, stacks);
    if (argc > 4) {
        std::printf("%s\n", peak_memory().c_str());
    }
    return 0;
}
