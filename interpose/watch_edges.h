// The parts of a watched source in pages that it shares: saved when the watch begins, compared when the page was
// written. Callers lock. errno may change.
#pragma once

#include <cstdint>

#include "edge_bytes.h"
#include "watch_pages.h"

namespace pincheck {

// Saves the bytes of the source in its first and last page, where these are not its own. False: a part could not be
// saved; it is counted as unwatched.
bool save_edges(Watch& watch, EdgeBytes& edges) noexcept;
void give_back_edges(const Watch& watch, EdgeBytes& edges) noexcept;

// The part of an edge that is not as it was saved: offsets in the edge. Empty: none. `now`: what it holds.
struct ChangedBytes {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    explicit operator bool() const noexcept { return begin < end; }
};
ChangedBytes changed_bytes(const WatchEdge& edge, const EdgeBytes& edges, const unsigned char* now) noexcept;

}  // namespace pincheck
