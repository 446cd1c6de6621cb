// How much of an asynchronous copy's time the call itself takes: the trap of pageable memory in one table. For each
// direction, kind of host memory and size: the time in cudaMemcpyAsync, the time until the copy is complete (read after
// cudaStreamSynchronize), and the share of the one in the other. Medians of ten on an idle stream, after two warm-ups;
// before that a copy there and back is checked byte by byte.
//
//   call_share [--max BYTES[K|M|G]] [--sums]
//
//   --max      largest size (default 64M)
//   --sums     also the sums of both times over all calls, warm-ups included: what somebody who watches must have seen
//
// A share near 0 % is an asynchronous copy; near 100 %, the call was the copy. Where pinned is not faster than
// pageable, the buffer is probably not pinned.
//
// What pincheck reports: pageable-async-copy at the two lines marked (1) and (2), for the pageable half of the calls;
// the pinned half comes from the same lines and is no finding but, since every copy here is waited for at once, a
// copy-then-sync, which does not gate. `pincheck run --check -- call_share` ends with 1.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kWarmUps = 2;
constexpr int kRuns = 10;

using Clock = std::chrono::steady_clock;

void check(cudaError_t result, const char* what) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "call_share: %s: %s\n", what, cudaGetErrorString(result));
        std::exit(1);
    }
}

[[noreturn]] void usage() {
    std::fprintf(stderr, "usage: call_share [--max BYTES[K|M|G]] [--sums]\n");
    std::exit(2);
}

std::size_t parse_size(const char* text) {
    char* end = nullptr;
    const unsigned long long number = std::strtoull(text, &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == text || (shift == 0 ? *end != '\0' : end[1] != '\0') || number == 0 || number > (1ull << 40 >> shift)) {
        usage();
    }
    return static_cast<std::size_t>(number) << shift;
}

struct Times {
    double call_us;
    double complete_us;
    double call_sum_us;  // of all calls, warm-ups included
    double complete_sum_us;
};

double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Times time_copies(cudaMemcpyKind kind, void* host, void* device, std::size_t bytes, cudaStream_t stream) {
    std::vector<double> call;
    std::vector<double> complete;
    double call_sum = 0;
    double complete_sum = 0;
    for (int run = 0; run < kWarmUps + kRuns; ++run) {
        const Clock::time_point start = Clock::now();
        if (kind == cudaMemcpyHostToDevice) {
            check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "copy in");  // (1)
        } else {
            check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream), "copy out");  // (2)
        }
        const Clock::time_point returned = Clock::now();
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        const Clock::time_point completed = Clock::now();
        call_sum += microseconds(returned - start);
        complete_sum += microseconds(completed - start);
        if (run >= kWarmUps) {
            call.push_back(microseconds(returned - start));
            complete.push_back(microseconds(completed - start));
        }
    }
    return {median(call), median(complete), call_sum, complete_sum};
}

void verify(unsigned char* host, void* device, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        host[i] = static_cast<unsigned char>(i * 7 + (i >> 8));
    }
    check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy in");
    std::memset(host, 0, bytes);
    check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy out");
    for (std::size_t i = 0; i < bytes; ++i) {
        if (host[i] != static_cast<unsigned char>(i * 7 + (i >> 8))) {
            std::fprintf(stderr, "call_share: byte %zu came back wrong\n", i);
            std::exit(1);
        }
    }
}

void print_row(const char* direction, const char* memory, std::size_t bytes, const Times& times, bool sums) {
    std::printf("%-4s %-9s %12zu %14.1f %14.1f %7.1f %% %9.2f GB/s", direction, memory, bytes, times.call_us,
                times.complete_us, 100 * times.call_us / times.complete_us,
                static_cast<double>(bytes) / times.complete_us / 1e3);
    if (sums) {
        std::printf(" %12.1f %12.1f", times.call_sum_us, times.complete_sum_us);
    }
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t largest = std::size_t{64} << 20;
    bool sums = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--sums") == 0) {
            sums = true;
        } else if (std::strcmp(argv[i], "--max") == 0 && i + 1 < argc) {
            largest = parse_size(argv[++i]);
        } else {
            usage();
        }
    }
    void* device = nullptr;
    void* pinned = nullptr;
    void* pageable = std::malloc(largest);
    cudaStream_t stream = nullptr;
    if (pageable == nullptr) {
        std::fprintf(stderr, "call_share: out of memory\n");
        return 1;
    }
    check(cudaMalloc(&device, largest), "cudaMalloc");
    check(cudaMallocHost(&pinned, largest), "cudaMallocHost");
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    verify(static_cast<unsigned char*>(pinned), device, largest);
    verify(static_cast<unsigned char*>(pageable), device, largest);

    std::printf("%-4s %-9s %12s %14s %14s %9s %14s%s\n", "", "memory", "bytes", "call us", "complete us", "share",
                "rate", sums ? "  sum call us  sum complete" : "");
    const struct {
        const char* name;
        cudaMemcpyKind kind;
    } directions[] = {{"H2D", cudaMemcpyHostToDevice}, {"D2H", cudaMemcpyDeviceToHost}};
    for (const auto& direction : directions) {
        std::vector<std::size_t> sizes;
        for (std::size_t bytes = 4096; bytes < largest; bytes *= 16) {
            sizes.push_back(bytes);
        }
        sizes.push_back(largest);
        for (const std::size_t bytes : sizes) {
            print_row(direction.name, "pageable", bytes, time_copies(direction.kind, pageable, device, bytes, stream),
                      sums);
            print_row(direction.name, "pinned", bytes, time_copies(direction.kind, pinned, device, bytes, stream),
                      sums);
        }
    }

    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    check(cudaFreeHost(pinned), "cudaFreeHost");
    check(cudaFree(device), "cudaFree");
    std::free(pageable);
    return 0;
}
