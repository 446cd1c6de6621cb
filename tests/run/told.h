// A run of a program over the simulated device, and what a reader is told of it. What is held is held by a gate that
// opens only when the report shows the calls as begun for a second.
#pragma once

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/findings.h"
#include "analyzer/hidden_waits.h"
#include "analyzer/policy.h"
#include "analyzer/render_text.h"
#include "analyzer/symbolize.h"
#include "run_command.h"

namespace pincheck::test {

using report::WaitCause;

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline bool inside_for_a_second(const report::Report& report, std::size_t threads) {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const std::uint64_t now =
        static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
    return static_cast<std::size_t>(std::ranges::count_if(report.threads, [&](const report::ThreadSlot& thread) {
               return thread.in_call_since_ns != 0 && now - thread.in_call_since_ns >= kSecond;
           })) == threads;
}

// One run of a program, and what the analyzer makes of its report.
class Told {
  public:
    // A half of tests/programs/held_calls.cu. Opens each gate when so many threads are inside.
    explicit Told(const char* half, const std::vector<std::size_t>& inside = {},
                  std::map<std::string, std::string> environment = {}, const char* options = "") {
        Command command;
        command.arguments = {program_path("held_calls"), half};
        command.environment = std::move(environment);
        command.environment["SIMCUDA_KERNELS"] = program_path("held_calls_kernels.so");
        command.options = options;
        run(command, inside);
    }
    // A sample, as it is documented.
    static Told sample(const std::string& name, const std::string& argument = "", const std::string& options = "") {
        const std::string folder = std::string(PINCHECK_TEST_BUILD) + "/samples/";
        Command command;
        command.arguments = {folder + name};
        if (!argument.empty()) {
            command.arguments.push_back(argument);
        }
        command.environment["SIMCUDA_KERNELS"] = folder + "kernels.so";
        command.options = options;
        if (options.find("races=trap") != std::string::npos) {
            command.preload.push_back(trap_library());
        }
        Told told;
        told.run(command, {});
        return told;
    }
    // The finding of this cause that is headed by this function; null when there is none.
    const Finding* wait(WaitCause cause, const std::string& function) const {
        for (const Finding& finding : findings) {
            if (finding.cause == cause && finding.heading >= 0) {
                const CaptureSite& site = loaded.capture.sites[finding.site - 1];
                const SourceLine* line = shown_line(site.stack[static_cast<std::size_t>(finding.heading)], origins);
                if (line != nullptr && line->function.find(function) != std::string::npos) {
                    return &finding;
                }
            }
        }
        return nullptr;
    }
    std::size_t waits(WaitCause cause) const {
        return static_cast<std::size_t>(std::ranges::count(findings, cause, &Finding::cause));
    }

    // What the screen says, wherever its lines end.
    bool says(const std::string& words) const {
        std::string flat;
        for (const char c : screen) {
            if (c != ' ' && c != '\n') {
                flat += c;
            } else if (!flat.ends_with(' ')) {
                flat += ' ';
            }
        }
        return flat.find(words) != std::string::npos;
    }

    Origins origins;
    LoadResult loaded;
    std::vector<Finding> findings;
    Judgement judgement;
    std::string screen;

  private:
    Told() = default;
    void run(const Command& command, const std::vector<std::size_t>& inside) {
        const TemporaryFolder folder;
        Running running(command, folder.path());
        for (const std::size_t threads : inside) {
            EXPECT_TRUE(running.wait_for_line("inside"));
            EXPECT_TRUE(report_becomes(
                folder.path(), [&](const report::Report& report) { return inside_for_a_second(report, threads); }));
            running.say("go\n");
        }
        const Outcome outcome = running.wait();
        EXPECT_TRUE(outcome.exited(0)) << describe(outcome);
        loaded = load_capture({folder.path()});
        symbolize(loaded.capture, SymbolizeOptions());
        findings = find(loaded.capture, origins);
        judgement = judge(loaded, findings, origins, {}, {});
        ScreenOptions all;
        all.all = true;
        screen = first_screen(loaded, judgement, origins, all);
    }
};

}  // namespace pincheck::test
