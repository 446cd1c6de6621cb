// Rule hidden-wait: calls that held the host although they are asynchronous by name or documentation, or synchronise
// nothing by their purpose. What asynchronous copies of pageable and managed memory wait for is part of their own
// rules' findings (findings.cpp), not of this one.
#pragma once

#include <cstdint>
#include <vector>

#include "findings.h"

namespace pincheck {

// Findings of sites for which `has_finding` (by position in Capture::sites) is false; not sorted. Sites of one
// function, cause and user's frame are one finding.
std::vector<Finding> find_hidden_waits(const Capture& capture, const Origins& origins,
                                       const std::vector<bool>& has_finding);

// Time inside calls that is no finding: costs, and waits that the program asked for.
struct PlainTime {
    std::uint64_t calls = 0;
    std::uint64_t ns = 0;
};
struct PlainTimes {
    PlainTime pinning;                   // page-locking and unlocking
    PlainTime module_loading;            // lazy loading of modules and kernels
    PlainTime requested;                 // synchronisations that had work to wait for
    PlainTime synchronous_copy;          // copies that return when they are done
    PlainTime idle_sync;                 // synchronisations that had nothing to wait for
    std::uint64_t synchronisations = 0;  // calls of the sites of idle_sync
};
PlainTimes plain_times(const Capture& capture, const Origins& origins);

}  // namespace pincheck
