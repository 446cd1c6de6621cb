// Programs that are awkward to watch while copies are in flight: `races_watch_hostile NAME`, one name a half. What each
// prints must be the same with and without the tool. Exit status 77: what it needs is not there.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "check_cuda.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kBytes = 16 * kPage;

cudaStream_t g_stream = nullptr;
char* g_device = nullptr;

[[noreturn]] void not_here(const char* what) {
    std::printf("%s\n", what);
    std::exit(77);
}
SITE char* pinned(std::size_t bytes = kBytes) {
    void* memory = nullptr;
    CHECK(cudaMallocHost(&memory, bytes));
    std::memset(memory, 1, bytes);
    return static_cast<char*>(memory);
}
char* mapped(std::size_t bytes = kBytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        not_here("mmap");
    }
    std::memset(memory, 1, bytes);
    return static_cast<char*>(memory);
}
SITE void lock_pages(char* host, std::size_t bytes = kBytes) {
    CHECK(cudaHostRegister(host, bytes, cudaHostRegisterDefault));
}
SITE void unlock_pages(char* host) {
    CHECK(cudaHostUnregister(host));
}
SITE void upload(const char* host, std::size_t bytes = kBytes) {
    CHECK(cudaMemcpyAsync(g_device, host, bytes, cudaMemcpyHostToDevice, g_stream));
}
SITE void wait_for_stream() {
    CHECK(cudaStreamSynchronize(g_stream));
}
void store(char* place, char value) {
    *static_cast<volatile char*>(place) = value;
}

// ---- Memory

void huge_pages(bool early) {
    char* room = mapped(3 * kHugePage);
    char* host = room + (kHugePage - reinterpret_cast<std::uintptr_t>(room) % kHugePage) % kHugePage;
    madvise(room, 3 * kHugePage, MADV_DONTNEED);
    if (madvise(room, 3 * kHugePage, MADV_HUGEPAGE) != 0) {
        not_here("no huge pages");
    }
    std::memset(host, 1, 2 * kHugePage);
    lock_pages(host, 2 * kHugePage);
    for (char step = 2; step < 5; ++step) {
        store(host + kHugePage + 5 * kPage, step);
        upload(host, 2 * kHugePage);
        if (early) {
            store(host + kPage + 100, step);
        }
        wait_for_stream();
    }
    unlock_pages(host);
}
// A buffer on the stack, whose pages it shares with everything that is called meanwhile.
void stack_buffer() {
    char buffer[10'000];
    std::memset(buffer, 1, sizeof(buffer));
    lock_pages(buffer, sizeof(buffer));
    for (char step = 2; step < 6; ++step) {
        upload(buffer, sizeof(buffer));
        wait_for_stream();
        store(buffer + 17, step);
    }
    unlock_pages(buffer);
}
// Given back without telling CUDA, while its copy is in flight. What the copy did then is no matter here.
void unmapped(bool early) {
    char* host = mapped();
    lock_pages(host);
    upload(host);
    if (!early) {
        wait_for_stream();
    }
    munmap(host, kBytes);
    cudaStreamSynchronize(g_stream);
}

// ---- Other users of what watching needs

struct OwnWatch {
    int descriptor = -1;

    void open() {
        descriptor = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
        uffdio_api api = {UFFD_API, UFFD_FEATURE_PAGEFAULT_FLAG_WP, 0};
        if (descriptor < 0 || ioctl(descriptor, UFFDIO_API, &api) != 0) {
            not_here("no userfaultfd");
        }
    }
    void take(char* memory, std::size_t bytes) const {
        uffdio_register request = {};
        request.range = {reinterpret_cast<std::uintptr_t>(memory), bytes};
        request.mode = UFFDIO_REGISTER_MODE_WP;
        std::printf("register: %s\n", ioctl(descriptor, UFFDIO_REGISTER, &request) == 0 ? "done" : strerror(errno));
    }
    bool protect(char* page, bool on) const {
        uffdio_writeprotect request = {};
        request.range = {reinterpret_cast<std::uintptr_t>(page), kPage};
        request.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
        return ioctl(descriptor, UFFDIO_WRITEPROTECT, &request) == 0;
    }
    // A store into a page that it protects is held until it is told of the store.
    void try_out(char* page) const {
        std::printf("protect: %d\n", protect(page, true));
        std::thread writer([page] { store(page + 7, 9); });
        uffd_msg message = {};
        ssize_t got = -1;
        while ((got = read(descriptor, &message, sizeof(message))) < 0 && errno == EAGAIN) {
            std::this_thread::yield();
        }
        const std::uintptr_t fault = message.arg.pagefault.address & ~(kPage - 1);
        std::printf("fault: %d, at the page: %d, unprotect: %d\n", got == ssize_t{sizeof(message)},
                    fault == reinterpret_cast<std::uintptr_t>(page), protect(page, false));
        writer.join();
        std::printf("stored: %d\n", page[7]);
    }
};
void own_userfaultfd(bool later) {
    OwnWatch own;
    own.open();
    char* host = mapped();
    if (!later) {
        own.take(host, kBytes);
    }
    lock_pages(host);
    if (later) {
        own.take(host, kBytes);
    }
    for (char step = 2; step < 5; ++step) {
        upload(host);
        wait_for_stream();
        store(host + 3 * kPage, step);
    }
    own.try_out(host + 2 * kPage);
    upload(host);
    own.try_out(host + 2 * kPage);
    wait_for_stream();
    unlock_pages(host);
}

// Userfaultfd and what debuggers use end the process from here on.
void deadly_filter(std::vector<unsigned> numbers = {SYS_userfaultfd, SYS_perf_event_open, SYS_ptrace}) {
    std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const unsigned number : numbers) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        not_here("no filters");
    }
}
void refill_early(char* host, int times) {
    for (int step = 0; step < times; ++step) {
        upload(host);
        store(host + 5 * kPage, static_cast<char>(2 + step));
        wait_for_stream();
    }
}
void filter_later() {
    char* host = pinned();
    upload(host);
    deadly_filter();
    store(host + 5 * kPage, 7);
    wait_for_stream();
    refill_early(host, 2);
}

// ---- Processes and descriptors

// The child writes into its copy of the memory; the parent, when it may. Not into what cudaMallocHost gave: that may be
// one memory for both, or not be there in the child.
void forked() {
    char* host = mapped();
    lock_pages(host);
    for (char step = 2; step < 5; ++step) {
        upload(host);
        const pid_t child = fork();
        if (child == 0) {
            std::memset(host, 9, kBytes);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        std::printf("child: %d, parent's: %d\n", status, host[5]);
        wait_for_stream();
        std::memset(host, step, kBytes);
    }
    unlock_pages(host);
}
// And the parent's own store is still seen.
void forked_early() {
    char* host = pinned();
    upload(host);
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    store(host + 3 * kPage, 4);
    wait_for_stream();
}
void descriptors_closed() {
    char* host = pinned();
    upload(host);
    closefrom(3);
    store(host + 5 * kPage, 3);
    wait_for_stream();
    const int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    std::printf("next descriptor: %d\n", first);
    refill_early(host, 2);
    std::printf("still: %d\n", fcntl(first, F_GETFD) == FD_CLOEXEC);
}
// What is open that the program did not open: for one level against another, not the same with and without.
void open_descriptors() {
    refill_early(pinned(), 1);
    unsigned userfaultfds = 0;
    unsigned pagemaps = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
        userfaultfds += target.find("userfaultfd") != std::string::npos ? 1 : 0;
        pagemaps += target.ends_with("/pagemap") ? 1 : 0;
    }
    std::printf("userfaultfd %u pagemap %u\n", userfaultfds, pagemaps);
}

// ---- Signals

char* g_guarded = nullptr;
volatile sig_atomic_t g_handled = 0;
void on_fault(int, siginfo_t* info, void*) {
    if (info->si_addr != g_guarded + 40) {
        _exit(9);
    }
    g_handled = g_handled + 1;
    mprotect(g_guarded, kPage, PROT_READ | PROT_WRITE);
}
// The program's own faults go to its own handler, and no others: stores and system calls into memory in flight go on.
void own_handler() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    g_guarded = mapped(kPage);
    char* host = pinned();
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (int step = 1; step < 4; ++step) {
        mprotect(g_guarded, kPage, PROT_NONE);
        std::memset(host, step, kBytes);
        upload(host);
        store(g_guarded + 40, 1);
        const ssize_t got = read(zero, host + 100, kBytes - 200);
        std::printf("handled %d, read %zd of %zu\n", static_cast<int>(g_handled), got, kBytes - 200);
        wait_for_stream();
    }
}

const struct Half {
    const char* name;
    void (*run)();
} kHalves[] = {
    {"huge_pages", [] { huge_pages(true); }},
    {"huge_pages_waited", [] { huge_pages(false); }},
    {"stack_buffer", stack_buffer},
    {"unmapped", [] { unmapped(true); }},
    {"unmapped_waited", [] { unmapped(false); }},
    {"own_userfaultfd", [] { own_userfaultfd(false); }},
    {"own_userfaultfd_later", [] { own_userfaultfd(true); }},
    {"filter_later", filter_later},
    {"forked", forked},
    {"forked_early", forked_early},
    {"descriptors_closed", descriptors_closed},
    {"open_descriptors", open_descriptors},
    {"own_handler", own_handler},
};

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    // Before the first CUDA call, and with it before whatever watches.
    const std::string half_name = argc == 2 ? argv[1] : "";
    if (half_name == "filter_first") {
        deadly_filter();
    } else if (half_name == "filter_first_strict") {
        deadly_filter({SYS_userfaultfd, SYS_process_vm_readv, SYS_process_vm_writev});
    }
    CHECK(cudaStreamCreateWithFlags(&g_stream, cudaStreamNonBlocking));
    void* device = nullptr;
    CHECK(cudaMalloc(&device, 2 * kHugePage));
    g_device = static_cast<char*>(device);
    if (half_name.starts_with("filter_first")) {
        refill_early(pinned(), 2);
        return 0;
    }
    for (const Half& half : kHalves) {
        if (half_name == half.name) {
            half.run();
            return 0;
        }
    }
    std::fprintf(stderr, "usage: races_watch_hostile NAME, one of:\n  filter_first\n  filter_first_strict\n");
    for (const Half& half : kHalves) {
        std::fprintf(stderr, "  %s\n", half.name);
    }
    return 2;
}
