// Rules: pure functions over a capture. Each finding names its evidence; what it costs a gate is in policy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amounts.h"
#include "capture.h"
#include "fingerprint.h"
#include "origin.h"
#include "ruling.h"
#include "saving.h"

namespace pincheck {

enum class Rule {
    pageable_async_copy,     // error: an async copy's host side is pageable
    managed_async_copy,      // warning: an async copy from managed memory waits
    copy_then_sync,          // warning: a copy the caller waits for at once, inside a library; or pinned in user code
    straddles_registration,  // error: a copy whose range is partly registered fails
    hidden_wait,             // warning: another call that need not wait held the host; note: why is not known, or
                             // presumed; see hidden_waits.h
    // Races, see races.h. Errors but for those that say otherwise; a note where an order may exist that was not seen.
    unordered_copies,
    source_overwritten_in_flight,
    destination_overwritten_in_flight,
    destination_read_in_flight,
    result_never_awaited,
    graph_buffer_gone,
    released_in_flight,  // warning where a CUDA function releases, which waits for the device
    staged_too_early,
    relies_on_staging,  // note
    // See site_rules.h.
    write_combined_read,  // warning: a download into memory that was requested write-combined, or a read from it
    ignored_error,        // a release that always fails; error where page-locked memory leaks, else warning
};
enum class Severity { error, warning, note };  // a note never gates

struct RuleInfo {
    Rule rule;
    const char* slug;
    Severity severity;
    const char* claim;    // one line
    const char* explain;  // several paragraphs for `pincheck explain`
};
const std::vector<RuleInfo>& rules();
const RuleInfo* rule_by_slug(const std::string& slug);
const char* slug_of(Rule rule);

struct Finding {
    Rule rule{};
    Severity severity{};
    std::uint32_t site = 0;     // CaptureSite::id
    int heading = -1;           // frame to head it by
    Origin issuer{};            // whose code made the call; of races: a library's only where both parties are
    std::string api;            // as the user knows it
    std::uint64_t held_ns = 0;  // host time in these calls; hidden_wait: in those that waited for `cause`
    bool once = false;          // a single call, or all calls in one burst (model.to): listed after recurring ones
    std::string why;            // what the call waited for, as far as known
    std::string fix;            // what to do
    std::optional<report::WaitCause> cause;  // hidden_wait: what was waited for
    bool presumed = false;                   // hidden_wait: may have been waited for; see is_presumed(). Races: may be
                                             // in an order that was not seen
    std::vector<std::uint32_t> also;         // hidden_wait: further sites of the same function, cause and user's frame
    Saving saving;                           // what page-locked memory would save
    // How often it was found, where what it costs is not time (races, write_combined_read, ignored_error); else 0.
    std::uint64_t count = 0;
    // Races, of `count`: by the device's times the copy was still to come or running, or had ended.
    std::uint64_t corrupting = 0;
    std::uint64_t latent = 0;
    std::uint32_t other_site = 0;      // races: CaptureSite::id of the other party; 0: none, or not seen itself
    std::vector<std::uint32_t> races;  // positions in Capture::races, the one that the text is about first
    // write_combined_read, where reads were caught: positions in Capture::reads, likewise; `count` is of samples then.
    std::vector<std::uint32_t> reads;
    Amounts amounts;
    Identity identity;
    Ruling ruling;  // by judge()

    bool is_timed() const noexcept { return count == 0; }
};

// Whether a pageable upload showed no sign of waiting: no copy above 2 MiB (those are not staged), and the longest call
// below both 1 ms and ten times what copying its bytes at 1 GB/s takes, whichever is more (a staged copy takes 11 to
// 330 us for up to 2 MiB; measured: H200, driver 580.159). False for anything else.
bool stayed_staged(const CaptureSite& site);

// Whether all calls of a site fell into less than a tenth of the longest process's time, or there was only one.
bool in_one_burst(const Capture& capture, const CaptureSite& site);

// Worst first: races that are errors, since a wrong result is worse than a slow one (corrupting ones first, then by how
// often they were found); then recurring before once, then by host time held.
std::vector<Finding> find(const Capture& capture, const Origins& origins);

}  // namespace pincheck
