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

}  // namespace pincheck
