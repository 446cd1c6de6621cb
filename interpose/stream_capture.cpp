#include "stream_capture.h"

#include "real.h"

namespace pincheck {

void capture_began(State& state) noexcept {
    state.open_captures.fetch_add(1, std::memory_order_relaxed);
}

void capture_ended(State& state) noexcept {
    int open = state.open_captures.load(std::memory_order_relaxed);
    while (open > 0 && !state.open_captures.compare_exchange_weak(open, open - 1)) {
    }
}

bool is_capturing(const State& state, std::uintptr_t stream) noexcept {
    constexpr std::uintptr_t kLegacyDefault = 1;  // cannot be captured
    const Driver* known = driver();
    if (stream == kLegacyDefault || state.after_fork || t_thread.driver_owned || known == nullptr ||
        known->stream_is_capturing == nullptr) {
        return false;
    }
    int status = 0;
    return known->stream_is_capturing(reinterpret_cast<void*>(stream), &status) == 0 && status != 0;
}

}  // namespace pincheck
