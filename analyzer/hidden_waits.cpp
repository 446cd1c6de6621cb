#include "hidden_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "place.h"
#include "printable.h"
#include "render_text_layout.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

// Below a thousandth of the run, nobody can measure what leaving the calls out has gained.
constexpr std::uint64_t kPartOfRun = 1'000;
// A thread that lost its CPU for a few time slices (3 ms each by default) looks like one that waited in the call.
constexpr std::uint64_t kUnknownAtLeast = 10'000'000;
// So many calls make waiting for nothing a habit and not an accident.
constexpr std::uint64_t kHabit = 10;

bool is_blocking_copy(const CaptureSite& site, const std::string& called) {
    // A runtime may build cudaMemcpy from the driver's asynchronous copy.
    return site.kind == SiteKind::copy &&
           (!site.is_async() || (called.starts_with("cudaMem") && called.find("Async") == called.npos));
}

// Of memory whose copies have rules of their own, which judge what they wait for (findings.cpp).
bool has_its_own_rule(const CaptureSite& site) {
    const MemoryClass host = site.host_memory().kind;
    return site.kind == SiteKind::copy &&
           (host == MemoryClass::pageable || host == MemoryClass::managed || host == MemoryClass::host_pool);
}

std::uint64_t run_ns(const Capture& capture) {
    std::uint64_t longest = 0;
    for (const CaptureProcess& process : capture.processes) {
        longest = std::max(longest, process.duration_ns);
    }
    return longest;
}

// Whether a wait of this cause is hidden in such a call.
bool is_hidden(const CaptureSite& site, const std::string& called, WaitCause cause, bool graphs_have_findings) {
    const bool blocking = is_blocking_copy(site, called);
    switch (cause) {
        case WaitCause::pinning:
        case WaitCause::module_loading:
        case WaitCause::requested:
        case WaitCause::synchronous_copy:
            return false;
        case WaitCause::staging:
        case WaitCause::earlier_work:
        case WaitCause::managed:
            // Of the copies that a graph makes, the findings have it already.
            return !blocking && !has_its_own_rule(site) && site.kind != SiteKind::synchronize &&
                   !(site.kind == SiteKind::graph_launch && graphs_have_findings);
        case WaitCause::unknown:
            return !blocking && site.kind != SiteKind::synchronize;
        case WaitCause::idle_sync:
        case WaitCause::device_wide:
        case WaitCause::queue_full:
        case WaitCause::legacy_stream:
        case WaitCause::host_to_host:
        case WaitCause::lock:
            break;
    }
    return true;
}

// Whether what sites of one group waited is worth a finding.
bool is_worth_it(const Capture& capture, const CauseTotal& total) {
    const std::uint64_t noticed = run_ns(capture) / kPartOfRun;
    switch (total.cause) {
        case WaitCause::idle_sync:
            return total.calls >= kHabit && total.ns >= noticed;
        case WaitCause::unknown:
            return total.ns >= std::max(kUnknownAtLeast, noticed);
        default:
            break;
    }
    // Releasing memory and being beside another call take time by themselves.
    return !total.presumed || total.ns >= std::max(kUnknownAtLeast, noticed);
}

// Sites that the user sees as one: the same function for the same reason from the same return address of his code.
using GroupKey = std::tuple<WaitCause, bool, std::string, std::uint32_t, std::uint64_t, std::uint32_t>;
GroupKey key_of(const CaptureSite& site, const Finding& finding) {
    if (finding.heading < 0) {
        return {*finding.cause, finding.presumed, finding.api, CaptureFrame::kNoModule, 0, site.id};
    }
    const CaptureFrame& frame = site.stack[static_cast<std::size_t>(finding.heading)];
    return {*finding.cause, finding.presumed, finding.api, frame.module, frame.offset, 0};
}

struct Group {
    Finding finding;  // of the site that was held longest, with the time of all
    CauseTotal total;
    std::uint64_t longest_site_ns = 0;
    std::uint64_t calls_made = 0;  // of all sites, waiting or not
};

class Words {
  public:
    Words(const Capture& capture, const Origins& origins, const Group& group)
        : capture_(capture),
          origins_(origins),
          group_(group),
          site_(capture.sites[group.finding.site - 1]),
          longest_(*group.total.longest) {}

    std::string why() const {
        std::string text = reason();
        if (group_.finding.heading > issuing_frame(capture_, site_, origins_)) {
            text += through();
        }
        const std::string held_up = held_up_text(site_);
        return text + (held_up.empty() ? "" : " " + held_up);
    }

    std::string fix() const {
        const std::string& api = group_.finding.api;
        switch (group_.total.cause) {
            case WaitCause::device_wide:
                return device_wide_fix();
            case WaitCause::queue_full:
                return "nothing, where the device is the bottleneck: the host has nothing to win by running further "
                       "ahead. Where the host has other work, issue fewer and larger launches or copies, or a graph of "
                       "them, which takes one place; or issue from a thread of its own.";
            case WaitCause::legacy_stream:
                return "give every call a stream made with cudaStreamNonBlocking, or compile with --default-stream "
                       "per-thread.";
            case WaitCause::host_to_host:
                return "use memcpy, which waits for nothing. If waiting for the device is meant, "
                       "cudaStreamSynchronize says so.";
            case WaitCause::lock:
                return "keep the other thread's call out of the loop, or make both calls from one thread.";
            case WaitCause::idle_sync:
                return "leave the call out, or wait for an event where a result is needed.";
            case WaitCause::managed:
                return "prefetch the pages ahead of time (cudaMemPrefetchAsync), or use page-locked memory.";
            case WaitCause::staging:
            case WaitCause::earlier_work:
                return site_.kind == SiteKind::graph_launch
                           ? "let the graph copy from and to page-locked memory."
                           : "wait for an event where the result is needed, and keep " + printable(api) +
                                 " out of the loop.";
            default:
                return "";
        }
    }

  private:
    std::string reason() const {
        const std::string amount = amount_text(group_.total);
        const std::string newest = call_at(capture_, longest_.behind_site, origins_);
        const std::string stream = stream_name(capture_, longest_.stream, origins_);
        switch (group_.total.cause) {
            case WaitCause::device_wide:
                if (group_.total.presumed) {
                    return "Such a call waits until everything on the device is done, work of other streams and "
                           "threads included. Whether anything ran, or the release itself took the time, is not "
                           "known: " +
                           amount + '.';
                }
                return "The call waits until everything on the device is done, work of other streams and threads "
                       "included: " +
                       amount + '.' + longest_call(newest, stream);
            case WaitCause::queue_full:
                return fmt::format(
                    "The queue of {} was full{}: the call waited for a free place, {}. The host is that far ahead of "
                    "the device: this is backpressure.",
                    stream.empty() ? "the stream" : stream,
                    group_.total.items == 0 ? "" : " (" + count_text(group_.total.items) + " items not complete)",
                    amount);
            case WaitCause::legacy_stream:
                return "The legacy default stream and streams made without cudaStreamNonBlocking wait for each "
                       "other: " +
                       amount + '.' + longest_call(newest, stream);
            case WaitCause::host_to_host:
                return "Both ends of the copy are in the host's memory, and CUDA holds the host until the work queued "
                       "before it and the copy are done: " +
                       amount + '.';
            case WaitCause::lock:
                return "Another thread was inside " + (newest.empty() ? "a call" : newest) +
                       " meanwhile, which probably held the driver's lock: " + amount + '.';
            case WaitCause::idle_sync:
                return fmt::format(
                    "{} of {} waited for nothing: the host knew already that the work was complete. "
                    "They took {}.",
                    count_text(group_.total.calls), counted(std::max(group_.calls_made, group_.total.calls), "call"),
                    duration_text(group_.total.ns));
            case WaitCause::staging:
            case WaitCause::managed:
                return fmt::format("The call waited for {}: {}.", object_of(group_.total), amount);
            case WaitCause::earlier_work:
                return fmt::format("The call waited for {}; {}.", earlier_work_text(capture_, longest_, origins_),
                                   amount);
            default:
                return "What the call waited for is not known: " + amount + '.';
        }
    }

    std::string longest_call(const std::string& newest, const std::string& stream) const {
        std::string text;
        text += newest.empty() ? "" : "the newest work was " + newest;
        if (!stream.empty()) {
            text += (text.empty() ? "the work was in " : " in ") + stream;
        }
        if (!longest_.kernel.empty()) {
            text += (text.empty() ? "" : ", and ") + ("kernel " + printable(longest_.kernel) + " ran");
        }
        return text.empty() ? "" : " In the longest call, " + text + '.';
    }

    // The library between the user's frame and the call.
    std::string through() const {
        const auto inner = static_cast<std::size_t>(group_.finding.heading) - 1;
        const Place place = place_of(capture_, site_.stack[inner], origins_);
        const std::string sites =
            group_.finding.also.empty() ? "" : ", in " + count_text(group_.finding.also.size() + 1) + " places of it";
        return " Made by " + (place.function.empty() ? place.position : place.function) + sites + '.';
    }

    std::string device_wide_fix() const {
        const std::string& api = group_.finding.api;
        const auto is = [&](const char* part) { return api.find(part) != api.npos; };
        if (is("Unregister")) {
            return "register the buffer once and keep it; unregister after the streams have been waited for.";
        }
        if (is("FreeHost")) {
            return "keep the page-locked buffer and use it again; free it after the streams have been waited for.";
        }
        if (is("Free")) {
            return "keep the buffer for the next iteration, free it outside the loop, or use cudaMallocAsync and "
                   "cudaFreeAsync, which wait for their own stream only.";
        }
        return "make the call outside the loop.";
    }

    const Capture& capture_;
    const Origins& origins_;
    const Group& group_;
    const CaptureSite& site_;
    const CaptureWait& longest_;
};

void join(Group& group, Finding finding, const CauseTotal& total) {
    const std::uint64_t held = group.finding.held_ns + finding.held_ns;
    const bool once = group.finding.once && finding.once;
    if (total.ns > group.longest_site_ns) {
        group.longest_site_ns = total.ns;
        std::swap(group.finding, finding);  // the new site leads
        std::swap(group.finding.also, finding.also);
    }
    group.finding.also.push_back(finding.site);
    group.finding.held_ns = held;
    group.finding.once = once;
    group.total.calls += total.calls;
    group.total.items = std::max(group.total.items, total.items);
    if (total.ns_max > group.total.ns_max) {
        group.total.ns_max = total.ns_max;
        group.total.longest = total.longest;
    }
    group.total.ns += total.ns;
}

}  // namespace

std::vector<Finding> find_hidden_waits(const Capture& capture, const Origins& origins,
                                       const std::vector<bool>& has_finding) {
    bool graphs_have_findings = false;
    for (std::size_t i = 0; i < capture.sites.size(); ++i) {
        graphs_have_findings |= has_finding[i] && capture.sites[i].is_in_graph();
    }
    std::map<GroupKey, Group> groups;
    for (std::size_t i = 0; i < capture.sites.size(); ++i) {
        const CaptureSite& site = capture.sites[i];
        if (has_finding[i] || site.waits.empty()) {
            continue;
        }
        const std::string called = called_api(capture, site, origins);
        for (const CauseTotal& total : causes_of(site)) {
            if (!is_hidden(site, called, total.cause, graphs_have_findings)) {
                continue;
            }
            Finding finding;
            finding.rule = Rule::hidden_wait;
            // What only the time says, a busy machine can say too.
            const bool is_evident = !total.presumed && total.cause != WaitCause::unknown;
            finding.severity = is_evident ? Severity::warning : Severity::note;
            finding.site = site.id;
            finding.heading = heading_frame(capture, site, origins);
            finding.issuer = issuer_of(capture, site, origins);
            finding.api = called;
            finding.held_ns = total.ns;
            finding.once = in_one_burst(capture, site);
            finding.cause = total.cause;
            finding.presumed = total.presumed;
            const auto [place, is_new] = groups.try_emplace(key_of(site, finding));
            Group& group = place->second;
            group.calls_made += site.calls;
            if (is_new) {
                group.finding = std::move(finding);
                group.total = total;
                group.longest_site_ns = total.ns;
            } else {
                join(group, std::move(finding), total);
            }
        }
    }
    std::vector<Finding> findings;
    for (auto& [key, group] : groups) {
        if (!is_worth_it(capture, group.total)) {
            continue;
        }
        std::ranges::sort(group.finding.also);
        const Words words(capture, origins, group);
        Finding finding = group.finding;
        finding.why = words.why();
        finding.fix = words.fix();
        findings.push_back(std::move(finding));
    }
    return findings;
}

PlainTimes plain_times(const Capture& capture, const Origins& origins) {
    PlainTimes times;
    for (const CaptureSite& site : capture.sites) {
        bool idle = false;
        // cudaMemcpy built from the driver's asynchronous copy: a wait that was asked for, whatever it was for.
        const bool blocking = !site.waits.empty() && is_blocking_copy(site, called_api(capture, site, origins));
        for (const CaptureWait& wait : site.waits) {
            const bool asked = wait.cause == WaitCause::synchronous_copy ||
                               (blocking && (wait.cause == WaitCause::staging || wait.cause == WaitCause::managed ||
                                             wait.cause == WaitCause::earlier_work));
            PlainTime* time = wait.cause == WaitCause::pinning          ? &times.pinning
                              : wait.cause == WaitCause::module_loading ? &times.module_loading
                              : wait.cause == WaitCause::requested      ? &times.requested
                              : asked                                   ? &times.synchronous_copy
                              : wait.cause == WaitCause::idle_sync      ? &times.idle_sync
                                                                        : nullptr;
            if (time != nullptr) {
                time->calls += wait.calls;
                time->ns += wait.ns;
            }
            idle |= wait.cause == WaitCause::idle_sync;
        }
        times.synchronisations += idle ? site.calls : 0;
    }
    return times;
}

}  // namespace pincheck
