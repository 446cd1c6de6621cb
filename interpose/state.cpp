#include "state.h"

#include <cstring>

namespace pincheck {

std::uint32_t State::api_name(Api api) noexcept {
    std::atomic<std::uint32_t>& name = api_names[index_of(api)];
    std::uint32_t id = name.load(std::memory_order_relaxed);
    if (id == 0) {
        // Two threads may both add it: the text is there twice, which does no harm.
        id = image.add_string({info(api).symbol, std::strlen(info(api).symbol)});
        name.store(id, std::memory_order_relaxed);
    }
    return id;
}

void State::capture_began(std::uintptr_t stream) noexcept {
    open_captures.fetch_add(1, std::memory_order_relaxed);
    for (auto& entry : capturing) {
        std::uintptr_t free_entry = 0;
        if (entry.compare_exchange_strong(free_entry, stream)) {
            return;
        }
    }
}

void State::capture_ended(std::uintptr_t stream) noexcept {
    for (auto& entry : capturing) {
        std::uintptr_t there = stream;
        if (entry.compare_exchange_strong(there, 0)) {
            break;
        }
    }
    int open = open_captures.load(std::memory_order_relaxed);
    while (open > 0 && !open_captures.compare_exchange_weak(open, open - 1)) {
    }
}

bool State::is_capturing(std::uintptr_t stream) const noexcept {
    for (const auto& entry : capturing) {
        if (entry.load(std::memory_order_relaxed) == stream) {
            return true;
        }
    }
    return false;
}

}  // namespace pincheck
