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

inline std::uint64_t realtime_ns() noexcept {
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace pincheck
