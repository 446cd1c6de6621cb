// What reports say of races, added to a capture that is being merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "capture.h"

namespace pincheck {

// Adds one report's, for the last process of the capture. `sites` and `streams`: the report's ids, as add_waits() has
// them. Until finish_races(), ids of sites and streams in what this adds are positions plus one.
void add_races(Capture& capture, const report::Report& report,
               const std::unordered_map<std::uint32_t, std::size_t>& sites,
               const std::unordered_map<std::uint32_t, std::uint32_t>& streams);

// After finish_waits(), with the ids that sites and streams have now by their former positions, and the former position
// of each process.
void finish_races(Capture& capture, std::span<const std::uint32_t> site_ids, std::span<const std::uint32_t> stream_ids,
                  std::span<const std::size_t> processes);

}  // namespace pincheck
