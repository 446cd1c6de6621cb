// hook_cost CASE CALLS THREADS: makes CALLS calls of one kind at one known site in each of THREADS threads and prints
// the nanoseconds a call, mean over the threads: by the clock, and on a core. Run by hook_cost.py with and without the
// preload, over the stub driver.
//
//   shared   cudaMemcpyAsync of page-locked memory, linked runtime
//   static   the same as a static runtime makes it: cuMemcpyHtoDAsync_v2 through cuGetProcAddress_v2
//   sync     cudaStreamSynchronize
//   launch   cuLaunchKernel through cuGetProcAddress_v2: seen, not recorded
//   mixed    the two by turns, launch and static, as a program of many small steps makes them (scenario P4)
//   one_stream  launches of all threads into one stream; elsewhere each thread has its own
#include <dlfcn.h>
#include <atomic>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <latch>
#include <string>
#include <thread>
#include <vector>

extern "C" {
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int cudaStreamSynchronize(void* stream);
int cudaMallocHost(void** out, std::size_t bytes);
}

namespace {

using Upload = int (*)(std::uint64_t, const void*, std::size_t, void*);
using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                       void**);
Upload upload = nullptr;
Launch launch = nullptr;
void* host = nullptr;
std::atomic<std::uintptr_t> next_device{0x10000};
// Each thread has its own: two that upload into one range would be a race, each time.
thread_local void* const device = reinterpret_cast<void*>(next_device.fetch_add(0x10000));
thread_local void* stream = nullptr;

void resolve() {
    using LookUp = int (*)(const char*, void**, int, std::uint64_t, int*);
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto look_up = driver != nullptr ? reinterpret_cast<LookUp>(dlsym(driver, "cuGetProcAddress_v2")) : nullptr;
    if (look_up == nullptr || look_up("cuMemcpyHtoDAsync", reinterpret_cast<void**>(&upload), 3020, 0, nullptr) != 0 ||
        look_up("cuLaunchKernel", reinterpret_cast<void**>(&launch), 4000, 0, nullptr) != 0 ||
        cudaMallocHost(&host, 65536) != 0) {
        std::fprintf(stderr, "hook_cost: no driver\n");
        std::exit(2);
    }
}

// callgrind counts inside these only (hook_cost.py): neither the start nor the tool's own thread.
__attribute__((noinline)) int run_shared(long calls) {
    int failed = 0;
    for (long i = 0; i < calls; ++i) {
        failed |= cudaMemcpyAsync(device, host, 4096, 1, stream);
    }
    return failed;
}
__attribute__((noinline)) int run_static(long calls) {
    int failed = 0;
    for (long i = 0; i < calls; ++i) {
        failed |= upload(reinterpret_cast<std::uintptr_t>(device), host, 4096, stream);
    }
    return failed;
}
__attribute__((noinline)) int run_sync(long calls) {
    int failed = 0;
    for (long i = 0; i < calls; ++i) {
        failed |= cudaStreamSynchronize(stream);
    }
    return failed;
}
__attribute__((noinline)) int run_launch(long calls) {
    int failed = 0;
    for (long i = 0; i < calls; ++i) {
        failed |= launch(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    }
    return failed;
}

__attribute__((noinline)) int run_mixed(long calls) {
    int failed = 0;
    for (long i = 0; i < calls; i += 2) {
        failed |= launch(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
        failed |= upload(reinterpret_cast<std::uintptr_t>(device), host, 64, stream);
    }
    return failed;
}

__attribute__((noinline)) int run_one_stream(long calls) {
    return run_launch(calls);
}

double core_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string which = argc > 1 ? argv[1] : "";
    const long calls = argc > 2 ? std::atol(argv[2]) : 1000;
    const int threads = argc > 3 ? std::atoi(argv[3]) : 1;
    int (*const run)(long) = which == "shared"       ? run_shared
                             : which == "static"     ? run_static
                             : which == "sync"       ? run_sync
                             : which == "launch"     ? run_launch
                             : which == "mixed"      ? run_mixed
                             : which == "one_stream" ? run_one_stream
                                                     : nullptr;
    if (run == nullptr || calls < 1 || threads < 1) {
        std::fprintf(stderr, "usage: hook_cost shared|static|sync|launch|mixed|one_stream CALLS THREADS\n");
        return 2;
    }
    resolve();
    std::latch start(threads);
    struct Took {
        double clock = 0;
        double core = 0;
    };
    std::vector<Took> ns(static_cast<std::size_t>(threads));
    std::vector<std::thread> workers;
    for (Took& mine : ns) {
        const std::size_t number = which == "one_stream" ? 0 : workers.size();
        workers.emplace_back([&, run, number] {
            stream = reinterpret_cast<void*>(0x5000 + 0x1000 * number);
            if (run(100) != 0) {  // the site becomes known
                std::exit(3);
            }
            start.arrive_and_wait();
            const double core = core_ns();
            const auto begin = std::chrono::steady_clock::now();
            run(calls);
            const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
            mine = {took.count() / static_cast<double>(calls), (core_ns() - core) / static_cast<double>(calls)};
        });
    }
    Took sum;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        workers[i].join();
        sum.clock += ns[i].clock;
        sum.core += ns[i].core;
    }
    std::printf("%.2f %.2f\n", sum.clock / threads, sum.core / threads);
    return 0;
}
