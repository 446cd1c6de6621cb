#include "deviation.h"

#include <algorithm>
#include <map>

namespace pincheck {
namespace {

// Differences below this are not worth a word.
std::uint64_t least(Figure figure) noexcept {
    switch (figure) {
        case Figure::held:
        case Figure::duration:
            return 100'000'000;
        case Figure::copied_bytes:
            return 64 << 20;
        case Figure::copies:
        case Figure::calls:
            return 100;
    }
    return 0;
}

std::uint64_t value_of(const CaptureProcess& process, Figure figure) noexcept {
    switch (figure) {
        case Figure::held:
            return process.held_ns;
        case Figure::copies:
            return process.copies;
        case Figure::copied_bytes:
            return process.copied_bytes;
        case Figure::calls:
            return process.cuda_calls;
        case Figure::duration:
            return process.duration_ns;
    }
    return 0;
}

bool is_far(std::uint64_t value, std::uint64_t median, Figure figure) noexcept {
    const std::uint64_t larger = std::max(value, median);
    const std::uint64_t smaller = std::min(value, median);
    return smaller < larger / 2 && larger - smaller >= least(figure);
}

void add_of_peers(std::vector<Deviation>& found, const Capture& capture, const std::vector<std::uint32_t>& peers,
                  Figure figure) {
    std::vector<std::uint64_t> values;
    values.reserve(peers.size());
    for (const std::uint32_t peer : peers) {
        values.push_back(value_of(capture.processes[peer], figure));
    }
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::ranges::nth_element(values, middle);
    const std::uint64_t median = *middle;
    std::vector<Deviation> far;
    for (const std::uint32_t peer : peers) {
        const std::uint64_t value = value_of(capture.processes[peer], figure);
        if (is_far(value, median, figure)) {
            far.push_back({peer, figure, value, median, static_cast<std::uint32_t>(peers.size())});
        }
    }
    if (far.size() * 4 <= peers.size()) {
        found.insert(found.end(), far.begin(), far.end());
    }
}

}  // namespace

const char* name(Figure figure) noexcept {
    switch (figure) {
        case Figure::held:
            return "held";
        case Figure::copies:
            return "copies";
        case Figure::copied_bytes:
            return "copied-bytes";
        case Figure::calls:
            return "calls";
        case Figure::duration:
            return "duration";
    }
    return "unknown";
}

std::vector<Deviation> deviations(const Capture& capture) {
    std::map<std::string, std::vector<std::uint32_t>> by_executable;
    for (std::uint32_t i = 0; i < capture.processes.size(); ++i) {
        const CaptureProcess& process = capture.processes[i];
        if (process.cuda_calls != 0 && !process.after_cuda_fork) {
            by_executable[process.executable].push_back(i);
        }
    }
    std::vector<Deviation> found;
    for (const auto& [executable, peers] : by_executable) {
        for (const Figure figure : kFigures) {
            if (peers.size() >= kFewestPeers) {
                add_of_peers(found, capture, peers, figure);
            }
        }
    }
    std::ranges::stable_sort(found, {}, &Deviation::process);
    return found;
}

}  // namespace pincheck
