#include "threads.h"

#include <dirent.h>
#include <fcntl.h>

#include <cstddef>
#include <cstdint>

#include "access.h"
#include "raw_calls.h"
#include "signal_mask.h"

namespace pincheck::trap {
namespace {

constexpr char kFolder[] = "/proc/self/task";
constexpr char kFile[] = "/status";
constexpr char kField[] = "SigBlk:\t";

class File {
  public:
    File(const char* path, int flags) noexcept
        : number_(raw_call(SYS_openat, AT_FDCWD, raw_address(path), flags | O_RDONLY | O_CLOEXEC)) {}
    ~File() {
        if (is_open()) {
            raw_call(SYS_close, number_);
        }
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool is_open() const noexcept { return number_ >= 0; }
    long number() const noexcept { return number_; }

  private:
    long number_;
};

bool starts_with(const char* text, const char* prefix) noexcept {
    for (; *prefix != '\0'; ++text, ++prefix) {
        if (*text != *prefix) {
            return false;
        }
    }
    return true;
}

char* append(char* to, const char* end, const char* text) noexcept {
    while (*text != '\0' && to < end - 1) {
        *to++ = *text++;
    }
    *to = '\0';
    return to;
}

// The field's hexadecimal number; false where the text has no such field.
bool blocked_mask(const char* text, Mask& mask) noexcept {
    for (; *text != '\0'; ++text) {
        if (!starts_with(text, kField)) {
            continue;
        }
        mask = 0;
        for (text += sizeof kField - 1; *text != '\n' && *text != '\0'; ++text) {
            const int digit = *text <= '9' ? *text - '0' : *text - 'a' + 10;
            mask = mask * 16 + static_cast<Mask>(digit);
        }
        return true;
    }
    return false;
}

// Before attach(), a thread that blocks one of the two signals of signal_mask.h alone would be misread afterwards.
bool is_fit(Mask mask) noexcept {
    return (mask & kFault) == 0 && (attached_user() != nullptr || (to_program(mask) & kFault) == 0);
}

bool takes_signal(const char* thread) noexcept {
    char path[64];
    char* end = append(path, path + sizeof path, kFolder);
    end = append(end, path + sizeof path, "/");
    end = append(end, path + sizeof path, thread);
    append(end, path + sizeof path, kFile);
    const File file(path, 0);
    if (!file.is_open()) {
        return true;  // ended meanwhile
    }
    char text[4096];
    long used = 0;
    while (used < static_cast<long>(sizeof text) - 1) {
        const long got =
            raw_call(SYS_read, file.number(), raw_address(text + used), static_cast<long>(sizeof text) - 1 - used);
        if (got <= 0) {
            break;
        }
        used += got;
    }
    text[used] = '\0';
    Mask mask = 0;
    return used == 0 || (blocked_mask(text, mask) && is_fit(mask));
}

bool is_number(const char* text, long number) noexcept {
    long value = 0;
    for (; *text >= '0' && *text <= '9'; ++text) {
        value = value * 10 + (*text - '0');
    }
    return *text == '\0' && value == number;
}

}  // namespace

bool every_other_thread_takes_signal() noexcept {
    const File folder(kFolder, O_DIRECTORY);
    if (!folder.is_open()) {
        return false;
    }
    const long self = raw_call(SYS_gettid);
    alignas(dirent64) char entries[2048];
    for (;;) {
        const long bytes = raw_call(SYS_getdents64, folder.number(), raw_address(entries), sizeof entries);
        if (bytes <= 0) {
            return bytes == 0;
        }
        for (long at = 0; at < bytes;) {
            const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
            at += entry->d_reclen;
            if (entry->d_name[0] != '.' && !is_number(entry->d_name, self) && !takes_signal(entry->d_name)) {
                return false;
            }
        }
    }
}

}  // namespace pincheck::trap
