// Prints one line for each call of a list: the code it returned, errno after it (77 before it), the outputs that every
// run has alike, and for the runtime the last error, read twice. Two runs of one program on one machine print the same;
// so a tool that is in the way must change nothing (scenarios I7, P5). Nothing here knows of a simulated device.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

namespace same_calls {

inline constexpr int kErrnoBefore = 77;
inline std::string* lines = nullptr;  // where lines go while a callback runs; null: stdout

inline void print(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline void print(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (lines != nullptr) {
        *lines += text;
    } else {
        std::fputs(text, stdout);
    }
}

// Addresses differ from run to run: only whether one was given is printed.
inline const char* given(const void* pointer) {
    return pointer == nullptr ? "null" : pointer == reinterpret_cast<void*>(0x5555) ? "untouched" : "set";
}
inline void* untouched() {
    return reinterpret_cast<void*>(0x5555);
}

inline unsigned checksum(const void* data, std::size_t bytes) {
    unsigned sum = 2166136261u;
    for (std::size_t i = 0; i < bytes; ++i) {
        sum = (sum ^ static_cast<const unsigned char*>(data)[i]) * 16777619u;
    }
    return sum;
}

inline void fill(void* data, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i) {
        static_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(seed + i * 7);
    }
}

}  // namespace same_calls
