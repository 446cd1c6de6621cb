// What a person reads: the first screen after a run, and one site in full. All text from a report is neutralised
// (printable.h); width-aware; colours only when asked.
#pragma once

#include <cstdint>
#include <string>

#include "capture.h"
#include "policy.h"

namespace pincheck {

struct ScreenOptions {
    unsigned width = 92;  // columns, 60 to 200
    bool color = false;
    bool all = false;           // list what is not gated too
    bool checking = false;      // the exit status depends on the verdict (--check, `pincheck check`)
    std::uint64_t wall_ns = 0;  // of the whole run, 0 when not known (`pincheck report` uses the processes' durations)
    std::string report_place;   // file or folder, for the last lines; a folder ends with '/'
    // A plain `pincheck show N` numbers the findings as this screen does. Not so with another policy or other origins:
    // the next command then names the site.
    bool plain_numbers = true;
    // How this run ends because its program failed: "exits 7", "dies by SIGTERM"; "" when it succeeded or is not known.
    std::string ending;
};

// As drawn in the design: verdict, command and device, time held, worst sites with why and fix, what is not gated,
// pinned memory, what was seen and not seen, where the report is, the next commands.
std::string first_screen(const LoadResult& loaded, const Judgement& judgement, const Origins& origins,
                         const ScreenOptions& options);

// "pincheck: FAIL  pageable-async-copy at 3 sites …", one line: for ranks above 0 and --quiet.
std::string verdict_line(const LoadResult& loaded, const Judgement& judgement, const ScreenOptions& options);

// Why the verdict is what it is, in a few words: what gates and at how many sites, or what was let pass, or why there
// is no conclusion.
std::string verdict_why(const LoadResult& loaded, const Judgement& judgement);

// Everything known of one site: counters, histogram, stack down to file:line, where the memory was page-locked,
// findings.
std::string site_text(const Capture& capture, const CaptureSite& site, const std::vector<Finding>& findings,
                      const Origins& origins, const ScreenOptions& options);

}  // namespace pincheck
