// Reading a file of /proc without the heap. errno may change.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace pincheck {

// At most `size` bytes of a small file; no allocation.
inline std::size_t read_file(const char* path, char* out, std::size_t size) noexcept {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return 0;
    }
    std::size_t used = 0;
    while (used < size) {
        const ssize_t got = read(descriptor, out + used, size - used);
        if (got <= 0) {
            break;
        }
        used += static_cast<std::size_t>(got);
    }
    close(descriptor);
    return used;
}

}  // namespace pincheck
