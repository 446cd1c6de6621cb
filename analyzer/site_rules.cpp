#include "site_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "explain_races.h"
#include "printable.h"
#include "render_text_layout.h"
#include "wait_text.h"

namespace pincheck {
namespace {

using namespace report;

// cudaErrorNotPermitted, CUDA_ERROR_NOT_PERMITTED: CUDA functions may not be called by a host function.
constexpr std::uint32_t kNotPermitted = 800;

Finding finding_of(const Capture& capture, const CaptureSite& site, const Origins& origins, Rule rule) {
    Finding finding;
    finding.rule = rule;
    finding.severity = Severity::warning;
    finding.site = site.id;
    finding.heading = heading_frame(capture, site, origins);
    finding.issuer = issuer_of(capture, site, origins);
    finding.api = called_api(capture, site, origins);
    finding.once = site.calls == 1;
    return finding;
}

bool reads_back_write_combined(const CaptureSite& site) {
    constexpr std::uint16_t kBits = kMemoryFlagsKnown | kMemoryWriteCombined;
    return site.kind == SiteKind::copy && site.direction == Direction::device_to_host && site.calls > site.failed &&
           site.bytes_max != 0 && (site.destination.flags & kBits) == kBits;
}

Finding write_combined(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    Finding finding = finding_of(capture, site, origins, Rule::write_combined_read);
    finding.count = site.calls - site.failed;
    finding.why =
        "The result goes to memory that was requested write-combined, which the CPU reads without its caches: every "
        "read of the result goes to memory.";
    finding.fix =
        "download into memory that was requested without cudaHostAllocWriteCombined, and keep that flag for buffers "
        "that the CPU only writes.";
    return finding;
}

// By the samples of what the CPU reads (races=trap): one finding for each place.
void find_reads(const Capture& capture, const Origins& origins, std::vector<Finding>& findings) {
    std::map<std::uint32_t, std::vector<const CaptureRead*>> by_site;
    for (const CaptureRead& read : capture.reads) {
        by_site[read.site].push_back(&read);
    }
    for (auto& [site, reads] : by_site) {
        if (site == 0 || site > capture.sites.size()) {
            continue;
        }
        std::ranges::stable_sort(reads, std::ranges::greater{}, [](const CaptureRead* read) { return read->samples; });
        Finding finding = finding_of(capture, capture.sites[site - 1], origins, Rule::write_combined_read);
        for (const CaptureRead* read : reads) {
            finding.count += read->samples;
            finding.reads.push_back(static_cast<std::uint32_t>(read - capture.reads.data()));
        }
        const CaptureRead& first = *reads.front();
        finding.once = finding.count == 1;
        finding.api = first.call.empty() ? "" : first.call + "()";
        const std::string allocation = call_at(capture, first.pin_site, origins);
        finding.why = fmt::format(
            "{} reads memory that was requested write-combined, which the CPU reads without its caches: {}, caught in "
            "{}.{} Samples are few: how often it reads is not counted.",
            first.call.empty() ? "The host" : printable(finding.api), read_bytes_text(first),
            counted(finding.count, "sample"), allocation.empty() ? "" : " Allocated by " + allocation + '.');
        finding.fix =
            "allocate the buffer without cudaHostAllocWriteCombined, or read from a copy of the data in ordinary "
            "memory and only write to this one.";
        findings.push_back(std::move(finding));
    }
}

bool is_page_locked_release(const std::string& api) {
    return api.find("FreeHost") != api.npos || api.find("HostUnregister") != api.npos;
}

// A release in a host function that the driver refuses, every time.
bool is_refused_release(const CaptureSite& site) {
    return site.kind == SiteKind::release && (site.flags & kSiteOnDriverThread) != 0 && site.failed != 0 &&
           site.failed >= site.calls && site.last_error == kNotPermitted;
}

Finding refused_release(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    Finding finding = finding_of(capture, site, origins, Rule::ignored_error);
    finding.count = site.failed;
    std::uint64_t ranges = 0;
    std::uint64_t bytes = 0;
    for (const CaptureProcess& process : capture.processes) {
        ranges += process.pinned_ranges;
        bytes += process.pinned_bytes;
    }
    const bool page_locked = is_page_locked_release(finding.api);
    const bool leaks = page_locked && ranges != 0;
    finding.severity = leaks ? Severity::error : Severity::warning;
    finding.why = fmt::format(
        "{} failed {} (error {}): not permitted in a host function; the memory is {}{}.", printable(finding.api),
        site.failed == 1 ? "once" : counted(site.failed, "time"), site.last_error,
        page_locked ? "still page-locked" : "not released",
        leaks ? fmt::format(" ({} in {} at the end, from all places)", bytes_text(bytes), counted(ranges, "block"))
              : "");
    finding.fix =
        "release the memory from a thread of the program's own after it has waited for the stream, or keep the buffer "
        "and use it again; check what the call returns.";
    return finding;
}

}  // namespace

std::string read_bytes_text(const CaptureRead& read) {
    if (read.begin == 0 && read.end == read.bytes) {
        return "all " + bytes_text(read.bytes);
    }
    const std::string of = " of " + bytes_text(read.bytes);
    return read.end - read.begin == 1 ? fmt::format("byte {}{}", read.begin, of)
                                      : fmt::format("bytes {} to {}{}", read.begin, read.end - 1, of);
}

std::vector<RuleInfo> site_rules() {
    return {{Rule::write_combined_read, "write-combined-read", Severity::warning,
             "write-combined memory is read, or a result copied into it: the CPU reads it slowly",
             race_text(Rule::write_combined_read)},
            {Rule::ignored_error, "ignored-error", Severity::error,
             "memory is released where CUDA refuses it, every time: it is never given back",
             race_text(Rule::ignored_error)}};
}

std::vector<Finding> find_by_site(const Capture& capture, const Origins& origins) {
    std::vector<Finding> findings;
    for (const CaptureSite& site : capture.sites) {
        if (reads_back_write_combined(site)) {
            findings.push_back(write_combined(capture, site, origins));
        }
        if (is_refused_release(site)) {
            findings.push_back(refused_release(capture, site, origins));
        }
    }
    find_reads(capture, origins, findings);
    return findings;
}

}  // namespace pincheck
