// What all parts of a report need when they are added to a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace pincheck {

// Times of a damaged or foreign file must not wrap around.
inline std::uint64_t since(std::uint64_t start, std::uint64_t time) noexcept {
    return time > start ? time - start : 0;
}

// CaptureSite::id of a report's site, from its position in Capture::sites; 0: none.
inline std::uint32_t site_in(const std::unordered_map<std::uint32_t, std::size_t>& sites, std::uint32_t id) {
    const auto found = sites.find(id);
    return found == sites.end() ? 0 : static_cast<std::uint32_t>(found->second + 1);
}

}  // namespace pincheck
