// The report's file: where it goes, and getting it there. One thread writes (the tool thread, see lifecycle.h).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "report/image.h"

namespace pincheck {

// What %-patterns in `output=` stand for.
struct NameParts {
    const char* program;  // %e
    const char* host;     // %h
    const char* rank;     // %n; "" when there is none
    std::uint32_t pid;    // %p
    const char* time;     // %t, e.g. 20261129T195100
};

// Expands `pattern`; unknown %x stay as they are, '/' in a part becomes '_'. False when it does not fit.
bool expand_name(const char* pattern, const NameParts& parts, char* out, std::size_t size) noexcept;
// Inserts "-number" before a trailing ".pcr", else at the end.
bool number_name(const char* name, unsigned number, char* out, std::size_t size) noexcept;

class ReportFile {
  public:
    // Gives the calling thread a table of descriptors of its own, empty, so that the program can neither close nor
    // reuse the report's. Call first thing in the tool thread. Where the kernel refuses, the descriptor is a high one
    // in the program's table, and checked before each write.
    void own_descriptors() noexcept;

    // Creates the file (O_EXCL, O_NOFOLLOW, 0600) as `name` in `directory` (absolute), else in `temporary`. Never
    // overwrites or follows.
    bool create(const char* name, const char* directory, const char* temporary) noexcept;

    // Writes what changed. False when nothing could be written; the loss is in the image then.
    bool write(report::Image& image, std::uint64_t now_ns, report::FileState state) noexcept;

    bool is_open() const noexcept { return descriptor_ >= 0; }
    const char* path() const noexcept { return path_; }
    // The first problem, for the user, to be said by a thread that has stderr; "" when there is none. Any thread.
    const char* problem() const noexcept { return has_problem_.load(std::memory_order_acquire) ? problem_ : ""; }

  private:
    bool open_new(const char* path) noexcept;
    void set_problem(const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));
    bool still_ours() noexcept;

    int descriptor_ = -1;
    bool private_table_ = false;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    char path_[1024] = "";
    std::atomic<bool> has_problem_{false};
    char problem_[2560] = "";  // written once, before has_problem_
};

}  // namespace pincheck
