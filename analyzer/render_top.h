// `pincheck top`: where a process spends its time in CUDA calls now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "capture.h"
#include "origin.h"

namespace pincheck {

struct TopOptions {
    std::size_t width = 92;
    std::size_t rows = 15;  // sites, at most
    bool color = false;
    std::uint64_t since_ns = 0;  // since the last look; 0: the capture is of the whole runs so far
};

// A heading, and the sites by host time, worst first.
std::string top_text(const Capture& capture, const Origins& origins, const TopOptions& options);

}  // namespace pincheck
