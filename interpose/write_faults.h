// Write protection whose faults are served by a thread of ours: who stores into a protected page waits, at its
// instruction, until the page is released (userfaultfd, synchronous). System calls that write wait too, and none fails.
//
// Takes the permission for faults from within the kernel: CAP_SYS_PTRACE, vm.unprivileged_userfaultfd=1, or a readable
// /dev/userfaultfd. Linux 5.19 or newer. Works on page-locked memory under DMA, which raises no fault; not on
// write-combined memory (EINVAL) (measured: H200, driver 580.159.04, Linux 6.18).
//
// As long as the descriptor is open somebody must read it: a fault that nobody serves stops its thread for good. The
// kernel lifts all protection, and wakes everybody, when the descriptor is closed.
//
// Ranges are whole pages. Not thread-safe but for wait() and read(), which one thread calls. Nothing is allocated.
// errno may change.
#pragma once

#include <cstdint>

#include "descriptor.h"
#include "kernel_page_watch.h"
#include "userfaultfd_abi.h"

namespace pincheck {

class WriteFaults {
  public:
    using Answer = KernelPageWatch::Answer;

    WriteFaults() = default;
    WriteFaults(const WriteFaults&) = delete;
    WriteFaults& operator=(const WriteFaults&) = delete;
    ~WriteFaults() { close(); }

    // False: not here, or not permitted.
    bool open() noexcept;
    void close() noexcept { userfaultfd_.close(); }
    bool is_open() const noexcept { return userfaultfd_.number() >= 0; }
    int number() const noexcept { return userfaultfd_.number(); }

    Answer add(std::uintptr_t begin, std::uintptr_t end) noexcept;
    Answer remove(std::uintptr_t begin, std::uintptr_t end) noexcept;
    Answer protect(std::uintptr_t begin, std::uintptr_t end) noexcept { return change(begin, end, uffd::kProtect); }
    // Lifts it, and lets those go on that wait there.
    Answer lift(std::uintptr_t begin, std::uintptr_t end) noexcept { return change(begin, end, 0); }

    struct Fault {
        std::uintptr_t address;
        std::uint32_t thread;  // 0: not known
    };
    // Waits for a fault; false: the descriptor is gone.
    bool next(Fault& fault) noexcept;

  private:
    Answer change(std::uintptr_t begin, std::uintptr_t end, std::uint64_t mode) noexcept;

    Descriptor userfaultfd_;
};

}  // namespace pincheck
