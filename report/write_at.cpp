#include "write_at.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace pincheck::report {

// Not pwrite(3): that is a cancellation point (a cancelled thread that runs the exit handlers would unwind through
// here), and the program may have its own pwrite in front of libc's.
long write_at(int descriptor, const void* data, std::size_t bytes, std::uint64_t offset) noexcept {
    return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}

}  // namespace pincheck::report
