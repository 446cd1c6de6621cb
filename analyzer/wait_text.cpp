#include "wait_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "names.h"
#include "place.h"
#include "printable.h"
#include "render_text_layout.h"

namespace pincheck {

using report::WaitCause;
using report::WaitEvidence;

bool is_presumed(WaitCause cause, WaitEvidence evidence) {
    switch (cause) {
        case WaitCause::staging:
        case WaitCause::earlier_work:
        case WaitCause::legacy_stream:
        case WaitCause::managed:
        case WaitCause::device_wide:
        case WaitCause::lock:
            return evidence == WaitEvidence::call;
        default:
            return false;
    }
}

std::vector<CauseTotal> causes_of(const CaptureSite& site) {
    std::vector<CauseTotal> totals;
    for (const CaptureWait& wait : site.waits) {
        const bool presumed = is_presumed(wait.cause, wait.evidence);
        const auto found = std::ranges::find_if(
            totals, [&](const CauseTotal& one) { return one.cause == wait.cause && one.presumed == presumed; });
        CauseTotal& total = found == totals.end() ? totals.emplace_back() : *found;
        total.cause = wait.cause;
        total.presumed = presumed;
        total.evidence = std::max(total.evidence, wait.evidence);
        total.calls += wait.calls;
        total.ns += wait.ns;
        total.items = std::max(total.items, wait.items);
        if (total.longest == nullptr || wait.ns_max > total.ns_max) {
            total.ns_max = wait.ns_max;
            total.longest = &wait;
        }
    }
    std::ranges::sort(totals, {},
                      [](const CauseTotal& total) { return std::tuple(~total.ns, total.cause, total.presumed); });
    return totals;
}

std::uint64_t most_ns_without_wait(const CaptureSite& site) {
    constexpr std::uint64_t kMillisecond = 1'000'000;
    return std::max(kMillisecond, 10 * site.bytes_max);  // 100 MB/s
}

bool stayed_quick(const CaptureSite& site) {
    const std::uint64_t most_ns = most_ns_without_wait(site);
    const std::vector<CauseTotal> causes = causes_of(site);
    if (site.host_ns_max < most_ns || causes.empty()) {
        return site.host_ns_max < most_ns;
    }
    // Nothing is staged there: that cause is by the kind of call.
    return std::ranges::all_of(causes, [&](const CauseTotal& total) {
        return total.cause == WaitCause::staging || total.cause == WaitCause::lock || total.ns_max < most_ns;
    });
}

std::uint64_t waited_ns(const CaptureSite& site, WaitCause cause) {
    std::uint64_t ns = 0;
    for (const CaptureWait& wait : site.waits) {
        ns += wait.cause == cause && !is_presumed(wait.cause, wait.evidence) ? wait.ns : 0;
    }
    return ns;
}

bool knows_waits(const Capture& capture) {
    return std::ranges::any_of(capture.sites, [](const CaptureSite& site) {
        return std::ranges::any_of(site.waits,
                                   [](const CaptureWait& wait) { return wait.evidence != WaitEvidence::call; });
    });
}

std::string cause_label(WaitCause cause, bool presumed) {
    return name(cause) + (presumed ? "?" : "");
}

const char* object_of(const CauseTotal& total) {
    switch (total.cause) {
        case WaitCause::staging:
            if (total.presumed) {
                return "work queued before it, or the driver that moves the bytes through the CPU (which of them is "
                       "not "
                       "known)";
            }
            return "the driver, which moved the bytes through the CPU";
        case WaitCause::earlier_work:
            return "work queued before it in its stream";
        case WaitCause::device_wide:
            return total.presumed ? "everything on the device, if anything ran there" : "everything on the device";
        case WaitCause::queue_full:
            return "a free place in the stream's queue";
        case WaitCause::legacy_stream:
            return "another stream, because the legacy default stream and blocking streams wait for each other";
        case WaitCause::managed:
            return total.presumed ? "work queued before it, if there was any, as copies of managed memory do"
                                  : "work queued before it, as copies of managed memory do";
        case WaitCause::idle_sync:
            return "nothing: the work was known to be complete";
        case WaitCause::host_to_host:
            return "a copy between two places of the host";
        case WaitCause::lock:
            return total.presumed ? "another thread's call into the driver, probably"
                                  : "another thread's call into the driver";
        case WaitCause::pinning:
            return "page-locking";
        case WaitCause::module_loading:
            return "loading a module or a kernel";
        case WaitCause::requested:
            return "what the program asked to wait for";
        case WaitCause::synchronous_copy:
            return "a copy that returns when it is done";
        case WaitCause::unknown:
            break;
    }
    return "something that is not known";
}

const char* evidence_text(WaitEvidence evidence) {
    switch (evidence) {
        case WaitEvidence::call:
            return "what the call is";
        case WaitEvidence::order:
            return "the order of work";
        case WaitEvidence::device:
            return "the device's times";
    }
    return "means that this version does not know";
}

std::string call_at(const Capture& capture, std::uint32_t site, const Origins& origins) {
    if (site == 0 || site > capture.sites.size()) {
        return "";
    }
    const CaptureSite& one = capture.sites[site - 1];
    const std::string api = printable(called_api(capture, one, origins));
    return one.stack.empty()
               ? api
               : api + " at " + place_of(capture, one, heading_frame(capture, one, origins), origins).position;
}

std::string stream_name(const Capture& capture, std::uint32_t stream, const Origins& origins) {
    if (stream == 0 || stream > capture.streams.size()) {
        return "";
    }
    const CaptureStream& one = capture.streams[stream - 1];
    switch (one.kind) {
        case report::StreamKind::legacy_default:
            return "the legacy default stream";
        case report::StreamKind::per_thread_default:
            return "a per-thread default stream";
        default:
            break;
    }
    const std::string number = fmt::format("stream #{}", one.id);
    if (one.site == 0 || one.site > capture.sites.size() || capture.sites[one.site - 1].stack.empty()) {
        return number;
    }
    const CaptureSite& site = capture.sites[one.site - 1];
    return number + " (created at " + place_of(capture, site, heading_frame(capture, site, origins), origins).position +
           ')';
}

std::string earlier_work_text(const Capture& capture, const CaptureWait& longest, const Origins& origins) {
    const std::string stream = stream_name(capture, longest.stream, origins);
    const std::string newest = call_at(capture, longest.behind_site, origins);
    std::string text = "work queued before it in " + (stream.empty() ? "its stream" : stream);
    text += newest.empty() ? "" : ", newest: " + newest;
    return text + (longest.kernel.empty() ? "" : " (while kernel " + printable(longest.kernel) + " ran)");
}

std::string amount_text(const CauseTotal& total) {
    if (total.calls == 1) {
        return "1 call, " + duration_text(total.ns);
    }
    return fmt::format("{}, {} in total, {} at most", counted(total.calls, "call"), duration_text(total.ns),
                       duration_text(total.ns_max));
}

std::string held_up_text(const CaptureSite& site) {
    constexpr std::size_t kNamed = 4;
    std::vector<std::uint32_t> delayed;
    for (const CaptureWait& wait : site.waits) {
        delayed.insert(delayed.end(), wait.delayed_streams.begin(), wait.delayed_streams.end());
    }
    std::ranges::sort(delayed);
    const auto repeated = std::ranges::unique(delayed);
    delayed.erase(repeated.begin(), repeated.end());
    std::string text = site.threads_held > 1 ? "Held up " + counted(site.threads_held, "thread") : "";
    for (std::size_t i = 0; i < std::min(delayed.size(), kNamed); ++i) {
        const char* start = text.empty() ? "Delayed work for stream" : "; delayed work for stream";
        text += i == 0 ? start + std::string(delayed.size() == 1 ? " #" : "s #") : ", #";
        text += std::to_string(delayed[i]);
    }
    text += delayed.size() > kNamed ? fmt::format(" and {} more", delayed.size() - kNamed) : "";
    return text.empty() ? "" : text + '.';
}

std::string call_share_text(const CaptureSite& site) {
    std::uint64_t calls = 0;
    std::uint64_t early = 0;
    std::uint64_t host = 0;
    std::uint64_t completion = 0;
    for (const CaptureTransfer& transfer : site.transfers) {
        calls += transfer.calls;
        early += transfer.returned_early;
        host += transfer.host_ns;
        completion += transfer.completion_ns;
    }
    if (calls == 0 || completion == 0 || site.is_in_graph()) {
        return "";
    }
    const std::string share = percent_text(static_cast<double>(host) / static_cast<double>(completion));
    if (early == 0) {
        return fmt::format("The {} of the time to completion.",
                           calls == 1 ? "call lasted " + share : "calls lasted " + share);
    }
    // A pageable copy that returns before its end was staged; a page-locked one does what it should.
    const char* how = site.host_memory().kind == report::MemoryClass::pageable ? " (staged)" : "";
    return fmt::format("{} of {} returned before the copy had ended{}; the calls lasted {} of the time to completion.",
                       count_text(early), counted(calls, "call"), how, share);
}

}  // namespace pincheck
