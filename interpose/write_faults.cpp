#include "write_faults.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace pincheck {
namespace {

// USERFAULTFD_IOC_NEW of /dev/userfaultfd, Linux 6.1.
constexpr unsigned long kNewCall = _IO(0xAA, 0x00);

int new_userfaultfd() noexcept {
    const long direct = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (direct >= 0) {
        return static_cast<int>(direct);
    }
    const int device = ::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0) {
        return -1;
    }
    const int descriptor = ioctl(device, kNewCall, O_CLOEXEC | O_NONBLOCK);
    syscall(SYS_close, device);
    return descriptor;
}

}  // namespace

bool WriteFaults::open() noexcept {
    if (!userfaultfd_.take(new_userfaultfd())) {
        return false;
    }
    uffd::Api api{uffd::kApi, uffd::kFaultFeatures, 0};
    if (ioctl(userfaultfd_.number(), uffd::kApiCall, &api) != 0) {
        close();
        return false;
    }
    return true;
}

WriteFaults::Answer WriteFaults::add(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return register_pages(userfaultfd_, begin, end);
}

WriteFaults::Answer WriteFaults::remove(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return unregister_pages(userfaultfd_, begin, end);
}

WriteFaults::Answer WriteFaults::change(std::uintptr_t begin, std::uintptr_t end, std::uint64_t mode) noexcept {
    if (!userfaultfd_.is_ours()) {
        return Answer::lost;
    }
    uffd::WriteProtect request{{begin, end - begin}, mode};
    int result;
    do {
        result = ioctl(userfaultfd_.number(), uffd::kWriteProtectCall, &request);
    } while (result != 0 && errno == EAGAIN);  // the mappings are being changed
    return result == 0 ? Answer::done : Answer::gone;
}

bool WriteFaults::next(Fault& fault) noexcept {
    while (userfaultfd_.is_ours()) {
        pollfd ready{userfaultfd_.number(), POLLIN, 0};
        if (poll(&ready, 1, -1) < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        if ((ready.revents & POLLNVAL) != 0) {
            return false;
        }
        uffd::Message message;
        if (::read(userfaultfd_.number(), &message, sizeof message) != static_cast<ssize_t>(sizeof message)) {
            if (errno != EAGAIN && errno != EINTR) {
                return false;
            }
            continue;
        }
        if (message.event == uffd::kEventFault) {
            fault = {message.address, message.thread};
            return true;
        }
    }
    return false;
}

}  // namespace pincheck
