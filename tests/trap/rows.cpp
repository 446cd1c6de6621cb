// Calls each function of libc_api.def that takes memory, with memory that is guarded, and prints what came of it.
// stderr: "told NAME in|out" for each that the library spoke of before its call.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>
#include <functional>
#include <string>

#include "guards.h"

extern "C" {
ssize_t __read(int, void*, size_t);
ssize_t __write(int, const void*, size_t);
ssize_t __pread64(int, void*, size_t, off_t);
ssize_t __pwrite64(int, const void*, size_t, off_t);
ssize_t __send(int, const void*, size_t, int);
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
}

namespace {

using guards::kPage;
constexpr std::size_t kBytes = 3 * kPage;
constexpr std::size_t kRoom = guards::kPages * kPage;

unsigned char* const g_memory = guards::memory();
int g_file = -1;
int g_sockets[2];
int g_pipe[2];

std::uint64_t checksum(const void* memory, std::size_t bytes) {
    std::uint64_t sum = 14695981039346656037ull;
    for (std::size_t i = 0; i < bytes; ++i) {
        sum = (sum ^ static_cast<const unsigned char*>(memory)[i]) * 1099511628211ull;
    }
    return sum;
}

void fill() {
    for (std::size_t i = 0; i < kRoom; ++i) {
        g_memory[i] = static_cast<unsigned char>(i * 7 + i / 251);
    }
}

// Another pattern than the memory's, from the start.
void rewind_file() {
    std::string content(4 * kPage, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) {
        content[i] = static_cast<char>(i * 13 + 5);
    }
    if (pwrite(g_file, content.data(), content.size(), 0) < 0 || ftruncate(g_file, 4 * kPage) != 0) {
        guards::say("no file: %d\n", errno);
    }
    lseek(g_file, 0, SEEK_SET);
}

std::uint64_t file_checksum() {
    std::string content(8 * kPage, '\0');
    const ssize_t got =
        guards::raw(SYS_lseek, g_file, 0, SEEK_SET) == 0
            ? guards::raw(SYS_read, g_file, reinterpret_cast<long>(content.data()), static_cast<long>(content.size()))
            : -1;
    return got < 0 ? 0 : checksum(content.data(), static_cast<std::size_t>(got));
}

void drain(int file) {
    char buffer[4096];
    while (guards::raw(SYS_recvfrom, file, reinterpret_cast<long>(buffer), sizeof buffer) > 0) {
    }
}

// Its result, errno, and the memory and the file afterwards.
void row(const char* name, const std::function<long()>& call, bool content_is_random = false) {
    fill();
    rewind_file();
    guards::g_last_function.store(nullptr);
    guards::g_changes.store(0);
    const unsigned faults = guards::g_faults.load();
    guards::guard_all();
    errno = 0;
    const long result = call();
    const int error = errno;
    const bool by_fault = guards::g_faults.load() != faults;
    if (const char* told = guards::g_last_function.load()) {
        guards::note("told %s %s%s%s\n", told, guards::g_last_writes.load() ? "in" : "out",
                     guards::g_last_has_place.load() ? "" : " without a place", by_fault ? " and a fault" : "");
    } else if (guards::g_changes.load() != 0) {
        guards::note("changes %s%s\n", name, by_fault ? " and a fault" : "");
    }
    guards::lift(reinterpret_cast<std::uintptr_t>(g_memory), kRoom);
    const unsigned long long memory_sum = content_is_random ? 0 : checksum(g_memory, kRoom);
    guards::say("%s %ld %d %llx %llx\n", name, result, error, memory_sum,
                static_cast<unsigned long long>(file_checksum()));
}

struct Parts {
    iovec parts[2] = {{g_memory, kPage}, {g_memory + 2 * kPage, kPage + 10}};
};

struct Message {
    Parts parts;
    msghdr header{};
    Message() {
        header.msg_iov = parts.parts;
        header.msg_iovlen = 2;
    }
};

struct Messages {
    Message first;
    mmsghdr headers[1]{};
    Messages() { headers[0].msg_hdr = first.header; }
};

void send_something() {
    std::string text(kPage + 100, 'q');
    guards::raw(SYS_write, g_sockets[1], reinterpret_cast<long>(text.data()), static_cast<long>(text.size()));
}

void into_buffers() {
    row("read", [] { return read(g_file, g_memory, kBytes); });
    row("__read", [] { return __read(g_file, g_memory, kBytes); });
    row("__read_chk", [] { return __read_chk(g_file, g_memory, kBytes, kRoom); });
    row("pread", [] { return pread(g_file, g_memory, kBytes, 100); });
    row("pread64", [] { return pread64(g_file, g_memory, kBytes, 100); });
    row("__pread64", [] { return __pread64(g_file, g_memory, kBytes, 100); });
    row("__pread_chk", [] { return __pread_chk(g_file, g_memory, kBytes, 100, kRoom); });
    row("__pread64_chk", [] { return __pread64_chk(g_file, g_memory, kBytes, 100, kRoom); });
    row(
        "getrandom", [] { return getrandom(g_memory, kPage, 0); }, true);
    row(
        "getentropy", [] { return static_cast<long>(getentropy(g_memory, 256)); }, true);
}

void from_buffers() {
    row("write", [] { return write(g_file, g_memory, kBytes); });
    row("__write", [] { return __write(g_file, g_memory, kBytes); });
    row("pwrite", [] { return pwrite(g_file, g_memory, kBytes, 100); });
    row("pwrite64", [] { return pwrite64(g_file, g_memory, kBytes, 100); });
    row("__pwrite64", [] { return __pwrite64(g_file, g_memory, kBytes, 100); });
}

void vectors() {
    const Parts p;
    row("readv", [&] { return readv(g_file, p.parts, 2); });
    row("preadv", [&] { return preadv(g_file, p.parts, 2, 50); });
    row("preadv64", [&] { return preadv64(g_file, p.parts, 2, 50); });
    row("preadv2", [&] { return preadv2(g_file, p.parts, 2, 50, 0); });
    row("preadv64v2", [&] { return preadv64v2(g_file, p.parts, 2, 50, 0); });
    row("writev", [&] { return writev(g_file, p.parts, 2); });
    row("pwritev", [&] { return pwritev(g_file, p.parts, 2, 50); });
    row("pwritev64", [&] { return pwritev64(g_file, p.parts, 2, 50); });
    row("pwritev2", [&] { return pwritev2(g_file, p.parts, 2, 50, 0); });
    row("pwritev64v2", [&] { return pwritev64v2(g_file, p.parts, 2, 50, 0); });
    row("vmsplice", [&] { return vmsplice(g_pipe[1], p.parts, 2, 0); });
    static char other[kBytes];
    const iovec remote{other, sizeof other};
    row("process_vm_readv", [&] { return process_vm_readv(getpid(), p.parts, 2, &remote, 1, 0); });
    row("process_vm_writev", [&] { return process_vm_writev(getpid(), p.parts, 2, &remote, 1, 0); });
    row("process_vm_readv of itself", [&] { return process_vm_readv(getpid(), &remote, 1, p.parts, 2, 0); });
    // The vector itself is in guarded memory too.
    row("readv by a guarded vector", [&] {
        guards::lift(reinterpret_cast<std::uintptr_t>(g_memory + 4 * kPage), kPage);
        std::memcpy(g_memory + 4 * kPage, p.parts, sizeof p.parts);
        guards::guard(4);
        return readv(g_file, reinterpret_cast<const iovec*>(g_memory + 4 * kPage), 2);
    });
    iovec many[40];
    for (std::size_t i = 0; i < 40; ++i) {
        many[i] = {g_memory + i * 600, 300};
    }
    row("readv of many parts", [&] { return readv(g_file, many, 40); });
}

void sockets() {
    const auto receiving = [](const char* name, const std::function<long()>& call) {
        send_something();
        row(name, call);
        drain(g_sockets[0]);
    };
    const auto sending = [](const char* name, const std::function<long()>& call) {
        row(name, call);
        drain(g_sockets[0]);
    };
    receiving("recv", [] { return recv(g_sockets[0], g_memory, kBytes, 0); });
    receiving("__recv_chk", [] { return __recv_chk(g_sockets[0], g_memory, kBytes, kRoom, 0); });
    receiving("recvfrom", [] { return recvfrom(g_sockets[0], g_memory, kBytes, 0, nullptr, nullptr); });
    receiving("__recvfrom_chk",
              [] { return __recvfrom_chk(g_sockets[0], g_memory, kBytes, kRoom, 0, nullptr, nullptr); });
    receiving("recvmsg", [] {
        Message message;
        return recvmsg(g_sockets[0], &message.header, 0);
    });
    receiving("recvmmsg", [] {
        Messages messages;
        return static_cast<long>(recvmmsg(g_sockets[0], messages.headers, 1, 0, nullptr));
    });
    sending("send", [] { return send(g_sockets[1], g_memory, kPage, 0); });
    sending("__send", [] { return __send(g_sockets[1], g_memory, kPage, 0); });
    sending("sendto", [] { return sendto(g_sockets[1], g_memory, kPage, 0, nullptr, 0); });
    sending("sendmsg", [] {
        const Message message;
        return sendmsg(g_sockets[1], &message.header, 0);
    });
    sending("sendmmsg", [] {
        Messages messages;
        return static_cast<long>(sendmmsg(g_sockets[1], messages.headers, 1, 0));
    });
}

void streams() {
    const auto with_stream = [](const char* mode, const std::function<std::size_t(FILE*)>& call) {
        FILE* const stream = fdopen(dup(g_file), mode);
        const std::size_t result = call(stream);
        fclose(stream);
        return static_cast<long>(result);
    };
    row("fread", [&] { return with_stream("r", [](FILE* f) { return fread(g_memory, 100, 100, f); }); });
    row("fread_unlocked",
        [&] { return with_stream("r", [](FILE* f) { return fread_unlocked(g_memory, 100, 100, f); }); });
    row("__fread_chk",
        [&] { return with_stream("r", [](FILE* f) { return __fread_chk(g_memory, kRoom, 100, 100, f); }); });
    row("__fread_unlocked_chk",
        [&] { return with_stream("r", [](FILE* f) { return __fread_unlocked_chk(g_memory, kRoom, 100, 100, f); }); });
    row("fwrite", [&] { return with_stream("w", [](FILE* f) { return fwrite(g_memory, 100, 100, f); }); });
    row("fwrite_unlocked",
        [&] { return with_stream("w", [](FILE* f) { return fwrite_unlocked(g_memory, 100, 100, f); }); });
}

void requests() {
    row("ioctl", [] { return static_cast<long>(ioctl(g_sockets[0], FIONREAD, g_memory)); });
    const Parts p;
    const auto by_number = [](const char* name, long number, long a, long b, long c, long d = 0, long e = 0,
                              long f = 0) { row(name, [=] { return syscall(number, a, b, c, d, e, f); }); };
    const long memory = reinterpret_cast<long>(g_memory);
    const long parts = reinterpret_cast<long>(p.parts);
    by_number("syscall read", SYS_read, g_file, memory, kBytes);
    by_number("syscall write", SYS_write, g_file, memory, kBytes);
    by_number("syscall pread64", SYS_pread64, g_file, memory, kBytes, 9);
    by_number("syscall pwrite64", SYS_pwrite64, g_file, memory, kBytes, 9);
    by_number("syscall readv", SYS_readv, g_file, parts, 2);
    by_number("syscall pwritev2", SYS_pwritev2, g_file, parts, 2, 9, 0, 0);
    row(
        "syscall fstat", [=] { return syscall(SYS_fstat, g_file, memory); }, true);
    by_number("syscall futex", SYS_futex, memory, FUTEX_WAKE, 1);
    by_number("syscall getcwd", SYS_getcwd, memory, 0, 0);
    by_number("syscall of none", 100'000, memory, memory, memory, memory, memory, memory);
}

void changes() {
    const auto fresh = [] {
        munmap(g_memory, kRoom);
        guards::g_memory = nullptr;
        guards::memory();
    };
    row("mprotect", [] { return static_cast<long>(mprotect(g_memory, kPage, PROT_READ)); });
    fresh();
    row("pkey_mprotect", [] { return static_cast<long>(pkey_mprotect(g_memory, kPage, PROT_READ, -1)); });
    fresh();
    row("madvise", [] { return static_cast<long>(madvise(g_memory, kPage, MADV_DONTNEED)); });
    fresh();
    row("mlock", [] { return static_cast<long>(mlock(g_memory, kPage)); });
    row("mlock2", [] { return static_cast<long>(mlock2(g_memory, kPage, 0)); });
    row("munmap", [] {
        const long result = munmap(g_memory, kPage);
        mmap(g_memory, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        return result;
    });
    const auto map_over = [](void* (*map)(void*, size_t, int, int, int, off_t)) {
        void* const got = map(g_memory, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        return static_cast<long>(got == g_memory);
    };
    row("mmap", [&] { return map_over(&mmap); });
    row("mmap64", [&] { return map_over(&mmap64); });
    row("mremap", [&] {
        void* const moved = mremap(g_memory, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, g_memory + 4 * kPage);
        const long result = moved == g_memory + 4 * kPage && g_memory[4 * kPage + 1] == 7;
        mmap(g_memory, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        return result;
    });
    row("mremap to more", [] {
        void* const moved = mremap(g_memory, kPage, 2 * kPage, 0);
        return static_cast<long>(moved == MAP_FAILED);
    });
}

// What the kernel refuses, it refuses as before.
void refusals() {
    // The compiler is not to see through these.
    void* volatile null = nullptr;
    volatile int less_than_none = -1;
    const auto* const nowhere = reinterpret_cast<const iovec*>(0x1'0000'0000);
    row("read of no file", [] { return read(-1, g_memory, kBytes); });
    row("write from nowhere", [] { return write(g_file, reinterpret_cast<void*>(0x1'0000'0000), 10); });
    row("read to null", [&] { return read(g_file, null, 10); });
    row("readv of nowhere", [&] { return readv(g_file, nowhere, 2); });
    row("readv of null", [&] { return readv(g_file, static_cast<const iovec*>(null), 2); });
    row("readv of too many", [&] { return readv(g_file, nowhere, 2000); });
    row("readv of less than none", [&] { return readv(g_file, nowhere, less_than_none); });
    row("readv of a vector to nowhere", [&] {
        const iovec part{const_cast<iovec*>(nowhere), 100};
        return readv(g_file, &part, 1);
    });
    row("sendmsg of nowhere", [&] { return sendmsg(g_sockets[1], reinterpret_cast<const msghdr*>(nowhere), 0); });
    row("recvmmsg of nowhere", [&] {
        auto* const headers = reinterpret_cast<mmsghdr*>(const_cast<iovec*>(nowhere));
        return static_cast<long>(recvmmsg(g_sockets[0], headers, 2, MSG_DONTWAIT, nullptr));
    });
    row("mprotect of nowhere",
        [] { return static_cast<long>(mprotect(reinterpret_cast<void*>(0x1'0000'0000), kPage, PROT_READ)); });
    row("munmap of an odd address", [] { return static_cast<long>(munmap(g_memory + 1, kPage)); });
    row("mmap of nothing", [] {
        return static_cast<long>(mmap(g_memory, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    });
    row("ioctl of no file", [] { return static_cast<long>(ioctl(-1, FIONREAD, g_memory)); });
    row("getentropy of too much", [] { return static_cast<long>(getentropy(g_memory, 257)); });
}

}  // namespace

int main() {
    g_file = memfd_create("rows", MFD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, g_sockets) != 0 || pipe(g_pipe) != 0) {
        return 1;
    }
    guards::attach();
    into_buffers();
    from_buffers();
    vectors();
    sockets();
    streams();
    requests();
    changes();
    refusals();
    guards::say("end\n");
    return guards::g_inside.load() == 0 ? 0 : 1;  // of every call that was told of, its end too
}
