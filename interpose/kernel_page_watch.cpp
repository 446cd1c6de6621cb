#include "kernel_page_watch.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "memory.h"
#include "small_file.h"

namespace pincheck {

// The calling thread's filters. Read with plain file calls: prctl(PR_GET_SECCOMP) may itself be what a filter forbids.
bool has_seccomp_filter() noexcept {
    char text[8192];
    const std::size_t used = read_file("/proc/thread-self/status", text, sizeof(text) - 1);
    if (used == 0) {
        return true;  // not known: then nothing unusual is tried
    }
    text[used] = '\0';
    const char* line = std::strstr(text, "\nSeccomp:");
    if (line == nullptr) {
        return false;  // a kernel without it
    }
    line += std::strlen("\nSeccomp:");
    while (*line == ' ' || *line == '\t') {
        ++line;
    }
    return *line != '0';
}

const char* refusal_text(WatchRefusal refusal) noexcept {
    switch (refusal) {
        case WatchRefusal::none:
            return "the kernel finds writes";
        case WatchRefusal::off:
            return "the kernel was not asked to find writes";
        case WatchRefusal::seccomp_filter:
            return "a seccomp filter is in force, and filters may end a process for the calls that this takes";
        case WatchRefusal::no_userfaultfd:
            return "this kernel has no userfaultfd; Linux 6.7 or newer is needed";
        case WatchRefusal::not_permitted:
            return "userfaultfd is not permitted here";
        case WatchRefusal::no_async_protection:
            return "this kernel's userfaultfd has no asynchronous write protection of shared memory; Linux 6.7 or "
                   "newer, with "
                   "CONFIG_PTE_MARKER_UFFD_WP, is needed";
        case WatchRefusal::no_pagemap:
            return "/proc/self/pagemap cannot be opened";
        case WatchRefusal::no_page_scan:
            return "this kernel has no PAGEMAP_SCAN; Linux 6.7 or newer is needed";
        case WatchRefusal::does_not_work:
            return "the kernel did not find a write that was made to try it";
        case WatchRefusal::no_resources:
            return "no descriptor or no memory is left";
        case WatchRefusal::closed_by_program:
            return "the program closed the tool's descriptors";
    }
    return "unknown";
}

WatchRefusal refusal_of_userfaultfd(int error) noexcept {
    switch (error) {
        case ENOSYS:
        case EINVAL:  // UFFD_USER_MODE_ONLY is not known: before Linux 5.11
            return WatchRefusal::no_userfaultfd;
        case EMFILE:
        case ENFILE:
        case ENOMEM:
            return WatchRefusal::no_resources;
        default:
            return WatchRefusal::not_permitted;
    }
}

WatchRefusal KernelPageWatch::open() noexcept {
    if (has_seccomp_filter()) {
        return WatchRefusal::seccomp_filter;
    }
    WatchRefusal refusal = open_descriptors();
    if (refusal == WatchRefusal::none && !works()) {
        refusal = errno == ENOTTY ? WatchRefusal::no_page_scan : WatchRefusal::does_not_work;
    }
    if (refusal != WatchRefusal::none) {
        close();
    }
    return refusal;
}

WatchRefusal KernelPageWatch::open_descriptors() noexcept {
    const long descriptor = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | uffd::kUserModeOnly);
    if (descriptor < 0) {
        return refusal_of_userfaultfd(errno);
    }
    if (!userfaultfd_.take(static_cast<int>(descriptor))) {
        return WatchRefusal::no_resources;
    }
    uffd::Api api{uffd::kApi, uffd::kFeatures, 0};
    if (ioctl(userfaultfd_.number(), uffd::kApiCall, &api) != 0) {
        return WatchRefusal::no_async_protection;
    }
    if (!pagemap_.take(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC))) {
        return errno == EMFILE || errno == ENFILE ? WatchRefusal::no_resources : WatchRefusal::no_pagemap;
    }
    return WatchRefusal::none;
}

// errno is ENOTTY where the scan call does not exist.
bool KernelPageWatch::works() noexcept {
    auto* page = static_cast<volatile unsigned char*>(map_memory(kPageBytes));
    if (page == nullptr) {
        return false;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(page);
    const std::uintptr_t end = begin + kPageBytes;
    uffd::PageRegion region;
    std::uint32_t clean = 1;
    std::uint32_t written = 0;
    std::uintptr_t next;
    errno = 0;
    bool right = add(begin, end) == Answer::done && protect(begin, end) == Answer::done &&
                 scan(begin, end, false, &region, 1, clean, next) == Answer::done && clean == 0;
    const int error = errno;
    if (right) {
        *page = 1;
        right = scan(begin, end, false, &region, 1, written, next) == Answer::done && written == 1;
    }
    unmap_memory(const_cast<unsigned char*>(page), kPageBytes);
    errno = error;
    return right;
}

void KernelPageWatch::close() noexcept {
    userfaultfd_.close();
    pagemap_.close();
}

KernelPageWatch::Answer unregister_pages(const Descriptor& userfaultfd, std::uintptr_t begin,
                                         std::uintptr_t end) noexcept {
    if (!userfaultfd.is_ours()) {
        return KernelPageWatch::Answer::lost;
    }
    uffd::Range range{begin, end - begin};
    return ioctl(userfaultfd.number(), uffd::kUnregisterCall, &range) == 0 ? KernelPageWatch::Answer::done
                                                                           : KernelPageWatch::Answer::gone;
}

KernelPageWatch::Answer register_pages(const Descriptor& userfaultfd, std::uintptr_t begin,
                                       std::uintptr_t end) noexcept {
    if (!userfaultfd.is_ours()) {
        return KernelPageWatch::Answer::lost;
    }
    uffd::Register request{{begin, end - begin}, uffd::kRegisterWriteProtect, 0};
    if (ioctl(userfaultfd.number(), uffd::kRegisterCall, &request) != 0) {
        return errno == EBUSY ? KernelPageWatch::Answer::busy : KernelPageWatch::Answer::refused;
    }
    if ((request.ioctls & uffd::kCanZeroPage) == 0) {
        // hugetlbfs: protected 2 MiB or more at a time, which would blame a buffer for its neighbours' writes.
        unregister_pages(userfaultfd, begin, end);
        return KernelPageWatch::Answer::refused;
    }
    return KernelPageWatch::Answer::done;
}

KernelPageWatch::Answer KernelPageWatch::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return register_pages(userfaultfd_, begin, end);
}

KernelPageWatch::Answer KernelPageWatch::remove(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return unregister_pages(userfaultfd_, begin, end);
}

KernelPageWatch::Answer KernelPageWatch::unprotect(std::uintptr_t begin, std::uintptr_t end) noexcept {
    if (!userfaultfd_.is_ours()) {
        return Answer::lost;
    }
    uffd::WriteProtect request{{begin, end - begin}, 0};
    return ioctl(userfaultfd_.number(), uffd::kWriteProtectCall, &request) == 0 ? Answer::done : Answer::gone;
}

KernelPageWatch::Answer KernelPageWatch::scan_call(uffd::PageScan& scan, int& found) noexcept {
    // Closing the userfaultfd alone shows here too: its mappings are registered no longer (EPERM).
    if (!pagemap_.is_ours()) {
        return Answer::lost;
    }
    scan.size = sizeof(scan);
    scan.flags |= uffd::kScanOnlyAsync;
    // Nothing else asked for or returned: the kernel's fast path, a tenth of the time.
    scan.required_categories = uffd::kPageIsWritten;
    found = ioctl(pagemap_.number(), uffd::kPageScanCall, &scan);
    if (found >= 0) {
        return Answer::done;
    }
    const int error = errno;
    Answer answer = error == ENOMEM ? Answer::refused : Answer::gone;
    if (error == EPERM && !userfaultfd_.is_ours()) {
        answer = Answer::lost;
    }
    errno = error;
    return answer;
}

KernelPageWatch::Answer KernelPageWatch::protect(std::uintptr_t begin, std::uintptr_t end) noexcept {
    uffd::PageScan scan{};
    scan.flags = uffd::kScanProtect;
    scan.start = begin;
    scan.end = end;
    int found;
    return scan_call(scan, found);
}

KernelPageWatch::Answer KernelPageWatch::scan(std::uintptr_t begin, std::uintptr_t end, bool protect_found,
                                              uffd::PageRegion* regions, std::uint32_t room, std::uint32_t& count,
                                              std::uintptr_t& next) noexcept {
    uffd::PageScan scan{};
    scan.flags = protect_found ? uffd::kScanProtect : 0;
    scan.start = begin;
    scan.end = end;
    scan.regions = reinterpret_cast<std::uintptr_t>(regions);
    scan.region_count = room;
    scan.returned_categories = uffd::kPageIsWritten;
    int found = 0;
    const Answer answer = scan_call(scan, found);
    count = found > 0 ? static_cast<std::uint32_t>(found) : 0;
    next = answer == Answer::done ? scan.walk_end : end;
    return answer;
}

bool KernelPageWatch::is_mapped(std::uintptr_t begin, std::uintptr_t end) noexcept {
    // MS_ASYNC does nothing since Linux 2.6.19 but look at the mappings (msync(2)). Not the library's msync, at which a
    // thread may be cancelled.
    return syscall(SYS_msync, begin, end - begin, MS_ASYNC) == 0 || errno != ENOMEM;
}

bool read_own_memory(std::uintptr_t address, void* out, std::size_t bytes) noexcept {
    iovec to{out, bytes};
    iovec from{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace pincheck
