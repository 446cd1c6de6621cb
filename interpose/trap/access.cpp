#include "access.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <climits>

extern "C" __attribute__((visibility("hidden"))) long pincheck_trap_copy(void* to, const void* from, std::size_t words);

namespace pincheck::trap {
namespace {

// No address of the program's lies below or above (x86-64): numbers that are no pointers.
constexpr std::uintptr_t kLowestAddress = 0x10000;
constexpr std::uintptr_t kHighestAddress = std::uintptr_t{1} << 47;

// The kernel refuses longer ones.
constexpr std::size_t kLongestVector = IOV_MAX;
// It takes that many of a longer list.
constexpr std::size_t kMostMessages = IOV_MAX;

const void* pointer_in(long argument) noexcept {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(argument));
}

}  // namespace

constinit std::atomic<const TrapUser*> g_user{nullptr};

void Teller::buffer(const void* address, std::size_t bytes, Way way) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (bytes == 0 || begin < kLowestAddress || begin >= kHighestAddress) {
        return;
    }
    SystemAccess access;
    access.function = function_;
    access.address = begin;
    access.bytes = bytes < kHighestAddress - begin ? bytes : kHighestAddress - begin;
    access.writes = way == Way::into_memory;
    access.return_address = return_address_;
    access.frame = frame_;
    held_ = user_.before_access(access, held_);
}

void Teller::items(const void* address, std::size_t size, std::size_t count, Way way) const noexcept {
    std::size_t bytes = 0;
    buffer(address, __builtin_mul_overflow(size, count, &bytes) ? SIZE_MAX : bytes, way);
}

void Teller::pointer(const void* address) const noexcept {
    buffer(address, 1, Way::from_memory);
}

bool Teller::read_words(void* to, const void* from, std::size_t bytes) const noexcept {
    buffer(from, bytes, Way::from_memory);
    return pincheck_trap_copy(to, from, bytes / sizeof(std::uint64_t)) != 0;
}

void Teller::vector(const iovec* vector, std::size_t count, Way way) const noexcept {
    if (count > kLongestVector) {
        return;
    }
    iovec some[16];
    constexpr std::size_t kSome = sizeof some / sizeof some[0];
    for (std::size_t done = 0; done < count;) {
        const std::size_t now = count - done < kSome ? count - done : kSome;
        if (!read_words(some, vector + done, now * sizeof(iovec))) {
            return;
        }
        for (std::size_t i = 0; i < now; ++i) {
            buffer(some[i].iov_base, some[i].iov_len, way);
        }
        done += now;
    }
}

void Teller::read_message(const msghdr& message, Way way) const noexcept {
    buffer(message.msg_name, message.msg_namelen, way);
    buffer(message.msg_control, message.msg_controllen, way);
    vector(message.msg_iov, message.msg_iovlen, way);
}

void Teller::message(const msghdr* message, Way way) const noexcept {
    msghdr copy;
    if (read_words(&copy, message, sizeof copy)) {
        read_message(copy, way);
    }
}

void Teller::messages(const mmsghdr* messages, std::size_t count, Way way) const noexcept {
    for (std::size_t i = 0; i < count && i < kMostMessages; ++i) {
        mmsghdr copy;
        if (!read_words(&copy, messages + i, sizeof copy)) {
            return;
        }
        read_message(copy.msg_hdr, way);
    }
}

void Teller::device_request(unsigned long request, const void* argument) const noexcept {
    const std::size_t bytes = _IOC_SIZE(request);
    buffer(argument, _IOC_DIR(request) != _IOC_NONE && bytes != 0 ? bytes : 1,
           (_IOC_DIR(request) & _IOC_READ) != 0 ? Way::into_memory : Way::from_memory);
}

void Teller::before(const void* address, std::size_t bytes, bool unmapped) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (bytes != 0 && begin >= kLowestAddress && begin < kHighestAddress) {
        user_.before_change(begin, bytes < kHighestAddress - begin ? bytes : kHighestAddress - begin, unmapped);
    }
}

void Teller::map(const void* address, std::size_t bytes, int flags) const noexcept {
    if ((flags & MAP_FIXED) != 0) {
        unmap(address, bytes);  // what is there goes
    }
}

void Teller::move(const void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                  const void* target) const noexcept {
    unmap(address, old_bytes);
    if ((flags & MREMAP_FIXED) != 0) {
        unmap(target, new_bytes);
    }
}

void Teller::system_call(long number, const long (&arguments)[6]) const noexcept {
    const auto& [a, b, c, d, e, f] = arguments;
    const auto size = [](long argument) { return static_cast<std::size_t>(argument); };
    switch (number) {
        case SYS_read:
        case SYS_pread64:
            return buffer(pointer_in(b), size(c), Way::into_memory);
        case SYS_write:
        case SYS_pwrite64:
            return buffer(pointer_in(b), size(c), Way::from_memory);
        case SYS_readv:
        case SYS_preadv:
        case SYS_preadv2:
            return vector(static_cast<const iovec*>(pointer_in(b)), size(c), Way::into_memory);
        case SYS_writev:
        case SYS_pwritev:
        case SYS_pwritev2:
        case SYS_vmsplice:
            return vector(static_cast<const iovec*>(pointer_in(b)), size(c), Way::from_memory);
        case SYS_process_vm_readv:
            return vector(static_cast<const iovec*>(pointer_in(b)), size(c), Way::into_memory);
        case SYS_process_vm_writev:
            return vector(static_cast<const iovec*>(pointer_in(b)), size(c), Way::from_memory);
        case SYS_recvfrom:
            buffer(pointer_in(b), size(c), Way::into_memory);
            pointer(pointer_in(e));
            return pointer(pointer_in(f));
        case SYS_sendto:
            buffer(pointer_in(b), size(c), Way::from_memory);
            return pointer(pointer_in(e));
        case SYS_recvmsg:
            return message(static_cast<const msghdr*>(pointer_in(b)), Way::into_memory);
        case SYS_sendmsg:
            return message(static_cast<const msghdr*>(pointer_in(b)), Way::from_memory);
        case SYS_recvmmsg:
            return messages(static_cast<const mmsghdr*>(pointer_in(b)), size(c), Way::into_memory);
        case SYS_sendmmsg:
            return messages(static_cast<const mmsghdr*>(pointer_in(b)), size(c), Way::from_memory);
        case SYS_getrandom:
            return buffer(pointer_in(a), size(b), Way::into_memory);
        case SYS_ioctl:
            return device_request(static_cast<unsigned long>(b), pointer_in(c));
        case SYS_mmap:
            return map(pointer_in(a), size(b), static_cast<int>(d));
        case SYS_mprotect:
        case SYS_pkey_mprotect:
        case SYS_madvise:
        case SYS_mlock:
        case SYS_mlock2:
            return change(pointer_in(a), size(b));
        case SYS_munmap:
            return unmap(pointer_in(a), size(b));
        case SYS_mremap:
            return move(pointer_in(a), size(b), size(c), static_cast<int>(d), pointer_in(e));
        default:
            for (const long argument : arguments) {
                pointer(pointer_in(argument));
            }
            return;
    }
}

}  // namespace pincheck::trap
