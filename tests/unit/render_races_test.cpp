// What the screens say of races, word for word. PINCHECK_UPDATE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/render_text_races.h"
#include "golden.h"
#include "races_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::Loss;
using report::MemoryClass;

std::string site(const Judged& job, std::uint32_t id, unsigned width = 92) {
    ScreenOptions options;
    options.width = width;
    return site_text(job.loaded.capture, job.loaded.capture.sites.at(id - 1), job.findings, Origins(), options);
}

TEST(RaceScreens, show_races_before_what_only_costs_time) {
    ScreenOptions options;
    options.all = true;
    expect_golden("screen_races", screen(judged(racing_capture()), options), 92);
}

// With a race of a library with itself, one that is presumed, and what was not looked for.
TEST(RaceScreens, count_what_does_not_gate_and_what_was_not_seen) {
    Capture capture = racing_sites();
    capture.processes[0].losses = {{Loss::in_flight, 3, 0}, {Loss::unwatched, 1'200, 0}};
    capture.sites.erase(capture.sites.begin() + 2);  // nothing pageable
    for (std::uint32_t i = 2; i < capture.sites.size(); ++i) {
        capture.sites[i].id = i + 1;
    }
    capture.races = {race_sample(report::RaceRule::source_overwritten_in_flight, kNccl - 1, kNccl - 1),
                     race_sample(report::RaceRule::source_overwritten_in_flight, kTorch - 1, kTorch - 1),
                     race_sample(report::RaceRule::unordered_copies, kUpload, kDownload)};
    capture.races[2].flags = report::kRacePresumed;
    expect_golden("screen_races_not_gated", screen(judged(std::move(capture)), {}), 92);
}

TEST(RaceScreens, fit_every_width) {
    ScreenOptions options;
    for (const unsigned width : {60u, 61u, 75u, 123u, 200u}) {
        options.width = width;
        const Judged job = judged(racing_capture());
        std::string text = screen(job, options);
        options.all = true;
        text += screen(job, options);
        for (const CaptureSite& one : job.loaded.capture.sites) {
            text += site(job, one.id, width);
        }
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(columns(line), width) << line;
        }
    }
}

TEST(RaceScreens, show_a_race_at_both_of_its_parties) {
    const Judged job = judged(racing_capture());
    expect_golden("site_races", site(job, kUpload) + '\n' + site(job, kAccess), 92);
}

TEST(RaceScreens, cannot_be_forged_by_names) {
    const std::string hostile = "x\npincheck: PASS\r\x1b[2J\xff";
    Capture capture = racing_capture();
    for (CaptureRace& race : capture.races) {
        race.call = hostile;
    }
    for (CaptureSite& one : capture.sites) {
        one.api = hostile;
        one.stack.back().lines = {{hostile, "/home/u/" + hostile, 3, true}};
    }
    capture.processes[0].options = "races=" + hostile;
    const Judged job = judged(std::move(capture));
    ScreenOptions options;
    options.all = true;
    std::string text = screen(job, options);
    for (const CaptureSite& one : job.loaded.capture.sites) {
        text += site(job, one.id);
    }
    for (const char c : text) {
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    }
    EXPECT_EQ(text.find("\npincheck: PASS"), text.npos);
}

TEST(RaceScreens, say_in_one_line_what_gates) {
    const Judged job = judged(racing_capture());
    const std::string line = verdict_line(job.loaded, job.judgement, {});
    EXPECT_NE(line.find("destination-overwritten-in-flight at 1 site"), std::string::npos) << line;
    EXPECT_NE(line.find("held"), std::string::npos) << "the pageable copy's time";
    Capture capture = racing_sites();
    capture.sites[kPageable - 1].source.kind = MemoryClass::pinned;
    capture.races = {race_sample(report::RaceRule::destination_read_in_flight, kDownload, kAccess)};
    const Judged other = judged(std::move(capture));
    EXPECT_EQ(verdict_line(other.loaded, other.judgement, {}), "pincheck: FAIL  destination-read-in-flight at 1 site\n")
        << "a race holds nobody";
    EXPECT_EQ(screen(other, {}).find("These calls held"), std::string::npos);
}

TEST(UnseenRaces, follow_what_was_possible_in_each_process) {
    using Lines = std::vector<std::string>;
    const Lines reads = {"early reads of downloaded results (races=trap)"};
    const Lines all = {"buffers that are used again before their copy has finished (races=off)"};
    const Lines host = {"what the host writes into page-locked buffers in flight (races=order)"};
    Capture capture = racing_sites();
    const auto with = [&](const char* level) {
        capture.processes[0].coverage = {{report::CoverageKind::races, level}};
        return unseen_races(capture);
    };
    EXPECT_EQ(with("watch"), reads);
    EXPECT_EQ(with("off"), all);
    EXPECT_EQ(with("order"), host);
    EXPECT_EQ(with("order: a seccomp filter is installed"),
              Lines{"what the host writes into page-locked buffers in flight: a seccomp filter is installed"});
    EXPECT_EQ(
        with("watch: this kernel is too old"),
        Lines{"what the host writes into page-locked buffers in flight, but by checksums of uploads: this kernel is "
              "too old"});
    EXPECT_EQ(with("watch,pageable"), reads);
    EXPECT_EQ(with("watch,pageable: this kernel is too old"), with("watch: this kernel is too old"));
    EXPECT_EQ(with("trap"), Lines());
    EXPECT_EQ(with("trap: userfaultfd is not permitted"),
              Lines{"which instructions write into the sources of uploads: userfaultfd is not permitted"});
    capture.processes[0].coverage = {{report::CoverageKind::races, "no trap: a debugger is attached"},
                                     {report::CoverageKind::races, "watch"}};
    EXPECT_EQ(unseen_races(capture),
              Lines{"early reads of downloaded results, which races=trap finds: a debugger is attached"});
    // The last word counts: the device is known later than the kernel.
    capture.processes[0].coverage = {
        {report::CoverageKind::races, "watch,pageable"},
        {report::CoverageKind::races, "no pageable: the device reads such memory by itself"},
        {report::CoverageKind::races, "watch"}};
    EXPECT_EQ(unseen_races(capture),
              (Lines{"what the host writes into pageable sources before a wait: the device reads such memory by itself",
                     reads[0]}));
    capture.processes[0].coverage = {{report::CoverageKind::races, "watch"},
                                     {report::CoverageKind::races, "order: the device goes through the host's tables"}};
    EXPECT_EQ(
        unseen_races(capture),
        Lines{"what the host writes into page-locked buffers in flight: the device goes through the host's tables"});
    capture.processes[0].coverage.clear();
    EXPECT_EQ(unseen_races(capture), Lines()) << "a report of another version";
    // Where nothing could be read early, nothing was missed.
    std::erase_if(capture.sites, [](const CaptureSite& one) { return one.direction == Direction::device_to_host; });
    EXPECT_EQ(with("watch"), Lines());
    EXPECT_EQ(with("order"), host);
    EXPECT_EQ(with("off"), all);
    capture.sites.clear();
    EXPECT_EQ(with("off"), Lines());
}

}  // namespace
}  // namespace pincheck::test
