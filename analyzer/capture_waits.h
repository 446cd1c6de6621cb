// What reports say of waits, of sizes, of the device's times and of streams, added to a capture that is being merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture.h"

namespace pincheck {

// Adds one report's, for the last process of the capture. `sites`: the report's site ids to positions in
// Capture::sites. Until finish_waits(), ids of sites and streams in what this adds are positions plus one.
// Returns the report's stream ids to positions in Capture::streams plus one.
std::unordered_map<std::uint32_t, std::uint32_t> add_waits(Capture& capture, const report::Report& report,
                                                           const std::unordered_map<std::uint32_t, std::size_t>& sites);

// When all reports are in and sites and processes have been put in order: the id that the site at each former position
// has now, and the former position of each process. Returns the id that the stream at each former position has now.
std::vector<std::uint32_t> finish_waits(Capture& capture, std::span<const std::uint32_t> site_ids,
                                        std::span<const std::size_t> processes);

// Demangled, unless it is long: substitutions can make a name of a report grow exponentially.
std::string kernel_name(const std::string& recorded);

}  // namespace pincheck
