// Host memory of copies in flight that the host reads or writes, each by a function that a report can name, and the
// same after a wait: `races_trap NAME`, one name a half (scenario ids are those of the tests).
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <thread>
#include <vector>

#include "races.h"

__global__ void hold(volatile int* open) {
    while (*open == 0) {
    }
}

namespace {

SITE int read_result(const char* host, std::size_t at = 0) {
    return *static_cast<const volatile char*>(host + at);
}
SITE void store(char* host, std::size_t at = 0) {
    *static_cast<volatile char*>(host + at) = 7;
}
SITE void fill_all(char* host, std::size_t bytes = kBytes) {
    std::memset(host, 3, bytes);
    asm volatile("" ::: "memory");  // no tail call: this function stays in the stack
}
SITE bool are_equal(const char* a, const char* b) {
    return std::memcmp(a, b, kBytes) == 0;
}
SITE void await(cudaStream_t stream) {
    CHECK(cudaStreamSynchronize(stream));
}
void wait_if(bool waited, cudaStream_t stream) {
    if (waited) {
        await(stream);
    }
}

// C1: the result of a step is read in the next one, by another pointer into it, before the wait.
void C1(bool waited) {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    char* host = pinned();
    const char* middle = host + kBytes / 2;
    for (int step = 0; step < 3; ++step) {
        if (step > 0) {
            wait_if(waited, stream);
            g_sink = read_result(middle);
            await(stream);
        }
        download(host, device, stream);
    }
    await(stream);
}

// The copy cannot have ended when its result is read: a kernel in front of it waits for the host.
void corrupting() {
    const cudaStream_t stream = other_stream();
    int* open = nullptr;
    int* on_the_device = nullptr;
    CHECK(cudaHostAlloc(reinterpret_cast<void**>(&open), 1 << 20, cudaHostAllocMapped));
    *open = 0;
    CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&on_the_device), open, 0));
    hold<<<1, 1, 0, stream>>>(on_the_device);
    CHECK(cudaGetLastError());
    char* host = pinned();
    download(host, on_device(), stream);
    g_sink = read_result(host);
    *static_cast<volatile int*>(open) = 1;
    await(stream);
}

// C2: addresses are taken, nothing is read.
void C2() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    download(host, on_device(), stream);
    std::vector<const char*> rows;
    for (std::size_t at = 0; at < kBytes; at += 1024) {
        rows.push_back(host + at);
    }
    await(stream);
    for (const char* row : rows) {
        g_sink = read_result(row);
    }
}

// C3: another thread writes the result to a file.
SITE void save(int file, const char* host) {
    check(write(file, host, kBytes) == static_cast<ssize_t>(kBytes), "write works as ever");
}
void C3(bool waited) {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    const int file = open("/dev/null", O_WRONLY);
    download(host, on_device(), stream);
    std::thread([&] {
        wait_if(waited, stream);
        save(file, host);
    }).join();
    await(stream);
}

// C4: two results are compared at once, or after a wait.
void C4(bool waited) {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    CHECK(cudaMemsetAsync(device, 1, kBytes, stream));
    char* one = pinned();
    char* other = pinned();
    download(one, device, stream);
    download(other, device, stream);
    wait_if(waited, stream);
    g_sink = are_equal(one, other);
    check(!waited || g_sink != 0, "equal once they are there");
    await(stream);
}

// E2: freeing unrelated memory waits, but is no promise.
void E2(bool waited) {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    char* unrelated = on_device();
    char* device = on_device();
    download(host, device, stream);
    CHECK(cudaFree(unrelated));
    wait_if(waited, stream);
    g_sink = read_result(host);
    await(stream);
}

// D3: a vector in page-locked memory grows between two downloads into it, which reads its elements.
template <class T>
struct PinnedAllocator {
    using value_type = T;
    T* allocate(std::size_t count) { return reinterpret_cast<T*>(pinned(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { release(reinterpret_cast<char*>(memory)); }
    bool operator==(const PinnedAllocator&) const = default;
};
SITE void grow(std::vector<char, PinnedAllocator<char>>& results) {
    results.resize(2 * kBytes);
}
void D3(bool waited) {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    std::vector<char, PinnedAllocator<char>> results(kBytes);
    download(results.data(), device, stream);
    wait_if(waited, stream);
    grow(results);
    download(results.data() + kBytes, device, stream);
    await(stream);
}

// B4: a system call writes the source of an upload, through the C library or past it.
SITE void read_file(int file, char* host) {
    check(read(file, host, 4096) == 4096, "read works as ever");
}
SITE void read_past_the_library(int file, char* host) {
    long result;
    asm volatile("syscall" : "=a"(result) : "0"(SYS_read), "D"(file), "S"(host), "d"(4096) : "rcx", "r11", "memory");
    check(result == 4096, "a system call works as ever");
}
void B4(void (*fill)(int, char*)) {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    const int file = open("/dev/zero", O_RDONLY);
    upload(on_device(), host, stream);
    fill(file, host);
    await(stream);
}

// All of a large source is written again.
void all_of_it() {
    constexpr std::size_t kLarge = 4 << 20;
    const cudaStream_t stream = other_stream();
    char* host = pinned(kLarge);
    upload(on_device(kLarge), host, stream, kLarge);
    fill_all(host, kLarge);
    await(stream);
}

// A result shares its first and last page with others, who are not disturbed.
void neighbours() {
    const cudaStream_t stream = other_stream();
    char* slab = pinned(4 * kBytes);
    download(slab + 100, on_device(), stream, kBytes);
    store(slab);
    g_sink = read_result(slab, 100 + kBytes);
    char* source = slab + 2 * kBytes + 100;
    upload(on_device(), source, stream, 1000);
    store(source, 1000);
    store(source - 1);
    await(stream);
}
// The same, and then the source itself is written, on a page that a neighbour's store has opened.
void behind_a_neighbour() {
    const cudaStream_t stream = other_stream();
    char* slab = pinned();
    upload(on_device(), slab + 100, stream, 1000);
    store(slab);
    store(slab, 200);
    await(stream);
}

// Eight threads at one page, of which one access is told.
void many_threads() {
    const cudaStream_t stream = other_stream();
    char* result = pinned();
    char* source = pinned();
    for (int step = 0; step < 20; ++step) {
        download(result, on_device(4 << 10), stream, 4 << 10);
        upload(on_device(4 << 10), source, stream, 4 << 10);
        std::vector<std::thread> threads;
        std::atomic<int> ready{0};
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                ++ready;
                while (ready < 8) {
                }
                if (i % 2 == 0) {
                    store(result, static_cast<std::size_t>(i));
                } else {
                    store(source, static_cast<std::size_t>(i));
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        await(stream);
    }
}

// A thread that takes no signals stores.
void no_signals() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    upload(on_device(), host, stream);
    std::thread([&] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        store(host);
    }).join();
    await(stream);
}

// The program handles SIGSEGV itself, from before or from later on, and its own faults come to it.
sigjmp_buf g_back;
volatile sig_atomic_t g_caught = 0;
void on_fault(int) {
    g_caught = g_caught + 1;
    siglongjmp(g_back, 1);
}
void fault() {
    if (sigsetjmp(g_back, 1) == 0) {
        static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))[0] = 1;
    }
}
void own_handler(bool before) {
    if (before) {
        std::signal(SIGSEGV, &on_fault);
    }
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    download(host, on_device(), stream);
    if (!before) {
        std::signal(SIGSEGV, &on_fault);
    }
    fault();
    g_sink = read_result(host);
    fault();
    await(stream);
    check(g_caught == 2, "two faults of its own");
}
// Without a handler its own fault ends it, guards or not.
void own_death() {
    const cudaStream_t stream = other_stream();
    download(pinned(), on_device(), stream);
    static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))[0] = 1;
}

// The rights of a result's pages are the program's to change.
void own_protection() {
    const cudaStream_t stream = other_stream();
    char* host = pinned();
    download(host, on_device(), stream);
    await(stream);
    check(mprotect(host, kBytes, PROT_READ) == 0, "mprotect works as ever");
    std::signal(SIGSEGV, &on_fault);
    if (sigsetjmp(g_back, 1) == 0) {
        store(host);
    }
    check(g_caught == 1, "what it has protected faults");
    check(mprotect(host, kBytes, PROT_READ | PROT_WRITE) == 0, "and back");
    download(host, on_device(), stream);
    await(stream);
}

// A child reads and writes, while guards are up in the parent.
void fork_while_armed() {
    const cudaStream_t stream = other_stream();
    char* result =
        static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char* source =
        static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(cudaHostRegister(result, kBytes, cudaHostRegisterDefault));
    CHECK(cudaHostRegister(source, kBytes, cudaHostRegisterDefault));
    const int file = open("/dev/null", O_WRONLY);
    download(result, on_device(), stream);
    upload(on_device(), source, stream);
    const pid_t child = fork();
    if (child == 0) {
        store(result);
        store(source, 4096);
        _exit(write(file, result + 8192, 4096) == 4096 ? 0 : 1);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child goes on as ever");
    await(stream);
    g_sink = read_result(result);
    store(source);
}

// Unmapped while a guard is up.
void unmapped() {
    const cudaStream_t stream = other_stream();
    char* host = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(cudaHostRegister(host, kBytes, cudaHostRegisterDefault));
    download(host, on_device(), stream);
    check(munmap(host, kBytes) == 0, "munmap works as ever");
    char* anew = static_cast<char*>(
        mmap(host, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    if (anew == host) {
        store(anew);
    }
    await(stream);
}

constexpr Half kHalves[] = {
    {"C1", [] { C1(false); }},
    {"C1_waited", [] { C1(true); }},
    {"C2", C2},
    {"corrupting", corrupting},
    {"C3", [] { C3(false); }},
    {"C3_waited", [] { C3(true); }},
    {"C4", [] { C4(false); }},
    {"C4_waited", [] { C4(true); }},
    {"D3", [] { D3(false); }},
    {"D3_waited", [] { D3(true); }},
    {"E2", [] { E2(false); }},
    {"E2_waited", [] { E2(true); }},
    {"B4", [] { B4(read_file); }},
    {"B4_past_the_library", [] { B4(read_past_the_library); }},
    {"all_of_it", all_of_it},
    {"neighbours", neighbours},
    {"behind_a_neighbour", behind_a_neighbour},
    {"many_threads", many_threads},
    {"no_signals", no_signals},
    {"own_handler_before", [] { own_handler(true); }},
    {"own_handler_later", [] { own_handler(false); }},
    {"own_death", own_death},
    {"own_protection", own_protection},
    {"fork_while_armed", fork_while_armed},
    {"unmapped", unmapped},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
