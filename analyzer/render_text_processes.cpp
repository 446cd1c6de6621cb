#include "render_text_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "deviation.h"
#include "printable.h"
#include "render_text_coverage.h"
#include "render_text_parts.h"

namespace pincheck {
namespace {

std::string figure_text(Figure figure, std::uint64_t value) {
    switch (figure) {
        case Figure::held:
            return "held for " + duration_text(value);
        case Figure::copies:
            return value == 1 ? "1 copy" : count_text(value) + " copies";
        case Figure::copied_bytes:
            return bytes_text(value) + " copied";
        case Figure::calls:
            return counted(value, "CUDA call");
        case Figure::duration:
            return "ran for " + duration_text(value);
    }
    return "";
}

std::string median_text(const Deviation& deviation) {
    const bool is_time = deviation.figure == Figure::held || deviation.figure == Figure::duration;
    const std::string value = is_time                                    ? duration_text(deviation.median)
                              : deviation.figure == Figure::copied_bytes ? bytes_text(deviation.median)
                                                                         : count_text(deviation.median);
    return fmt::format("half of the {}: {} or less", count_text(deviation.peers), value);
}

}  // namespace

std::string process_text(const Capture& capture, std::uint32_t process) {
    if (process >= capture.processes.size()) {
        return "a process that is not known";
    }
    const CaptureProcess& one = capture.processes[process];
    if (one.rank != report::kNoRank && std::ranges::count(capture.processes, one.rank, &CaptureProcess::rank) == 1) {
        return fmt::format("rank {}", one.rank);
    }
    const auto elsewhere = [&](const CaptureProcess& other) { return other.host != one.host; };
    const bool hosts = std::ranges::any_of(capture.processes, elsewhere);
    return fmt::format("{}pid {}{}", one.rank == report::kNoRank ? "" : fmt::format("rank {}, ", one.rank), one.pid,
                       hosts && !one.host.empty() ? " on " + printable(one.host) : "");
}

std::string only_in_text(const Capture& capture, const CaptureSite& site) {
    const auto used_cuda = static_cast<std::size_t>(
        std::ranges::count_if(capture.processes, [](const CaptureProcess& one) { return one.cuda_calls != 0; }));
    if (site.processes == 0 || used_cuda < kFewestPeers || std::size_t{site.processes} * 4 > used_cuda) {
        return "";
    }
    std::string names;
    for (const std::uint32_t process : site.in_processes) {
        names += (names.empty() ? "" : ", ") + process_text(capture, process);
    }
    if (site.in_processes.size() < site.processes) {
        names += fmt::format(" and {} more", count_text(site.processes - site.in_processes.size()));
    }
    return fmt::format("only in {} of {} processes", names, count_text(used_cuda));
}

void add_deviating(Lines& lines, const Capture& capture) {
    constexpr std::size_t kShown = 4;
    const std::vector<Deviation> all = deviations(capture);
    std::vector<std::string> texts;
    std::uint32_t last = 0;
    for (const Deviation& one : all) {
        const std::string text = fmt::format("{} ({})", figure_text(one.figure, one.value), median_text(one));
        if (!texts.empty() && one.process == last) {
            texts.back() += ", " + text;
        } else {
            texts.push_back(process_text(capture, one.process) + ": " + text);
        }
        last = one.process;
    }
    for (std::size_t i = 0; i < std::min(texts.size(), kShown); ++i) {
        lines.paragraph(texts[i], kLabelColumns, i == 0 ? "Deviating" : "");
    }
    if (texts.size() > kShown) {
        lines.paragraph(
            fmt::format("… {} more processes: pincheck export --format=json", count_text(texts.size() - kShown)),
            kLabelColumns);
    }
}

}  // namespace pincheck
