#include "memory_detail.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

#include "elf_objects.h"
#include "log.h"
#include "pointer_class.h"

namespace pincheck {
namespace {

using report::MemoryClass;
using report::MemoryDetail;

bool parse_hex(const char*& text, const char* end, std::uint64_t& value) noexcept {
    const char* start = text;
    value = 0;
    for (; text != end; ++text) {
        const char c = *text;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            break;
        }
        value = value << 4 | static_cast<unsigned>(digit);
    }
    return text != start;
}

// The mapping that holds `address`. False when there is none or the list cannot be read.
bool find_mapping(std::uintptr_t address, Mapping& mapping) noexcept {
    const int descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    char buffer[4096];
    std::size_t used = 0;
    bool found = false;
    for (;;) {
        const ssize_t got = read(descriptor, buffer + used, sizeof(buffer) - used);
        if (got <= 0) {
            break;
        }
        used += static_cast<std::size_t>(got);
        std::size_t begin = 0;
        while (const void* feed = std::memchr(buffer + begin, '\n', used - begin)) {
            const std::size_t end = static_cast<std::size_t>(static_cast<const char*>(feed) - buffer);
            if (parse_mapping(buffer + begin, end - begin, mapping) && address >= mapping.begin &&
                address < mapping.end) {
                found = true;
                break;
            }
            begin = end + 1;
        }
        if (found || (begin == 0 && used == sizeof(buffer))) {
            break;  // no path of Linux is longer than the buffer
        }
        std::memmove(buffer, buffer + begin, used - begin);
        used -= begin;
    }
    close(descriptor);
    return found;
}

// A thread's stack ends below its own descriptor (glibc puts that and the thread's static TLS at the top of it); the
// main thread's has a name.
bool is_stack(const Mapping& mapping, std::uintptr_t address) noexcept {
    if (same_text(mapping.path, "[stack]")) {
        return true;
    }
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const auto top = static_cast<std::uintptr_t>(pthread_self());
    return address >= here && address < top && top < mapping.end && here >= mapping.begin;
}

// Shared anonymous memory shows as /dev/zero; names without a slash are the kernel's.
bool is_file(const Mapping& mapping) noexcept {
    return mapping.path[0] == '/' && !starts_with(mapping.path, "/dev/zero");
}

void describe_pageable(State& state, std::uint32_t site, std::uintptr_t address) noexcept {
    if (prctl(PR_GET_SECCOMP) != SECCOMP_MODE_DISABLED) {
        return;
    }
    Mapping mapping;
    if (!find_mapping(address, mapping)) {
        return;
    }
    if (is_stack(mapping, address)) {
        state.image.add_memory(site, MemoryDetail::stack, 0, 0);
    } else if (is_file(mapping)) {
        state.image.add_memory(site, MemoryDetail::file,
                               state.image.add_string({mapping.path, std::strlen(mapping.path)}), 0);
    }
}

}  // namespace

bool parse_mapping(const char* line, std::uint64_t length, Mapping& mapping) noexcept {
    const char* text = line;
    const char* const end = line + length;
    std::uint64_t begin_address = 0;
    std::uint64_t end_address = 0;
    if (!parse_hex(text, end, begin_address) || text == end || *text++ != '-' || !parse_hex(text, end, end_address)) {
        return false;
    }
    // Permissions, offset, device and inode; then the path, if any.
    for (int field = 0; field < 4; ++field) {
        while (text != end && *text == ' ') {
            ++text;
        }
        while (text != end && *text != ' ') {
            ++text;
        }
    }
    while (text != end && *text == ' ') {
        ++text;
    }
    mapping.begin = static_cast<std::uintptr_t>(begin_address);
    mapping.end = static_cast<std::uintptr_t>(end_address);
    std::size_t size = static_cast<std::size_t>(end - text);
    size = size < sizeof(mapping.path) ? size : sizeof(mapping.path) - 1;
    std::memcpy(mapping.path, text, size);
    mapping.path[size] = 0;
    return true;
}

void describe_memory(State& state, std::uint32_t site, MemoryClass kind, std::uintptr_t address,
                     std::uint64_t bytes) noexcept {
    if (kind == MemoryClass::pageable) {
        const KeepErrno keep;
        const NotCancelled whole;
        describe_pageable(state, site, address);
    } else if (kind == MemoryClass::partly_registered) {
        const std::uint64_t boundary = registration_boundary(address, bytes);
        if (boundary != 0) {
            state.image.add_memory(site, MemoryDetail::boundary, 0, boundary);
        }
    }
}

}  // namespace pincheck
