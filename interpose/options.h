// PINCHECK_OPTIONS=key=value:key=value, read once. A set-id process has none: its options are the defaults.
#pragma once

#include <cstdint>

namespace pincheck {

// How much CUPTI, NVIDIA's profiling library, records: nothing; copies and memsets; kernels too.
enum class CuptiUse : std::uint8_t { off, copies, full };

// How races between copies in flight and later uses of their memory are looked for: not; by the order of calls; by the
// kernel's record of written pages as well; by catching each access, in place of that.
enum class RaceUse : std::uint8_t { off, order, watch, trap };
// Which of the copies are watched: as many as the budget allows, or by count, the same in every run. With races=trap
// all of them are.
enum class WatchSampling : std::uint8_t { cost, count };

struct Options {
    char output[512] = "pincheck-%e-%t-%h-%p.pcr";
    bool stacks = true;
    std::uint32_t depth = 16;
    std::uint32_t threshold_us = 20;  // a call that took this long or longer held the host: why is recorded
    bool exports = true;
    bool dlsym = true;
    CuptiUse cupti = CuptiUse::copies;
    RaceUse races = RaceUse::watch;
    bool watch_pageable = false;  // races=watch,pageable: pageable sources too
    WatchSampling sample = WatchSampling::cost;
    std::uint32_t budget_percent = 2;  // of the time, for watching
    bool full_command_line = true;
    int verbosity = 1;         // 0 silent, 1 problems, 2 also what was done
    char complaint[256] = "";  // first unknown key or bad value, for one line on stderr; "" when there is none
    char text[1024] = "";      // as given
};

// Parses `text` over the defaults. Pure.
Options parse_options(const char* text) noexcept;

// What the tool needs of the environment that the process was started with, copied by the library's constructor: later
// the program may have written over it (setproctitle does).
struct Start {
    Options options;
    char temporary_directory[256] = "/tmp";
    char rank[16] = "";  // of the MPI or launcher job; "" when there is none
};
const Start& start_settings() noexcept;
inline const Options& options() noexcept {
    return start_settings().options;
}

// exports= and dlsym= alone, cheap and valid before anything else.
bool exports_wanted() noexcept;
bool dlsym_wanted() noexcept;

// The process runs with other rights than its user's (AT_SECURE): options are not read, and the tool stays inert.
bool is_set_id() noexcept;

// Value of an environment variable as the process was started with, or null. Null for set-id processes.
const char* start_environment(const char* name) noexcept;

}  // namespace pincheck
