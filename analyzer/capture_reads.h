// What reports say of reads from write-combined memory, added to a capture that is being merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "capture.h"

namespace pincheck {

// As add_races() and finish_races() (capture_races.h).
void add_reads(Capture& capture, const report::Report& report,
               const std::unordered_map<std::uint32_t, std::size_t>& sites);
void finish_reads(Capture& capture, std::span<const std::uint32_t> site_ids, std::span<const std::size_t> processes);

}  // namespace pincheck
