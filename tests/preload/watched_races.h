// The races of a report that watching found (options races=watch), each as one line that a test can state:
//
//   source-overwritten-in-flight 3x upload, pin pinned_floats, between upload and wait_for_event, wait wait_for_event,
//   0-4096 of 40000
//
// The copy, the place that page-locked the memory, the calls between which it was written and the one that told the
// host of completion too late are named by the function of the program that makes them; then the bytes, and the flags.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analyzer/names.h"
#include "facts.h"
#include "interpose/kernel_page_watch.h"
#include "run_program.h"

namespace pincheck::test {

// Does the kernel tell which pages were written? Where not (before Linux 6.7, or not in this container), sources are
// judged by checksums.
inline bool kernel_helps() {
    static const bool helps = [] {
        KernelPageWatch watch;
        return watch.open() == WatchRefusal::none;
    }();
    return helps;
}

// Under a seccomp filter nothing is watched at all: filters may end a process for the calls that it takes.
inline bool is_filtered() {
    static const bool filtered = has_seccomp_filter();
    return filtered;
}

// The function of the program (tests/programs/races_watch*) that makes the site's call.
inline std::string caller_of_site(const report::Report& report, std::uint32_t id) {
    static const std::set<std::string> callers = {"upload",         "download", "pinned_floats", "wait_for",
                                                  "wait_for_event", "pinned",   "lock_pages",    "wait_for_stream"};
    const auto site = report.sites.find(id);
    if (site == report.sites.end()) {
        return id == 0 ? "nothing" : "?";
    }
    for (const NamedFrame& frame : stack_of(report, site->second.record)) {
        const std::string function = frame.function.substr(frame.function.rfind(':') + 1);
        if (callers.contains(function)) {
            return function;
        }
    }
    return "elsewhere:\n" + stack_text(report, site->second.record);
}

inline std::string watched_race_text(const report::Report& report, const report::RaceSlot& race) {
    const auto caller = [&](std::uint32_t site) { return caller_of_site(report, site); };
    std::string text = std::string(pincheck::name(race.rule)) + " " + std::to_string(race.count) + "x " +
                       caller(race.copy_site) + ", pin " + caller(race.pin_site) + ", between " +
                       caller(race.after_site) + " and " + caller(race.before_site) + ", wait " +
                       caller(race.wait_site) + ", " + std::to_string(race.begin) + "-" + std::to_string(race.end) +
                       " of " + std::to_string(race.copy_bytes);
    constexpr struct {
        report::RaceFlags flag;
        const char* text;
    } kFlags[] = {{report::kRacePresumed, ", presumed"},
                  {report::kRaceAtExit, ", at exit"},
                  {report::kRaceReleased, ", released"},
                  {report::kRaceOnDevice, ", on the device"},
                  {report::kRaceInSystemCall, ", in a system call"},
                  {report::kRaceByChecksum, ", by checksum"}};
    for (const auto& one : kFlags) {
        text += (race.flags & one.flag) != 0 ? one.text : "";
    }
    return text;
}

using Lines = std::vector<std::string>;

struct WatchedRun {
    report::Report report;
    std::string out;

    Lines lines;  // sorted

    std::uint64_t unwatched() const { return lost(report, report::Loss::unwatched); }
};

// `before`: a program that becomes the program, and its arguments. False: it says that it cannot do that here.
inline bool run_watched(WatchedRun& run, const std::string& program, const std::string& half,
                        std::vector<std::string> before = {}, const std::string& options = "races=watch:sample=count") {
    Command command;
    command.arguments = std::move(before);
    command.arguments.push_back(program_path(program));
    command.arguments.push_back(half);
    command.options = "threshold=999999:cupti=off:" + options;
    const FinishedRun finished(command);
    run.out = finished.outcome().out;
    if (finished.outcome().exited(77)) {
        return false;
    }
    EXPECT_TRUE(finished.outcome().exited(0)) << half << "\n" << describe(finished.outcome());
    EXPECT_EQ(finished.outcome().err, "") << half;
    run.report = finished.report();
    for (const report::RaceSlot& race : run.report.races) {
        EXPECT_EQ(race.level, report::RaceLevel::watch) << half;
        EXPECT_EQ(race.other_site, 0u) << half << ": the store itself is not seen";
        EXPECT_LE(race.first_ns, race.last_ns);
        run.lines.push_back(watched_race_text(run.report, race));
    }
    std::ranges::sort(run.lines);
    return true;
}

// As container runtimes confine their processes: no userfaultfd.
inline std::vector<std::string> in_a_container() {
    return {program_path("confined"), "seccomp"};
}

}  // namespace pincheck::test
