#include "page_rights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace pincheck {
namespace {

// Reads hexadecimal digits; stops behind them.
std::uintptr_t hexadecimal(const char*& at) noexcept {
    std::uintptr_t value = 0;
    for (;; ++at) {
        const char c = *at;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            return value;
        }
        value = value << 4 | static_cast<unsigned>(digit);
    }
}

// "7f00-7f10 rw-p ..."; what a line begins with, however it goes on.
struct Mapping {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool is_data;
};
Mapping mapping_of(const char* line) noexcept {
    Mapping mapping{};
    mapping.begin = hexadecimal(line);
    mapping.end = *line == '-' ? hexadecimal(++line) : 0;
    mapping.is_data = line[0] == ' ' && line[1] == 'r' && line[2] == 'w' && line[3] == '-';
    return mapping;
}

// Not the C library's syscall(), before which libpincheck-trap.so stands.
bool change(std::uintptr_t begin, std::uintptr_t end, int rights) noexcept {
    long result = SYS_mprotect;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(begin), "S"(end - begin), "d"(static_cast<long>(rights))
                 : "rcx", "r11", "memory");
    return result == 0;
}

}  // namespace

bool is_plain_data(std::uintptr_t begin, std::uintptr_t end) noexcept {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) {
        return false;
    }
    char buffer[4096];
    char line[64];
    std::size_t length = 0;
    std::uintptr_t reached = begin;
    bool is_data = true;
    ssize_t got = 0;
    while (is_data && reached < end && (got = read(maps, buffer, sizeof buffer)) != 0) {
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            break;
        }
        for (ssize_t i = 0; i < got && is_data && reached < end; ++i) {
            if (buffer[i] != '\n') {
                if (length + 1 < sizeof line) {
                    line[length++] = buffer[i];
                }
                continue;
            }
            line[length] = '\0';
            length = 0;
            const Mapping mapping = mapping_of(line);
            if (mapping.end <= reached) {
                continue;
            }
            is_data = mapping.begin <= reached && mapping.is_data;
            reached = mapping.end;
        }
    }
    syscall(SYS_close, maps);
    return is_data && reached >= end;
}

bool take_rights(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return change(begin, end, PROT_NONE);
}
bool give_rights(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return change(begin, end, PROT_READ | PROT_WRITE);
}

}  // namespace pincheck
