#include "render_text_coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "blind.h"
#include "names.h"
#include "policy.h"
#include "printable.h"
#include "render_text_parts.h"
#include "render_text_races.h"

namespace pincheck {
namespace {

using report::CoverageKind;
using report::Loss;

// Texts in the order in which they came, each once, with the number of processes that said it.
class Tally {
  public:
    void add(const std::string& text, std::uint64_t count = 1) {
        const auto same = [&](const auto& entry) { return entry.first == text; };
        const auto found = std::ranges::find_if(entries_, same);
        if (found == entries_.end()) {
            entries_.emplace_back(text, count);
        } else {
            found->second += count;
        }
    }
    bool empty() const { return entries_.empty(); }
    const std::vector<std::pair<std::string, std::uint64_t>>& entries() const { return entries_; }
    // At most so many, then how many more there are.
    std::string joined(std::size_t most = SIZE_MAX) const {
        std::string text;
        for (std::size_t i = 0; i < std::min(entries_.size(), most); ++i) {
            text += (text.empty() ? "" : ", ") + entries_[i].first;
        }
        return entries_.size() > most ? fmt::format("{} and {} more", text, entries_.size() - most) : text;
    }

  private:
    std::vector<std::pair<std::string, std::uint64_t>> entries_;
};

std::string route_text(const std::string& route) {
    if (route == "exported-runtime") {
        return "exported runtime functions";
    }
    if (route == "exported-driver") {
        return "exported driver functions";
    }
    if (route == "dlsym") {
        return "dlsym in the driver";
    }
    return route == "lookup" ? "cuGetProcAddress" : printable(route);
}

std::string loss_text(Loss kind, std::uint64_t count) {
    switch (kind) {
        case Loss::sites:
            return counted(count, "call") + " from places beyond the table of sites: added up without a stack";
        case Loss::stacks:
            return counted(count, "site") + " without a stack";
        case Loss::strings:
            return counted(count, "text") + " that found no room";
        case Loss::modules:
            return counted(count, "module") + " that found no room: their frames have no file";
        case Loss::ranges:
            return counted(count, "page-locked range") + " that found no room";
        case Loss::threads:
            return counted(count, "call") + " of threads without counters: not recorded";
        case Loss::counters:
            return counted(count, "call") + " without a counter: not recorded";
        case Loss::image_full:
            return "what came after the recording was full or was refused memory (" + counted(count, "time") + ")";
        case Loss::write_failed:
            return counted(count, "snapshot") + " that could not be written";
        case Loss::descriptor_lost:
            return "what came after the program closed or replaced the report's descriptor";
        case Loss::not_classified:
            return "the memory of " + count_text(count) + (count == 1 ? " copy" : " copies") +
                   ": the driver could not be asked";
        case Loss::unrecorded:
            return counted(count, "call") + " that passed through unrecorded";
        case Loss::waits:
            return "why " + counted(count, "call") + " held the host: there was no room to remember it";
        case Loss::transfers:
            return "the device's times of up to " + count_text(count) + (count == 1 ? " copy" : " copies");
        case Loss::streams:
            return "streams and events that found no room (" + counted(count, "time") + ")";
        case Loss::unseen_copies:
            return count_text(count) + (count == 1 ? " copy" : " copies") + " that CUPTI counted and no hook saw";
        case Loss::in_flight:
            return "races with " + count_text(count) + (count == 1 ? " copy" : " copies") +
                   " whose memory was not followed";
        case Loss::races:
            return counted(count, "race") + " that found no room";
        case Loss::unwatched:
            return "accesses by the host to the memory of " + count_text(count) + (count == 1 ? " copy" : " copies") +
                   " in flight: not watched";
        case Loss::unsampled:
            return "what the CPU reads from " + counted(count, "write-combined allocation") +
                   ": too small, or the process uses libaio or io_uring, or there was no moment to look";
        case Loss::reads:
            return counted(count, "place") + " that read write-combined memory and found no room";
    }
    return name(kind) + ' ' + count_text(count);
}

// `reasons_told`: the judgement's reasons are on the screen already and name what hides calls.
void add_losses(Tally& tally, const Capture& capture, bool reasons_told) {
    std::vector<std::pair<Loss, std::uint64_t>> losses;
    for (const CaptureProcess& process : capture.processes) {
        for (const CaptureProcess::LossCount& loss : process.losses) {
            if (reasons_told && hides_calls(loss.kind, process.ended)) {
                continue;
            }
            const auto same = [&](const auto& entry) { return entry.first == loss.kind; };
            const auto found = std::ranges::find_if(losses, same);
            if (found == losses.end()) {
                losses.emplace_back(loss.kind, loss.count);
            } else {
                found->second += loss.count;
            }
        }
    }
    for (const auto& [kind, count] : losses) {
        if (count != 0) {
            tally.add(loss_text(kind, count));
        }
    }
}

// Static runtimes look all of the driver's functions up, called or not.
constexpr std::size_t kNamed = 4;

void add_coverage(Tally& tally, const Capture& capture, bool reasons_told) {
    Tally unknown;
    Tally unlisted;
    for (const CaptureProcess& process : capture.processes) {
        for (const CaptureProcess::Coverage& coverage : process.coverage) {
            const std::string text = printable(coverage.text);
            switch (coverage.kind) {
                case CoverageKind::library:
                case CoverageKind::route:
                case CoverageKind::device_times:
                case CoverageKind::races:
                case CoverageKind::watched_copies:
                case CoverageKind::sampled_reads:
                    break;
                case CoverageKind::no_device_times:
                    tally.add("the device's times: " + text);
                    break;
                case CoverageKind::some_device_times:
                    tally.add("the device's times of every copy: " + text);
                    break;
                case CoverageKind::unknown_address:
                    unknown.add(text);
                    break;
                case CoverageKind::no_unwinder:
                    tally.add("call stacks: " + text);
                    break;
                case CoverageKind::exports_off:
                    tally.add("calls by the routes that " + text + " closed");
                    break;
                case CoverageKind::foreign_provider:
                    if (!reasons_told) {
                        tally.add("calls into a library that defines CUDA functions itself: " + text);
                    }
                    break;
                case CoverageKind::bypassed:
                    if (!reasons_told) {
                        tally.add("CUDA calls that go past the tool: " + text);
                    }
                    break;
                case CoverageKind::unlisted:
                    unlisted.add(text);
                    break;
                default:
                    tally.add(name(coverage.kind) + ": " + text);
                    break;
            }
        }
    }
    if (!unlisted.empty()) {
        tally.add("functions outside the list, where the program calls them: " + unlisted.joined(kNamed));
    }
    if (!unknown.empty() && !reasons_told) {
        tally.add("driver functions at addresses that this version does not know: " + unknown.joined());
    }
}

}  // namespace

void add_pinned(Lines& lines, const Capture& capture) {
    std::uint64_t bytes = 0;
    std::uint64_t ranges = 0;
    for (const CaptureProcess& process : capture.processes) {
        bytes += process.pinned_bytes;
        ranges += process.pinned_ranges;
    }
    if (ranges != 0) {
        lines.paragraph(fmt::format("live at the end {} in {}", bytes_text(bytes), counted(ranges, "block")),
                        kLabelColumns, "Pinned memory");
    }
}

void add_seen(Lines& lines, const Capture& capture) {
    if (capture.processes.empty()) {
        return;
    }
    Tally routes;
    Tally libraries;
    Tally device_times;
    Tally watched;
    Tally sampled;
    bool trapped = false;
    bool pageable = false;
    std::uint64_t calls = 0;
    std::size_t without = 0;
    // Accesses by the host are no calls.
    const auto accesses = std::ranges::count(capture.sites, report::SiteKind::host_access, &CaptureSite::kind);
    const std::uint64_t sites = capture.sites.size() - static_cast<std::size_t>(accesses);
    for (const CaptureProcess& process : capture.processes) {
        calls += process.cuda_calls;
        without += process.cuda_calls == 0 ? 1 : 0;
        for (const CaptureProcess::Coverage& coverage : process.coverage) {
            if (coverage.kind == CoverageKind::route) {
                routes.add(route_text(coverage.text));
            } else if (coverage.kind == CoverageKind::library) {
                libraries.add(printable(base_name(coverage.text)));
            } else if (coverage.kind == CoverageKind::device_times) {
                device_times.add(printable(coverage.text));
            } else if (coverage.kind == CoverageKind::watched_copies) {
                watched.add(printable(coverage.text));
            } else if (coverage.kind == CoverageKind::sampled_reads) {
                sampled.add(printable(coverage.text.substr(0, coverage.text.find(';'))));
            } else if (coverage.kind == CoverageKind::races) {
                trapped = trapped || coverage.text.starts_with("trap");
                pageable = pageable || coverage.text.starts_with("watch,pageable");
            }
        }
    }
    std::string text = fmt::format("{} at {}", counted(calls, "CUDA call"), counted(sites, "site"));
    text += routes.empty() ? "" : "; by " + routes.joined();
    text += libraries.empty() ? "" : "; libraries " + libraries.joined();
    text += device_times.empty() ? "" : "; the device's times by " + device_times.joined();
    text += watched.empty() ? ""
                            : (trapped ? "; accesses to" : "; writes into") + std::string(" the memory of ") +
                                  watched.joined() + (pageable ? " copies in flight" : " page-locked copies in flight");
    text += sampled.empty() ? "" : "; samples of reads from " + sampled.joined() + " write-combined allocations";
    if (without != 0 && capture.processes.size() > 1) {
        text += fmt::format("; {} used no CUDA", without == 1 ? "1 process" : count_text(without) + " processes");
    }
    lines.paragraph(text, kLabelColumns, "Seen");
}

std::vector<std::string> not_seen(const LoadResult& loaded, const Judgement& judgement) {
    const Capture& capture = loaded.capture;
    Tally tally;
    if (judgement.verdict != Verdict::no_conclusion) {
        for (const std::string& reason : judgement.reasons) {
            tally.add(printable(reason));
        }
    }
    const bool reasons_told = !judgement.reasons.empty();
    add_losses(tally, capture, reasons_told);
    add_coverage(tally, capture, reasons_told);
    for (const std::string& line : unseen_races(capture)) {
        tally.add(line);
    }
    for (const CaptureProcess& process : capture.processes) {
        if (!process.ended) {
            tally.add("the last 250 ms of a process that was killed, or still ran, when the report was written");
        }
        if (process.after_cuda_fork) {
            tally.add("the child of a process that had used CUDA: CUDA does not work there");
        }
        for (const std::string& problem : process.problems) {
            if (reasons_told) {
                break;
            }
            tally.add(printable(base_name(process.file)) + ": " + printable(problem));
        }
    }
    for (const std::string& error : loaded.errors) {
        if (reasons_told) {
            break;
        }
        tally.add(printable(error));
    }
    std::vector<std::string> list;
    for (const auto& [text, count] : tally.entries()) {
        list.push_back(count == 1 ? text : fmt::format("{} (in {} processes)", text, count_text(count)));
    }
    return list;
}

void add_not_seen(Lines& lines, const LoadResult& loaded, const Judgement& judgement) {
    constexpr std::size_t kShown = 8;
    const std::vector<std::string> list = not_seen(loaded, judgement);
    for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) {
        lines.paragraph(list[i], kLabelColumns, i == 0 ? "Not seen" : "");
    }
    if (list.size() > kShown) {
        lines.paragraph(fmt::format("… {} more: pincheck dump", list.size() - kShown), kLabelColumns);
    }
}

}  // namespace pincheck
