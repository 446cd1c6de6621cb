// Waits in words: what a call waited for, behind which work, and whom it held up. Names from a report are neutralised
// (printable.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture.h"
#include "origin.h"

namespace pincheck {

// Whether the cause is only what such a call may have waited for. By what the call is, a pageable copy that waited for
// earlier work looks like one that was staged, a release of a busy device's memory like one of an idle device's, and a
// call beside another thread's like one that needed its lock.
bool is_presumed(report::WaitCause cause, report::WaitEvidence evidence);

// A site's waits of one cause: those that are presumed, or all others however the cause was found.
struct CauseTotal {
    report::WaitCause cause{};
    report::WaitEvidence evidence{};  // the strongest
    bool presumed = false;
    std::uint64_t calls = 0;
    std::uint64_t ns = 0;
    std::uint64_t ns_max = 0;
    std::uint64_t items = 0;
    const CaptureWait* longest = nullptr;  // has the longest call; never null, lives as long as the site
};
// Most time first.
std::vector<CauseTotal> causes_of(const CaptureSite& site);
// Time in calls of this cause that is not presumed; 0 when there were none.
std::uint64_t waited_ns(const CaptureSite& site, report::WaitCause cause);
// What the site's largest copy may take by itself; a call that lasted longer waited, or was interrupted.
std::uint64_t most_ns_without_wait(const CaptureSite& site);
// No copy of the site waited for anything, where the device reads the host's pages itself. A call that the machine
// interrupted may have taken as long as one that waited, so what is known of the long ones decides, and the time alone
// only where nothing is known.
bool stayed_quick(const CaptureSite& site);
// Whether the recorder followed any call's work, so that it could say what was waited for. Not so in reports of older
// versions, and where nothing waited.
bool knows_waits(const Capture& capture);

// "device-wide", and "device-wide?" where it is presumed.
std::string cause_label(report::WaitCause cause, bool presumed);
// What is waited for, to follow "waited for" or "went to": "work queued before it in its stream".
const char* object_of(const CauseTotal& total);
const char* evidence_text(report::WaitEvidence evidence);  // "the device's times"

// "stream #2 (created at src/x.cpp:12)", "the legacy default stream"; "" for id 0.
std::string stream_name(const Capture& capture, std::uint32_t stream, const Origins& origins);
// "cudaMemcpyAsync at src/y.cpp:30"; "" for id 0.
std::string call_at(const Capture& capture, std::uint32_t site, const Origins& origins);

// "work queued before it in stream #2 (created at x.cpp:12), newest: cudaMemcpyAsync at y.cpp:30 (while step() ran)"
std::string earlier_work_text(const Capture& capture, const CaptureWait& longest, const Origins& origins);

// "12 calls, 360 ms in total, 30.0 ms at most"
std::string amount_text(const CauseTotal& total);

// "Held up 8 threads; delayed work for streams #2, #3."; "" when it was one thread and nothing is known to be delayed.
std::string held_up_text(const CaptureSite& site);

// How the host's time relates to the copies' own: "The calls lasted 99.8 % of the time to completion."; "" without the
// device's times.
std::string call_share_text(const CaptureSite& site);

}  // namespace pincheck
