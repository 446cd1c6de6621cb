#include "log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "options.h"

namespace pincheck {

namespace {

enum class Stderr { unknown, closed, open };
Stderr g_stderr = Stderr::unknown;
dev_t g_device = 0;
ino_t g_inode = 0;

// Still what the process was started with, or what a program would put in its place: anything but a plain file that is
// not a log (opened to append).
bool stderr_is_there() noexcept {
    remember_stderr();
    struct stat now;
    if (g_stderr == Stderr::closed || fstat(STDERR_FILENO, &now) != 0) {
        return false;
    }
    return !S_ISREG(now.st_mode) || (now.st_dev == g_device && now.st_ino == g_inode) ||
           (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
}

}  // namespace

void remember_stderr() noexcept {
    if (g_stderr != Stderr::unknown) {
        return;
    }
    struct stat status;
    g_stderr = fstat(STDERR_FILENO, &status) == 0 ? Stderr::open : Stderr::closed;
    if (g_stderr == Stderr::open) {
        g_device = status.st_dev;
        g_inode = status.st_ino;
    }
}

KeepErrno::KeepErrno() noexcept : saved_(errno) {}
KeepErrno::~KeepErrno() {
    errno = saved_;
}

NotCancelled::NotCancelled() noexcept {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
}
NotCancelled::~NotCancelled() {
    pthread_setcancelstate(before_, nullptr);
}

void say(Level level, const char* format, ...) noexcept {
    if (options().verbosity < static_cast<int>(level)) {
        return;
    }
    const KeepErrno keep;
    const NotCancelled whole;
    if (!stderr_is_there()) {
        return;  // nobody to tell
    }
    char line[1024] = "pincheck: ";
    constexpr int kPrefix = 10;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + kPrefix, sizeof(line) - kPrefix - 1, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return;
    }
    length += kPrefix;
    if (length > static_cast<int>(sizeof(line)) - 2) {
        length = static_cast<int>(sizeof(line)) - 2;
    }
    line[length++] = '\n';
    // A full pipe loses the line; there is nobody else to tell.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

}  // namespace pincheck
