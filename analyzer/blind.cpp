#include "blind.h"

#include <algorithm>

#include "names.h"
#include "render_text_layout.h"

namespace pincheck {
namespace {

using namespace report;

std::string next_step(Loss kind) {
    switch (kind) {
        case Loss::write_failed:
            return "free space, or write elsewhere with PINCHECK_OPTIONS=output=…";
        case Loss::descriptor_lost:
            return "the program closed the report's descriptor: let it keep descriptors that it did not open";
        case Loss::unrecorded:
            return "run it again: calls passed while the tool started";
        case Loss::unseen_copies:
            return "a library reaches the driver past the tool: see 'Not seen'";
        case Loss::races:
            return "repair the races that are listed, and check again";
        default:
            return "check a shorter run";
    }
}

class Reasons {
  public:
    void add(const std::string& reason) {
        if (std::ranges::find(list_, reason) == list_.end()) {
            list_.push_back(reason);
        }
    }
    void add_process(const CaptureProcess& process) {
        if (!process.problems.empty()) {
            const std::size_t more = process.problems.size() - 1;
            add(process.file + ": " + process.problems.front() +
                (more == 0 ? "" : " (and " + counted(more, "more problem") + ": see 'pincheck dump')") +
                "; copy it again, or run the program again");
        }
        for (const CaptureProcess::LossCount& loss : process.losses) {
            if (loss.count > 0 && hides_calls(loss.kind, process.ended)) {
                add(process.file + ": not everything was recorded (" + name(loss.kind) + ", " +
                    counted(loss.count, "time") + "); " + next_step(loss.kind));
            }
        }
        for (const CaptureProcess::Coverage& coverage : process.coverage) {
            if (coverage.kind == CoverageKind::unknown_address) {
                add("copies through " + coverage.text +
                    " were not seen: the driver answered with a function that this pincheck does not know; install a "
                    "newer one");
            } else if (coverage.kind == CoverageKind::foreign_provider) {
                add("copies through " + coverage.text +
                    " were not seen: another library defines the function; run without it");
            } else if (coverage.kind == CoverageKind::bypassed) {
                add("CUDA calls of " + coverage.text +
                    " were not seen: it finds functions past libpincheck.so (opened with RTLD_DEEPBIND, or another "
                    "preloaded library answers its dlsym); run without that");
            }
        }
    }
    std::vector<std::string> take() { return std::move(list_); }

  private:
    std::vector<std::string> list_;
};

// Asynchronous copies whose host side nobody could name: they may be pageable.
std::uint64_t unclassified_copies(const Capture& capture) {
    std::uint64_t copies = 0;
    for (const CaptureSite& site : capture.sites) {
        const bool unknown = site.direction == Direction::unknown ? site.source.kind == MemoryClass::unknown ||
                                                                        site.destination.kind == MemoryClass::unknown
                                                                  : site.host_memory().kind == MemoryClass::unknown;
        if (site.kind == SiteKind::copy && site.is_async() && !site.is_captured() && unknown && site.bytes_max > 0) {
            copies += site.calls - std::min(site.calls, site.failed);
        }
    }
    return copies;
}

}  // namespace

bool hides_calls(Loss kind, bool ended) {
    switch (kind) {
        case Loss::sites:
        case Loss::threads:
        case Loss::counters:
        case Loss::image_full:
        case Loss::unrecorded:
        case Loss::unseen_copies:
        case Loss::races:
            return true;
        case Loss::write_failed:
        case Loss::descriptor_lost:
            return !ended;  // otherwise the last snapshot has everything
        case Loss::stacks:
        case Loss::strings:
        case Loss::modules:
        case Loss::ranges:
        case Loss::not_classified:
        case Loss::waits:
        case Loss::transfers:
        case Loss::streams:
        case Loss::in_flight:
        case Loss::unwatched:
        case Loss::unsampled:
        case Loss::reads:
            break;
    }
    return false;
}

std::vector<std::string> reasons_for_no_conclusion(const LoadResult& loaded, bool allow_no_cuda,
                                                   const std::vector<std::string>& blind_reasons) {
    const Capture& capture = loaded.capture;
    Reasons reasons;
    for (const std::string& reason : blind_reasons) {
        reasons.add(reason);
    }
    for (const std::string& error : loaded.errors) {
        reasons.add(error);
    }
    if (capture.processes.empty() && loaded.errors.empty() && blind_reasons.empty() && !allow_no_cuda) {
        reasons.add(
            "no report: the program made no CUDA call, or ran without libpincheck.so; --allow-no-cuda accepts "
            "that");
    }
    // First: a file that was cut explains why it has no calls.
    for (const CaptureProcess& process : capture.processes) {
        reasons.add_process(process);
    }
    const auto made_calls = [](const CaptureProcess& process) { return process.cuda_calls > 0; };
    if (!capture.processes.empty() && std::ranges::none_of(capture.processes, made_calls) && !allow_no_cuda) {
        reasons.add(
            "no CUDA call was recorded: is there a device, and did the program get as far as using it? "
            "--allow-no-cuda accepts that");
    }
    if (const std::uint64_t copies = unclassified_copies(capture); copies > 0) {
        reasons.add("the memory of " + count_text(copies) +
                    " asynchronous copies is not known (copied while a graph was captured, or on a driver's thread): "
                    "allocate it page-locked before the capture, and under libpincheck.so");
    }
    return reasons.take();
}

}  // namespace pincheck
