// The races of a report, each as one line that a test can state:
//
//   result-never-awaited 4x download -> download, pin pinned, stream other_stream -> other_stream, 0-65536 of 65536
//
// Both parties, the place that page-locked the memory and the streams are named by the function of the program that is
// in their stacks; then follow the bytes that both use, as offsets in the copy's range, and the flags.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analyzer/names.h"
#include "facts.h"
#include "run_program.h"

namespace pincheck::test {

// The functions of the programs that make calls which matter (SITE in tests/programs/races.h and others).
inline const std::set<std::string>& race_functions() {
    static const std::set<std::string> names = {"upload",          "download",
                                                "next_download",   "clear",
                                                "next_upload",     "clear_rows",
                                                "release",         "pinned",
                                                "capture",         "launch_graph",
                                                "copy_batch",      "download_rows",
                                                "side_stream",     "other_stream",
                                                "new_stream",      "new_blocking_stream",
                                                "my_download",     "framework_copy_and_wait",
                                                "vendor_download", "scenario_inner",
                                                "mine_and_wait",   "release_in_callback"};
    return names;
}

inline std::string function_of_site(const report::Report& report, std::uint32_t id) {
    if (id == 0) {
        return "nobody";
    }
    const auto site = report.sites.find(id);
    if (site == report.sites.end()) {
        return "?";
    }
    for (const NamedFrame& frame : stack_of(report, site->second.record)) {
        const std::string bare = frame.function.substr(frame.function.rfind(':') + 1);
        if (race_functions().contains(bare)) {
            return bare;
        }
    }
    return "elsewhere:\n" + stack_text(report, site->second.record);
}

inline std::string function_of_stream(const report::Report& report, std::uint32_t id) {
    if (id == 0) {
        return "none";
    }
    const auto stream = report.streams.find(id);
    if (stream == report.streams.end()) {
        return "?";
    }
    switch (stream->second.kind) {
        case report::StreamKind::legacy_default:
            return "legacy";
        case report::StreamKind::per_thread_default:
            return "per-thread";
        default:
            return function_of_site(report, stream->second.site);
    }
}

inline std::string race_text(const report::Report& report, const report::RaceSlot& race) {
    constexpr struct {
        report::RaceFlags flag;
        const char* text;
    } kFlags[] = {{report::kRacePresumed, "presumed"},
                  {report::kRaceAtExit, "at exit"},
                  {report::kRaceReleased, "released"},
                  {report::kRaceOnDevice, "on the device"}};
    std::string text = std::string(pincheck::name(race.rule)) + " " + std::to_string(race.count) + "x " +
                       function_of_site(report, race.copy_site) + " -> " + function_of_site(report, race.other_site);
    if (race.pin_site != 0) {
        text += ", pin " + function_of_site(report, race.pin_site);
    }
    text += ", stream " + function_of_stream(report, race.stream) + " -> " +
            function_of_stream(report, race.other_stream) + ", " + std::to_string(race.begin) + "-" +
            std::to_string(race.end) + " of " + std::to_string(race.copy_bytes);
    for (const auto& one : kFlags) {
        text += (race.flags & one.flag) != 0 ? std::string(", ") + one.text : "";
    }
    return text;
}

struct SeenRaces {
    report::Report report;
    std::string out;

    // In the order of their texts.
    std::vector<std::string> lines() const {
        std::vector<std::string> all;
        for (const report::RaceSlot& race : report.races) {
            all.push_back(race_text(report, race));
        }
        std::ranges::sort(all);
        return all;
    }
};
using Lines = std::vector<std::string>;

// Without device times and without calls that count as held: what is left is what the order of calls shows.
inline Command command_for_races(const std::vector<std::string>& arguments) {
    Command command;
    command.arguments = arguments;
    command.arguments[0] = program_path(arguments[0]);
    command.options = "threshold=999999:cupti=off:races=order";
    command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
    return command;
}
inline void run_for_races(const std::vector<std::string>& arguments, SeenRaces& seen, const char* options = nullptr) {
    Command command = command_for_races(arguments);
    if (options != nullptr) {
        command.options = options;
    }
    const FinishedRun run(command);
    ASSERT_TRUE(run.outcome().exited(0)) << describe(run.outcome());
    ASSERT_EQ(run.outcome().err, "");
    seen.out = run.outcome().out;
    seen.report = run.report();
    for (const report::RaceSlot& race : seen.report.races) {
        EXPECT_EQ(race.level, report::RaceLevel::order);
        EXPECT_EQ(race.corrupting + race.latent, 0u);
        EXPECT_LE(race.first_ns, race.last_ns);
        EXPECT_GT(race.first_ns, 0u);
    }
}

// How many copies a host function keeps from being judged depends on when it runs.
inline constexpr const char* kAnyLosses = "any";

// A half of one of the programs, with the shared and the static runtime: `losses` as losses_text() gives them.
class RacesOfProgram : public testing::TestWithParam<const char*> {
  protected:
    void expect(const std::string& program, const std::string& half, Lines races, const std::string& losses = "") {
        SeenRaces seen;
        run_for_races({program + GetParam(), half}, seen);
        if (HasFatalFailure()) {
            return;
        }
        std::ranges::sort(races);
        EXPECT_EQ(seen.lines(), races) << half;
        if (losses != kAnyLosses) {
            EXPECT_EQ(losses_text(seen.report), losses) << half;
        }
        out_ = seen.out;
        report_ = seen.report;
    }
    void expect_silence(const std::string& program, const std::string& half, const std::string& losses = "") {
        expect(program, half, {}, losses);
    }
    const std::string& out() const { return out_; }
    const report::Report& report() const { return report_; }

  private:
    std::string out_;
    report::Report report_;
};

inline std::string runtime_name(const testing::TestParamInfo<const char*>& info) {
    return *info.param == '\0' ? "shared" : "static";
}
inline const auto kRuntimes = testing::Values("", "_static");

}  // namespace pincheck::test
