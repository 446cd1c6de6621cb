// Waiting for a word to change, with a limit. No lock, no allocation; errno is the caller's business.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include "clock.h"

namespace pincheck {

// Returns when the word may have changed, and at the latest after `ns`.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_value, std::uint64_t ns) noexcept {
    const timespec limit{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, while_value, &limit, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

inline void set_and_wake(std::atomic<std::uint32_t>& word) noexcept {
    word.store(1, std::memory_order_release);
    futex_wake(word);
}

// Waits until `is_done(value)`; false when `ns` passed first.
template <class F>
bool futex_wait_for(std::atomic<std::uint32_t>& word, std::uint64_t ns, F&& is_done) noexcept {
    const std::uint64_t deadline = now_ns() + ns;
    for (;;) {
        const std::uint32_t value = word.load(std::memory_order_acquire);
        if (is_done(value)) {
            return true;
        }
        const std::uint64_t now = now_ns();
        if (now >= deadline) {
            return false;
        }
        futex_wait(word, value, deadline - now);
    }
}

inline bool wait_until_set(std::atomic<std::uint32_t>& word, std::uint64_t ns) noexcept {
    return futex_wait_for(word, ns, [](std::uint32_t value) { return value != 0; });
}

}  // namespace pincheck
