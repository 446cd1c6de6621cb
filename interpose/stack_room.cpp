#include "stack_room.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

// Where the program's stack begins (glibc, part of its ABI).
extern "C" void* __libc_stack_end;

namespace pincheck {
namespace {

// The main thread's grows until its limit is reached; glibc would read it from /proc.
bool has_main_room(std::uintptr_t here, std::size_t bytes) noexcept {
    const auto high = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
    rlimit limit;
    return here < high && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= bytes &&
           high - here <= limit.rlim_cur - bytes;
}

}  // namespace

bool has_stack_room(std::size_t bytes) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (syscall(SYS_gettid) == getpid()) {
        return has_main_room(here, bytes);
    }
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return false;
    }
    void* low = nullptr;
    std::size_t size = 0;
    const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
    pthread_attr_destroy(&attributes);
    const std::uintptr_t above = here - reinterpret_cast<std::uintptr_t>(low);
    return known && above < size && above >= bytes;
}

}  // namespace pincheck
