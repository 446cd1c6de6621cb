// Memory that was requested write-combined and is read by the host, each time by a function that a report can name; or
// only written and uploaded, which is what it is for: `combined_reads NAME`, one name a half.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "races.h"

__global__ void set_flag(volatile int* flag) {
    *flag = 1;
}

namespace {

constexpr std::size_t kPage = 4096;

SITE char* combined(std::size_t bytes = kBytes) {
    void* memory = nullptr;
    CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocWriteCombined));
    return static_cast<char*>(memory);
}
SITE void fill(char* host, int value, std::size_t bytes = kBytes) {
    std::memset(host, value, bytes);
    asm volatile("" ::: "memory");  // no tail call: this function stays in the stack
}
SITE void store(char* host, std::size_t at = 0) {
    *static_cast<volatile char*>(host + at) = 7;
}
SITE int read_one(const char* host, std::size_t at = 0) {
    return *static_cast<const volatile char*>(host + at);
}
SITE int checksum(const char* host, std::size_t bytes = kBytes) {
    int total = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        total += *static_cast<const volatile char*>(host + i);
    }
    return total;
}
SITE void save(int file, const char* host, std::size_t bytes = kBytes) {
    check(write(file, host, bytes) == static_cast<ssize_t>(bytes), "write works as ever");
}
SITE void load(int file, char* host, std::size_t bytes = kBytes) {
    check(read(file, host, bytes) == static_cast<ssize_t>(bytes), "read works as ever");
}
SITE void copy_out(char* to, const char* host, std::size_t bytes = kBytes) {
    std::memcpy(to, host, bytes);
    asm volatile("" ::: "memory");
}

// What the device got is what the host had written.
void check_upload(const char* device, int value, std::size_t bytes = kBytes) {
    std::vector<char> back(bytes);
    CHECK(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
    for (const char byte : back) {
        check(byte == static_cast<char>(value), "the device got what was written");
    }
}

// Steps of filling a buffer and uploading it, each with something between the two.
template <class Between>
void steps(int count, Between between, std::size_t bytes = kBytes) {
    const cudaStream_t stream = other_stream();
    char* host = combined(bytes);
    char* device = on_device(bytes);
    for (int step = 0; step < count; ++step) {
        fill(host, step, bytes);
        between(host);
        upload(device, host, stream, bytes);
        wait_for(stream);
        if (step < 3) {
            check_upload(device, step, bytes);
        }
    }
}

void written_only() {
    steps(3000, [](char*) {});
}
void written_only_large() {
    steps(
        20, [](char*) {}, 16 << 20);
}
void read_back() {
    steps(3, [](char* host) { g_sink = checksum(host); });
}
void copied_out() {
    std::vector<char> copy(kBytes);
    steps(3, [&](char* host) { copy_out(copy.data(), host); });
}
void written_by_a_call() {
    const int zeros = open("/dev/zero", O_RDONLY);
    const cudaStream_t stream = other_stream();
    char* host = combined();
    char* device = on_device();
    for (int step = 0; step < 20; ++step) {
        load(zeros, host);
        upload(device, host, stream);
        wait_for(stream);
        check_upload(device, 0);
    }
}
void read_by_a_call() {
    const int nowhere = open("/dev/null", O_WRONLY);
    steps(3, [&](char* host) { save(nowhere, host); });
}

// Stores all over the buffer, in no order.
void written_anywhere() {
    const cudaStream_t stream = other_stream();
    constexpr std::size_t kLarge = 1 << 20;
    char* host = combined(kLarge);
    char* device = on_device(kLarge);
    std::uint32_t at = 1;
    for (int step = 0; step < 300; ++step) {
        for (int i = 0; i < 1000; ++i) {
            at = at * 1664525 + 1013904223;
            store(host, at % kLarge);
        }
        upload(device, host, stream, kLarge);
        wait_for(stream);
    }
}

// Stores across the ends of pages.
void written_across() {
    const cudaStream_t stream = other_stream();
    char* host = combined();
    char* device = on_device();
    for (int step = 0; step < 50; ++step) {
        for (std::size_t page = kPage; page < kBytes; page += kPage) {
            const std::uint64_t value = page;
            std::memcpy(host + page - 4, &value, sizeof value);
        }
        upload(device, host, stream);
        wait_for(stream);
    }
    std::vector<char> back(kBytes);
    CHECK(cudaMemcpy(back.data(), device, kBytes, cudaMemcpyDeviceToHost));
    for (std::size_t page = kPage; page < kBytes; page += kPage) {
        std::uint64_t value = 0;
        std::memcpy(&value, back.data() + page - 4, sizeof value);
        check(value == page, "both halves are there");
    }
}

// One byte, of a buffer that was uploaded before.
void read_after_upload() {
    const cudaStream_t stream = other_stream();
    char* host = combined();
    char* device = on_device();
    for (int step = 0; step < 2; ++step) {
        fill(host, step);
        upload(device, host, stream);
        wait_for(stream);
        g_sink = read_one(host, 5 * kPage + 17);
    }
}

// No page is the allocation's alone.
void small() {
    const cudaStream_t stream = other_stream();
    char* host = combined(1000);
    char* device = on_device();
    for (int step = 0; step < 5; ++step) {
        store(host);
        g_sink = read_one(host);
        upload(device, host, stream, 1000);
        wait_for(stream);
    }
}

bool sleeps(pid_t thread) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    std::FILE* file = std::fopen(path, "r");
    char state = 0;
    check(file != nullptr && std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1, "the thread has a state");
    std::fclose(file);
    return state == 'S';
}

// A call that waits inside the kernel, with the buffer in its hands, while another part is uploaded.
void call_in_progress(bool reads) {
    const cudaStream_t stream = other_stream();
    char* host = combined(2 * kBytes);
    char* device = on_device();
    int ends[2];
    check(pipe(ends) == 0, "pipe");
    const auto room = static_cast<std::size_t>(fcntl(ends[1], F_SETPIPE_SZ, 4096));
    std::vector<char> other_end(kBytes, 9);
    std::atomic<bool> done{false};
    if (reads) {  // out of the buffer
        fill(host + kBytes, 9);
    }
    std::atomic<pid_t> id{0};
    std::thread inside([&] {
        id = gettid();
        if (reads) {
            save(ends[1], host + kBytes);  // more than the pipe takes
        } else {
            load(ends[0], host + kBytes, room);
        }
        done = true;
    });
    while (id == 0 || !sleeps(id)) {
    }
    for (int step = 0; step < 40; ++step) {
        fill(host, step);
        upload(device, host, stream);
        wait_for(stream);
    }
    check(!done, "the call still waits");
    for (std::size_t moved = 0; moved < (reads ? kBytes : room);) {
        const ssize_t part =
            reads ? read(ends[0], other_end.data(), other_end.size()) : write(ends[1], other_end.data(), room);
        check(part > 0, "the other end works");
        moved += static_cast<std::size_t>(part);
    }
    inside.join();
    check(reads || host[kBytes + room - 1] == 9, "all of it came");
}

void many_threads() {
    const cudaStream_t stream = other_stream();
    char* host = combined(16 * kPage);
    char* device = on_device();
    for (int step = 0; step < 20; ++step) {
        std::vector<std::thread> threads;
        std::atomic<int> ready{0};
        for (std::size_t i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                ++ready;
                while (ready < 8) {
                }
                for (std::size_t turn = 0; turn < 1000; ++turn) {
                    const std::size_t at = (i * 997 + turn * 31) % 16 * kPage + i;
                    if (i < 7) {
                        store(host, at);
                    } else {
                        g_sink = read_one(host, at);
                    }
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        upload(device, host, stream);
        wait_for(stream);
    }
}

// Given back while a sample is under way, and the same addresses are used again.
void release_while_armed() {
    const cudaStream_t stream = other_stream();
    char* device = on_device();
    for (int step = 0; step < 100; ++step) {
        char* host = combined();
        store(host);
        upload(device, host, stream);
        wait_for(stream);
        release(host);
        char* again = pinned();
        fill(again, step);
        g_sink = checksum(again);
        release(again);
    }
}

// The child has the memory in its own way, and CUDA does not work there.
void fork_while_armed() {
    const cudaStream_t stream = other_stream();
    char* host = combined();
    upload(on_device(), host, stream);
    wait_for(stream);
    const int nowhere = open("/dev/null", O_WRONLY);
    const pid_t child = fork();
    if (child == 0) {
        store(host);
        g_sink = read_one(host, kPage);
        _exit(write(nowhere, host + 2 * kPage, kPage) == static_cast<ssize_t>(kPage) ? 0 : 1);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child goes on as ever");
    store(host);
}

// A result that is read too early, and slowly.
void early_result(bool waited) {
    const cudaStream_t stream = other_stream();
    char* host = combined();
    char* device = on_device();
    for (int step = 0; step < 3; ++step) {
        download(host, device, stream);
        if (waited) {
            wait_for(stream);
        }
        g_sink = read_one(host, kPage + 1);
        wait_for(stream);
    }
}

// The driver takes the arguments of a kernel out of the memory.
void read_by_the_driver() {
    const cudaStream_t stream = other_stream();
    char* host = combined();
    char* device = on_device();
    char* flag = pinned();
    std::memcpy(host, &flag, sizeof flag);
    for (int step = 0; step < 5; ++step) {
        upload(device, host, stream);
        wait_for(stream);
        *flag = 0;
        void* arguments[] = {host};
        CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(&set_flag), dim3(1), dim3(1), arguments, 0, stream));
        wait_for(stream);
        check(*flag == 1, "the kernel had its argument");
    }
}

// A ring, set up after the first CUDA call, would read and write the memory past the C library.
void io_uring() {
    release(pinned());
    alignas(8) char parameters[120] = {};  // struct io_uring_params
    if (syscall(SYS_io_uring_setup, 1, parameters) < 0) {
        std::puts("no ring");
    }
    read_back();
}

constexpr Half kHalves[] = {
    {"written_only", written_only},
    {"written_only_large", written_only_large},
    {"written_anywhere", written_anywhere},
    {"written_across", written_across},
    {"written_by_a_call", written_by_a_call},
    {"read_back", read_back},
    {"copied_out", copied_out},
    {"read_by_a_call", read_by_a_call},
    {"read_after_upload", read_after_upload},
    {"small", small},
    {"read_in_progress", [] { call_in_progress(false); }},
    {"write_in_progress", [] { call_in_progress(true); }},
    {"many_threads", many_threads},
    {"release_while_armed", release_while_armed},
    {"fork_while_armed", fork_while_armed},
    {"early_result", [] { early_result(false); }},
    {"late_result", [] { early_result(true); }},
    {"read_by_the_driver", read_by_the_driver},
    {"io_uring", io_uring},
};

}  // namespace

int main(int argc, char** argv) {
    return run_half(argc, argv, kHalves);
}
