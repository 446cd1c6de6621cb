#include "findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "fingerprint.h"
#include "hidden_waits.h"
#include "races.h"
#include "render_text_layout.h"
#include "site_rules.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

constexpr std::uint64_t kStagedBytes = 2u << 20;
// So many calls make "always waited for" a habit and not an accident.
constexpr std::uint64_t kHabit = 10;

bool is_transfer(const CaptureSite& site) {
    return site.kind == SiteKind::copy &&
           (site.direction == Direction::host_to_device || site.direction == Direction::device_to_host);
}

bool is_upload(const CaptureSite& site) {
    return site.direction == Direction::host_to_device;
}

bool is_pageable(const CaptureSite& site) {
    return site.host_memory().kind == MemoryClass::pageable;
}

std::uint64_t done(const CaptureSite& site) {
    return site.calls > site.failed ? site.calls - site.failed : 0;
}

// The whole job runs where the device uses the host's page tables (Grace): pageable memory is then within its reach.
bool shares_page_tables(const Capture& capture) {
    bool any = false;
    for (const CaptureProcess& process : capture.processes) {
        for (const CaptureProcess::Device& device : process.devices) {
            if (!device.host_page_tables) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

// Whether the next call always waited. A report of a process that is running, or was killed, may end between the two.
bool always_waited_for(const Capture& capture, const CaptureSite& site) {
    const bool all_ended = std::ranges::all_of(capture.processes, &CaptureProcess::ended);
    const std::uint64_t missing = done(site) - std::min(done(site), site.then_synchronized);
    return site.then_synchronized > 0 && missing <= (all_ended ? 0 : std::uint64_t{site.threads});
}

// cudaMemcpy, cudaMemcpyToSymbol …: a runtime may build a blocking copy from the driver's asynchronous one.
bool is_blocking_runtime_copy(const std::string& api) {
    return api.starts_with("cudaMem") && api.find("Async") == api.npos;
}

// API and stack as one text, equal for a captured call and the launches of what it captured.
std::string place_key(const CaptureSite& site) {
    std::string key = site.api;
    for (const CaptureFrame& frame : site.stack) {
        key += fmt::format("|{}+{:x}", frame.module, frame.offset);
    }
    return key;
}

// Facts of one site that several rules and texts need.
class Subject {
  public:
    Subject(const Capture& capture, const CopyTimesTable& times, const CaptureSite& site, const Origins& origins)
        : capture_(capture),
          times_(times),
          site_(site),
          origins_(origins),
          issuer_(issuer_of(capture, site, origins)),
          waited_(always_waited_for(capture, site)) {
        finding_.site = site.id;
        finding_.heading = heading_frame(capture, site, origins);
        finding_.issuer = issuer_;
        finding_.api = called_api(capture, site, origins);
        finding_.held_ns = captured() ? 0 : site.host_ns;
        finding_.once = in_one_burst(capture, site);
    }

    std::optional<Finding> find() {
        if (site_.kind != SiteKind::copy || site_.calls == 0) {
            return std::nullopt;
        }
        if (site_.source.kind == MemoryClass::partly_registered ||
            site_.destination.kind == MemoryClass::partly_registered) {
            return finding(Rule::straddles_registration, straddles_why(), straddles_fix());
        }
        if (!site_.is_async() || is_blocking_runtime_copy(finding_.api) || !is_transfer(site_) || done(site_) == 0 ||
            site_.bytes_max == 0) {
            return std::nullopt;
        }
        switch (site_.host_memory().kind) {
            case MemoryClass::pageable:
                return pageable();
            case MemoryClass::managed:
            case MemoryClass::host_pool:
                return finding(
                    Rule::managed_async_copy, managed_why(),
                    site_.host_memory().kind == MemoryClass::host_pool
                        ? pool_fix()
                        : "let the kernel use the managed pointer itself (cudaMemPrefetchAsync moves its pages "
                          "ahead without blocking), or copy from and to page-locked memory.");
            case MemoryClass::pinned:
            case MemoryClass::registered:
                if (issuer_ == Origin::user && waited_ && done(site_) >= kHabit && !captured()) {
                    return finding(
                        Rule::copy_then_sync,
                        fmt::format("All {} copies are page-locked and asynchronous, and the next call waits "
                                    "for them: nothing overlaps.",
                                    count_text(done(site_))),
                        "issue other work between the copy and the wait (the next batch's copy on another "
                        "stream, a kernel that does not need it), or leave it if there is none.");
                }
                return std::nullopt;
            default:
                return std::nullopt;
        }
    }

  private:
    bool captured() const { return site_.is_captured(); }

    std::optional<Finding> finding(Rule rule, std::string why, std::string fix) {
        finding_.rule = rule;
        for (const RuleInfo& info : rules()) {
            if (info.rule == rule) {
                finding_.severity = info.severity;
            }
        }
        finding_.why = std::move(why);
        finding_.fix = std::move(fix);
        return std::move(finding_);
    }

    std::optional<Finding> pageable() {
        if (!captured() && shares_page_tables(capture_) && stayed_quick(site_)) {
            return std::nullopt;
        }
        if (issuer_ == Origin::framework && waited_ && !captured()) {
            return finding(
                Rule::copy_then_sync,
                fmt::format("A library's blocking copy from pageable memory: its next call waits for the "
                            "stream, all {} times. Held {} in the copies.",
                            count_text(done(site_)), duration_text(site_.host_ns)),
                "ask the library for the asynchronous form with page-locked memory (PyTorch: pin_memory=True "
                "and non_blocking=True), or copy less often.");
        }
        if (!captured() && !site_.is_in_graph()) {
            finding_.saving = saving_of(capture_, times_, site_, waited_);
        }
        return finding(Rule::pageable_async_copy, pageable_why(), pageable_fix());
    }

    std::string cost() const {
        if (site_.calls == 1) {
            return duration_text(site_.host_ns);
        }
        const std::uint64_t median = site_.median_ns();
        const std::string half = median == 0 ? "under 1.02 us" : duration_text(median) + " or more";
        return fmt::format("median {}, {} in total", half, duration_text(site_.host_ns));
    }

    // What the recorder knows of the waits of this site's calls, and whom they held up; "" when it knows nothing.
    std::string known_why() const {
        const std::vector<CauseTotal> causes = causes_of(site_);
        if (causes.empty() || captured() || causes.front().presumed) {
            return "";
        }
        const CauseTotal& first = causes.front();
        const std::string how_much = causes.size() == 1 && first.calls == site_.calls ? cost() : amount_text(first);
        std::string text;
        switch (first.cause) {
            case WaitCause::earlier_work:
            case WaitCause::managed:
                text = fmt::format("The call waits for {}; {}.", earlier_work_text(capture_, *first.longest, origins_),
                                   how_much);
                break;
            case WaitCause::legacy_stream: {
                const std::string stream = stream_name(capture_, first.longest->stream, origins_);
                const std::string newest = call_at(capture_, first.longest->behind_site, origins_);
                text = fmt::format(
                    "The call waits for work in {}{}: the legacy default stream and streams made without "
                    "cudaStreamNonBlocking wait for each other; {}.",
                    stream.empty() ? "another stream" : stream, newest.empty() ? "" : ", newest: " + newest, how_much);
                break;
            }
            case WaitCause::staging:
                text = "The driver moves every byte of pageable memory through the CPU, inside the call: " + how_much +
                       '.';
                break;
            default:
                text = fmt::format("Most time went to {}: {}.", object_of(first), how_much);
                break;
        }
        // The rest, as far as it matters.
        for (std::size_t i = 1; i < causes.size(); ++i) {
            if (causes[i].ns >= site_.host_ns / 20) {
                text += fmt::format(" Another {} in {} went to {}.", duration_text(causes[i].ns),
                                    counted(causes[i].calls, "call"),
                                    causes[i].cause == WaitCause::earlier_work
                                        ? earlier_work_text(capture_, *causes[i].longest, origins_)
                                        : std::string(object_of(causes[i])));
            }
        }
        return text;
    }

    std::string with_effects(std::string text) const {
        for (const std::string& more : {held_up_text(site_), call_share_text(site_)}) {
            text += more.empty() ? "" : " " + more;
        }
        return text;
    }

    std::string pageable_why() const {
        const std::string known = known_why();
        return with_effects(known.empty() ? presumed_why() : known);
    }

    // Before all other advice: page-locking such a buffer makes a slow program a wrong one.
    std::string pageable_fix() const {
        return issuer_ != Origin::vendor && relies_on_staging(capture_, site_)
                   ? staging_advice(capture_, site_, issuer_, origins_)
                   : plain_fix();
    }

    // By what is known of such calls in general.
    std::string presumed_why() const {
        if (captured()) {
            return "Captured into a graph with pageable memory: every launch of the graph makes this copy. What "
                   "launches "
                   "wait for is not measured.";
        }
        if (site_.is_in_graph()) {
            return (is_upload(site_)
                        ? "Every launch of the graph makes this copy, stages its bytes through the CPU, and "
                          "waits for the work queued before it when they are more than 2 MiB: "
                        : "Every launch of the graph makes this copy and waits for all work queued before "
                          "it: ") +
                   cost() + " of the launches.";
        }
        if (site_.api.find("Batch") != std::string::npos) {
            return batch_why();
        }
        if (!is_upload(site_)) {
            return "The call waits for all work queued before it in its stream: " + cost() + ".";
        }
        if (stayed_staged(site_)) {
            return "The driver stages every byte through the CPU: " + cost() +
                   ". No call was long enough to have waited; they do once about 4 MiB are staged behind a busy "
                   "stream.";
        }
        if (site_.bytes_max > kStagedBytes) {
            return "Above 2 MiB the call waits for the work queued before it, and every byte is staged by the CPU: " +
                   cost() + ".";
        }
        return fmt::format(
            "The driver stages every byte through the CPU and waits when its staging memory is full "
            "(about 4 MiB): {}, {} at most.",
            cost(), duration_text(site_.host_ns_max));
    }

    // Which batches wait was measured: H200, driver 580.159.04 (tests/conformance).
    std::string batch_why() const {
        const SourceOrder waiting = is_upload(site_) ? SourceOrder::stream : SourceOrder::during_call;
        return (site_.source_order == waiting
                    ? "A batch copy of pageable memory with this order of access waits for all work queued before it: "
                    : "The driver carries pageable memory of a batch through memory of its own; with this order of "
                      "access the call does not wait for earlier work: ") +
               cost() + ".";
    }

    std::string plain_fix() const {
        if (issuer_ == Origin::vendor) {
            return "nothing in your code: the vendor's library copies for itself.";
        }
        if (finding_.saving.state == Saving::State::not_worth) {
            return fmt::format("{}: leave it, and if it is meant to block, cudaMemcpy says so.", finding_.saving.text);
        }
        if (issuer_ == Origin::framework) {
            return is_upload(site_) ? "give the library page-locked memory (PyTorch: DataLoader(pin_memory=True) or "
                                      "tensor.pin_memory()), and do not change it before the copy has completed."
                                    : "let it copy into page-locked memory (PyTorch: a tensor made with "
                                      "pin_memory=True), and wait for an event before reading it.";
        }
        std::string text = is_upload(site_) ? "copy from page-locked memory (cudaMallocHost, or cudaHostRegister, "
                                              "once, outside the loop); wait for "
                                              "an event recorded after the copy before changing it."
                                            : "copy into page-locked memory (cudaMallocHost, or cudaHostRegister, "
                                              "once, outside the loop), and wait "
                                              "for an event recorded after the copy before reading it.";
        if (const std::uint64_t earlier = waited_ns(site_, WaitCause::earlier_work);
            earlier != 0 && earlier >= site_.host_ns / 2) {
            text += " The wait for earlier work then moves to there.";
        }
        if (waited_ && !captured()) {
            text += " The next call waits for it anyway: if that is meant, cudaMemcpy says so.";
        }
        return text;
    }

    std::string managed_why() const {
        if (const std::string known = known_why(); !known.empty()) {
            return with_effects(known);
        }
        if (captured()) {
            return "Captured into a graph with managed memory. What its launches wait for is not measured.";
        }
        if (site_.host_memory().kind == MemoryClass::host_pool) {
            return "Host memory of a memory pool that the device has no access to is copied like pageable memory: "
                   "staged, and "
                   "waiting for the work queued before it: " +
                   cost() + ".";
        }
        return "A copy of managed memory waits for the work queued before it, at any size: " + cost() + ".";
    }

    std::string straddles_why() const {
        const std::string where =
            site_.memory_boundary == 0 ? "" : fmt::format(", {} bytes into it", site_.memory_boundary);
        return fmt::format("One part of the range is registered and the other is not{}. {} of {} failed{}.", where,
                           count_text(site_.failed), counted(site_.calls, "call"),
                           site_.last_error == 0 ? "" : fmt::format(" (error {})", site_.last_error));
    }

    static std::string pool_fix() {
        return "give the device access to the pool (cudaMemPoolSetAccess), or copy from and to memory of "
               "cudaMallocHost.";
    }

    static std::string straddles_fix() {
        return "register the whole buffer that copies use (again after it grew), or allocate it with cudaMallocHost; "
               "check what the copy returns.";
    }

    const Capture& capture_;
    const CopyTimesTable& times_;
    const CaptureSite& site_;
    const Origins& origins_;
    Origin issuer_;
    bool waited_;
    Finding finding_;
};

}  // namespace

bool stayed_staged(const CaptureSite& site) {
    // A byte a nanosecond is 1 GB/s.
    return is_transfer(site) && is_upload(site) && site.source.kind == MemoryClass::pageable &&
           site.bytes_max <= kStagedBytes && site.host_ns_max < most_ns_without_wait(site);
}

bool in_one_burst(const Capture& capture, const CaptureSite& site) {
    std::uint64_t longest = 0;
    for (const CaptureProcess& process : capture.processes) {
        longest = std::max(longest, process.duration_ns);
    }
    const std::uint64_t spread = site.last_ns > site.first_ns ? site.last_ns - site.first_ns : 0;
    return site.calls == 1 || spread < longest / 10;
}

std::vector<Finding> find(const Capture& capture, const Origins& origins) {
    // A captured call whose graph was launched is judged by those launches.
    std::set<std::string> launched;
    for (const CaptureSite& site : capture.sites) {
        if (site.is_in_graph()) {
            launched.insert(place_key(site));
        }
    }
    const CopyTimesTable times = copy_times(capture);
    std::vector<Finding> findings;
    std::vector<bool> tells_waits(capture.sites.size());
    for (std::size_t i = 0; i < capture.sites.size(); ++i) {
        const CaptureSite& site = capture.sites[i];
        if (site.is_captured() && launched.contains(place_key(site))) {
            continue;
        }
        if (std::optional<Finding> finding = Subject(capture, times, site, origins).find()) {
            // Of page-locked copies, copy-then-sync is about the wait that follows.
            tells_waits[i] = finding->rule != Rule::copy_then_sync || is_pageable(site);
            findings.push_back(std::move(*finding));
        }
    }
    std::ranges::move(find_hidden_waits(capture, origins, tells_waits), std::back_inserter(findings));
    std::ranges::move(find_races(capture, origins), std::back_inserter(findings));
    std::ranges::move(find_by_site(capture, origins), std::back_inserter(findings));
    for (Finding& finding : findings) {
        finding.amounts = amounts_of(capture, finding);
        finding.identity = identity_of(capture, finding, origins);
    }
    std::ranges::stable_sort(findings, {}, [](const Finding& finding) {
        return std::tuple(race_rank(finding), finding.once, ~finding.held_ns, ~finding.count, finding.site);
    });
    return findings;
}

}  // namespace pincheck
