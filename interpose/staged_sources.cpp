#include "staged_sources.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "hash_table.h"

namespace pincheck {
namespace {

constexpr std::uint64_t kWords = 32;

// Calls use(offset) for each word that is looked at.
template <class F>
void each_word(std::uint64_t bytes, F&& use) noexcept {
    const std::uint64_t last = bytes >= 8 ? bytes - 8 : 0;
    const std::uint64_t step = std::max<std::uint64_t>(last / kWords, 8);
    for (std::uint64_t at = 0; at < last; at += step) {
        use(at);
    }
    use(last);
}

}  // namespace

std::uint64_t sample_content(std::uintptr_t address, std::uint64_t bytes) noexcept {
    Hasher hasher;
    each_word(bytes, [&](std::uint64_t at) {
        std::uint64_t word = 0;
        __builtin_memcpy(&word, reinterpret_cast<const void*>(address + at), std::min<std::uint64_t>(bytes, 8));
        hasher.add(word);
    });
    return hasher.result().low;
}

// The kernel reads, and says what cannot be read. Not allowed under some seccomp filters: false then too.
bool sample_content_safely(std::uintptr_t address, std::uint64_t bytes, std::uint64_t& content) noexcept {
    constexpr std::size_t kMost = kWords + 3;
    std::uint64_t words[kMost] = {};
    iovec here[kMost];
    iovec there[kMost];
    const std::size_t length = std::min<std::uint64_t>(bytes, 8);
    std::size_t count = 0;
    each_word(bytes, [&](std::uint64_t at) {
        if (count < kMost) {
            here[count] = {&words[count], length};
            there[count] = {reinterpret_cast<void*>(address + at), length};
            ++count;
        }
    });
    const ssize_t read = process_vm_readv(getpid(), here, count, there, count, 0);
    if (read < 0 || static_cast<std::size_t>(read) != count * length) {
        return false;
    }
    Hasher hasher;
    for (std::size_t i = 0; i < count; ++i) {
        hasher.add(words[i]);
    }
    content = hasher.result().low;
    return true;
}

}  // namespace pincheck
