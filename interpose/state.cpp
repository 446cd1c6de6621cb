#include "state.h"

#include <cstring>

namespace pincheck {

// Two threads may both add it: the text is there twice, which does no harm.
std::uint32_t State::add_api_name(Api api) noexcept {
    const std::uint32_t id = image.add_string({info(api).symbol, std::strlen(info(api).symbol)});
    api_names[index_of(api)].store(id, std::memory_order_relaxed);
    return id;
}

}  // namespace pincheck
