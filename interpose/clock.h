#pragma once

#include <ctime>

#include <cstdint>

namespace pincheck {

// CLOCK_MONOTONIC, nanoseconds. About 31 ns a read in the virtual machines measured.
inline std::uint64_t now_ns() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

// CLOCK_MONOTONIC_COARSE: the same time as of the kernel's last tick, 1 to 10 ms apart. 3 to 7 ns a read.
inline std::uint64_t coarse_ns() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}
// Between two ticks.
inline std::uint64_t coarse_tick_ns() noexcept {
    timespec time;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &time) == 0 ? static_cast<std::uint64_t>(time.tv_nsec) : 10'000'000;
}

inline std::uint64_t realtime_ns() noexcept {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace pincheck
