// Asks the kernel which pages the processor's stores have reached: asynchronous write protection of userfaultfd, and
// the PAGEMAP_SCAN call on /proc/self/pagemap. No signal, no thread that serves faults, no EFAULT in system calls: the
// first store into a protected page costs a fault inside the kernel (0.8 to 1.2 us, 3.5 us for the first one after a
// while) and leaves the page marked.
//
// Seen are stores of this process, its system calls' included (read(2) into the page). Not seen: a device's DMA, stores
// of another process into shared memory, and what a kernel interface that pinned the pages before they were protected
// writes later (io_uring's registered buffers).
//
// Linux 6.7 or newer. No permission is needed (userfaultfd_abi.h); container runtimes' seccomp filters forbid it.
//
// One object has one userfaultfd and one pagemap, both in the program's descriptor table (close-on-exec, numbers from
// 500 on): their calls must be possible from any thread, so a table of a thread's own, as the report has, will not do.
// Both are recognised by device and inode before each use. What the program has closed is `lost`, for good; the kernel
// lifts all protection when the last descriptor of a userfaultfd goes.
//
// Never used in a fork's child: its copies of the descriptors stand for the parent's memory.
//
// Not thread-safe: callers lock. Calls wait for the process's memory map lock as any page fault does. No heap. errno
// may change.
#pragma once

#include <cstddef>
#include <cstdint>

#include "descriptor.h"
#include "userfaultfd_abi.h"

namespace pincheck {

inline constexpr std::uintptr_t kPageBytes = 4096;  // x86-64
inline constexpr std::uintptr_t page_floor(std::uintptr_t address) noexcept {
    return address & ~(kPageBytes - 1);
}
inline constexpr std::uintptr_t page_ceil(std::uintptr_t address) noexcept {
    return page_floor(address + kPageBytes - 1);
}

// Why the kernel's help is not there.
enum class WatchRefusal : std::uint8_t {
    none,
    off,                  // not asked for, or not yet
    seccomp_filter,       // a filter might end the process for an unusual call
    no_userfaultfd,       // not in this kernel
    not_permitted,        // EPERM: a security module, a filter of the container's
    no_async_protection,  // Linux before 6.7
    no_pagemap,           // /proc/self/pagemap cannot be opened
    no_page_scan,         // Linux before 6.7
    does_not_work,        // all of it is there, and a write went unseen in a try
    no_resources,         // descriptors or memory
    closed_by_program,    // the descriptors are gone
};
// From the state of the calling thread (/proc/self/status); true where that cannot be read.
bool has_seccomp_filter() noexcept;
// One line for the user, without a full stop.
const char* refusal_text(WatchRefusal refusal) noexcept;
// What the errno of userfaultfd(2) says.
WatchRefusal refusal_of_userfaultfd(int error) noexcept;

class KernelPageWatch {
  public:
    enum class Answer : std::uint8_t {
        done,
        busy,     // another userfaultfd has the range: the program's own
        refused,  // not writable, or not memory of a kind that can be protected page by page; of a scan: the kernel has
                  // no memory for it
        gone,     // unmapped, or another mapping is in its place
        lost,     // the descriptors
    };

    KernelPageWatch() = default;
    KernelPageWatch(const KernelPageWatch&) = delete;
    KernelPageWatch& operator=(const KernelPageWatch&) = delete;
    ~KernelPageWatch() { close(); }

    // Opens both descriptors and tries them on a page of its own.
    WatchRefusal open() noexcept;
    // Closes what is still ours.
    void close() noexcept;
    bool is_open() const noexcept { return userfaultfd_.number() >= 0; }

    // All ranges are whole pages, not empty.

    Answer add(std::uintptr_t begin, std::uintptr_t end) noexcept;
    Answer remove(std::uintptr_t begin, std::uintptr_t end) noexcept;
    // Protects all pages, whatever was written.
    Answer protect(std::uintptr_t begin, std::uintptr_t end) noexcept;
    Answer unprotect(std::uintptr_t begin, std::uintptr_t end) noexcept;
    // Reports written pages into `regions`, merged, in order; with `protect_found` they are protected again in the same
    // step. `next` is where to go on (`end`: nothing is left); `count` the regions found.
    Answer scan(std::uintptr_t begin, std::uintptr_t end, bool protect_found, uffd::PageRegion* regions,
                std::uint32_t room, std::uint32_t& count, std::uintptr_t& next) noexcept;
    // Every page of the range is mapped, by whatever: 0.2 us however long it is.
    static bool is_mapped(std::uintptr_t begin, std::uintptr_t end) noexcept;

  private:
    Answer scan_call(uffd::PageScan& scan, int& found) noexcept;
    WatchRefusal open_descriptors() noexcept;
    bool works() noexcept;

    Descriptor userfaultfd_;
    Descriptor pagemap_;
};

// Puts pages under write protection of a userfaultfd, as far as they can be protected page by page; and takes them out.
KernelPageWatch::Answer register_pages(const Descriptor& userfaultfd, std::uintptr_t begin,
                                       std::uintptr_t end) noexcept;
KernelPageWatch::Answer unregister_pages(const Descriptor& userfaultfd, std::uintptr_t begin,
                                         std::uintptr_t end) noexcept;

// Copies from this process's memory without a fault where there is none. False: not all of it was there.
bool read_own_memory(std::uintptr_t address, void* out, std::size_t bytes) noexcept;

}  // namespace pincheck
