// What all parts of a report need when they are added to a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "report/slots.h"

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

// The bucket that holds the median of so many calls; kHistogramBuckets when there was none.
inline std::uint32_t median_bucket_of(std::uint64_t calls,
                                      const std::uint64_t (&histogram)[report::kHistogramBuckets]) noexcept {
    std::uint64_t left = calls / 2;
    for (std::uint32_t bucket = 0; bucket < report::kHistogramBuckets; ++bucket) {
        if (left < histogram[bucket]) {
            return bucket;
        }
        left -= histogram[bucket];
    }
    return report::kHistogramBuckets;
}

}  // namespace pincheck
