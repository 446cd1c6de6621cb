#include "unwinder_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "elf_objects.h"
#include "imports.h"

namespace pincheck {
namespace {

constexpr std::uintptr_t kPage = 4096;
// No descriptor has such a number: limits are far lower.
constexpr int kReadEnd = 0x7fff'fff0;
constexpr int kWriteEnd = kReadEnd + 1;

long write_one(const void* address) noexcept {
    const bool readable = can_be_read(address);
    errno = readable ? 0 : EFAULT;
    return readable ? 1 : -1;
}

int make_pipe(int* ends, int) {
    ends[0] = kReadEnd;
    ends[1] = kWriteEnd;
    return 0;
}
ssize_t read_from(int descriptor, void* buffer, std::size_t size) {
    if (descriptor == kReadEnd) {
        errno = EAGAIN;  // empty, and not closed
        return -1;
    }
    return read(descriptor, buffer, size);
}
ssize_t write_to(int descriptor, const void* buffer, std::size_t size) {
    return descriptor == kWriteEnd ? write_one(buffer) : write(descriptor, buffer, size);
}
int close_one(int descriptor) {
    return descriptor == kReadEnd || descriptor == kWriteEnd ? 0 : close(descriptor);
}
long call_system(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_write && static_cast<int>(a) == kWriteEnd) {
        return write_one(reinterpret_cast<const void*>(b));
    }
    return syscall(number, a, b, c, d, e, f);
}

struct Replacement {
    const char* symbol;
    void* function;
};
const Replacement kReplacements[] = {
    {"pipe2", reinterpret_cast<void*>(&make_pipe)}, {"pipe", reinterpret_cast<void*>(&make_pipe)},
    {"read", reinterpret_cast<void*>(&read_from)},  {"write", reinterpret_cast<void*>(&write_to)},
    {"close", reinterpret_cast<void*>(&close_one)}, {"syscall", reinterpret_cast<void*>(&call_system)},
};

const Replacement* replacement_of(const char* symbol) noexcept {
    for (const Replacement& replacement : kReplacements) {
        if (same_text(replacement.symbol, symbol)) {
            return &replacement;
        }
    }
    return nullptr;
}

}  // namespace

// Linux copies the new mask in before it looks at the (impossible) first argument: EFAULT where it cannot be read.
bool can_be_read(const void* address) noexcept {
    const auto aligned = reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{7};
    return syscall(SYS_rt_sigprocmask, ~0L, aligned, nullptr, 8L) == -1 && errno != EFAULT;
}

void replace_unwinder_pipe(const void* function) noexcept {
    for_each_object([&](const ElfObject& object) {
        if (!object.contains(reinterpret_cast<std::uintptr_t>(function))) {
            return false;
        }
        const auto wanted = [](const char* symbol) { return replacement_of(symbol) != nullptr; };
        for_each_import(object, wanted, [](const char* symbol, std::uintptr_t* slot) {
            const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) & ~(kPage - 1);
            // Where it was bound at once, the slot lies in a page that the loader has made read-only; it stays
            // writable.
            if (mprotect(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE) == 0) {
                __atomic_store_n(slot, reinterpret_cast<std::uintptr_t>(replacement_of(symbol)->function),
                                 __ATOMIC_RELAXED);
            }
        });
        return true;
    });
}

}  // namespace pincheck
