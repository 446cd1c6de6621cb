#include "log.h"

#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "options.h"

namespace pincheck {

KeepErrno::KeepErrno() noexcept : saved_(errno) {}
KeepErrno::~KeepErrno() {
    errno = saved_;
}

void say(Level level, const char* format, ...) noexcept {
    if (options().verbosity < static_cast<int>(level)) {
        return;
    }
    const KeepErrno keep;
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
    // A full pipe or a closed stderr loses the line; there is nobody else to tell.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

}  // namespace pincheck
