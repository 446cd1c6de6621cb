// Processes of a job that did not do what the others did: "rank 3 was held twice as long as half of its peers".
//
// Peers are the processes of one executable that made CUDA calls, kFewestPeers or more of them. A process deviates in a
// figure where it has more than twice the peers' median, or less than half of it, and the difference is worth a word
// (kLeast of the figure). Where more than a quarter of the peers do, they have different work, and none deviates.
// Facts for the reader: no verdict depends on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capture.h"

namespace pincheck {

inline constexpr std::size_t kFewestPeers = 4;

enum class Figure : std::uint8_t {
    held,          // ns that calls held the host, waits for nothing not among them
    copies,        // calls
    copied_bytes,  // of these
    calls,         // CUDA calls
    duration,      // ns from the first CUDA call to the last snapshot
};
inline constexpr Figure kFigures[] = {Figure::held, Figure::copies, Figure::copied_bytes, Figure::calls,
                                      Figure::duration};
const char* name(Figure figure) noexcept;

struct Deviation {
    std::uint32_t process = 0;  // index into Capture::processes
    Figure figure{};
    std::uint64_t value = 0;
    std::uint64_t median = 0;  // of the peers, this one among them: half of them have this or less
    std::uint32_t peers = 0;

    bool operator==(const Deviation&) const = default;
};

// By process, then by figure.
std::vector<Deviation> deviations(const Capture& capture);

}  // namespace pincheck
