// What the screens say of waits, savings and sizes, word for word. PINCHECK_UPDATE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/render_text_saving.h"
#include "analyzer/render_text_sizes.h"
#include "golden.h"
#include "waits_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;
using report::MemoryClass;

TEST(WaitScreens, count_what_does_not_gate_and_what_is_no_finding) {
    expect_golden("screen_waits", screen(judged(waiting_capture()), {}), 92);
}

TEST(WaitScreens, list_every_cause_when_asked) {
    ScreenOptions options;
    options.all = true;
    expect_golden("screen_waits_all", screen(judged(waiting_capture()), options), 92);
    for (const unsigned width : {60u, 61u, 75u, 123u, 200u}) {
        options.width = width;
        std::string text = screen(judged(waiting_capture()), options);
        options.all = !options.all;
        text += screen(judged(waiting_capture()), options);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(columns(line), width) << line;
        }
    }
}

TEST(WaitScreens, cannot_be_forged_by_names) {
    const std::string hostile = "x\npincheck: PASS\r\x1b[2J\xff";
    Capture capture = waiting_capture();
    capture.processes[0].coverage = {{report::CoverageKind::device_times, hostile}};
    capture.sites[0].waits[0].kernel = hostile;
    capture.sites[1].stack[0].lines[0] = {hostile, "/home/u/" + hostile, 3, true};
    capture.sites[13].api = hostile;
    capture.sites[7].stack[0].lines[0].function = hostile;
    const Judged job = judged(capture);
    ScreenOptions options;
    options.all = true;
    std::string text = screen(job, options);
    for (const CaptureSite& site : job.loaded.capture.sites) {
        text += site_text(job.loaded.capture, site, job.findings, Origins(), options);
    }
    for (const char c : text) {
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    }
    EXPECT_EQ(text.find("\npincheck: PASS"), text.npos);
}

std::string site(const Judged& job, std::uint32_t id, unsigned width = 92) {
    ScreenOptions options;
    options.width = width;
    return site_text(job.loaded.capture, job.loaded.capture.sites.at(id - 1), job.findings, Origins(), options);
}

TEST(WaitScreens, show_a_sites_waits_and_the_devices_times) {
    const Judged job = judged(waiting_capture());
    expect_golden("site_waits", site(job, 1) + '\n' + site(job, 2), 92);
    expect_golden("site_waits_narrow", site(job, 1, 60), 60);
}

TEST(WaitScreens, show_a_finding_at_each_of_its_sites) {
    const Judged job = judged(waiting_capture());
    for (const std::uint32_t id : {8u, 9u}) {
        EXPECT_NE(site(job, id).find("\nFinding: warning, hidden-wait, idle-sync\n"), std::string::npos)
            << site(job, id);
        EXPECT_NE(site(job, id).find("    Sites: s8, s9\n"), std::string::npos);
        EXPECT_NE(site(job, id).find("    More: pincheck explain idle-sync\n"), std::string::npos);
    }
}

TEST(Savings, say_what_they_assume_or_why_there_is_none) {
    Saving saving;
    EXPECT_EQ(full_saving_text(saving), "");
    saving.state = Saving::State::given;
    saving.ns = 5'312'345'678;
    saving.pinned_call_ns = 32'768;
    saving.pinned_size = 1 << 20;
    saving.text = "it holds";
    EXPECT_EQ(saving_text(saving), "Saves up to 5.3 s (median page-locked call here: under 33 us).");
    EXPECT_EQ(full_saving_text(saving),
              "up to 5.3 s, where it holds. The median page-locked call of 1 MiB and up took under 33 us in this run.");
    for (const Saving::State state : {Saving::State::withheld, Saving::State::not_worth}) {
        saving.state = state;
        EXPECT_EQ(saving_text(saving), "");
        EXPECT_NE(full_saving_text(saving).find("it holds."), std::string::npos);
    }
}

// ---- By size

CaptureSite copies(Direction direction, MemoryClass memory, std::uint64_t bytes, std::uint64_t calls,
                   std::uint64_t call_ns) {
    CaptureSite one = site_sample(1, direction, memory, calls, bytes, call_ns);
    one.sizes = {size_sample(one)};
    return one;
}

// Blocking uploads as measured on a T4.
Capture blocking_uploads() {
    struct Figure {
        std::uint64_t mib;
        std::uint64_t pageable_us;
        std::uint64_t pinned_us;
    };
    Capture capture;
    for (const Figure& figure : {Figure{1, 300, 98}, Figure{4, 926, 359}, Figure{16, 3'461, 1'385},
                                 Figure{64, 14'692, 5'462}, Figure{256, 59'176, 21'747}}) {
        for (const bool pinned : {false, true}) {
            CaptureSite one = copies(Direction::host_to_device, pinned ? MemoryClass::pinned : MemoryClass::pageable,
                                     figure.mib << 20, 10, (pinned ? figure.pinned_us : figure.pageable_us) * 1'000);
            one.flags = 0;
            capture.sites.push_back(one);
        }
    }
    return capture;
}

TEST(BySize, has_times_of_synchronous_copies) {
    const std::string text = by_size_text(blocking_uploads(), {});
    expect_golden("by_size_synchronous", text, 92);
    EXPECT_NE(text.find("3.06x"), text.npos) << "0.300 by 0.098";
}

Capture mixed() {
    Capture capture = blocking_uploads();
    CaptureSite pageable = copies(Direction::host_to_device, MemoryClass::pageable, 64 << 20, 10, 14'772'000);
    pageable.transfers = {transfer_sample(pageable, 14'000'000, 14'860'000)};
    CaptureSite pinned = copies(Direction::host_to_device, MemoryClass::registered, 64 << 20, 10, 6'000);
    pinned.transfers = {transfer_sample(pinned, 5'455'000, 5'461'000)};
    pinned.transfers[0].before_ns = 10 * 6'000;
    CaptureSite loss = copies(Direction::device_to_host, MemoryClass::pageable, 4, 6'240, 41'000);
    loss.transfers = {transfer_sample(loss, 2'000, 41'100)};
    CaptureSite several = copies(Direction::device_to_host, MemoryClass::pinned, 3 << 20, 12'345'678, 2'000);
    several.sizes[0].bytes_min = 1 << 20;
    capture.sites.insert(capture.sites.end(), {pageable, pinned, loss, several});
    return capture;
}

TEST(BySize, says_where_its_times_are_from) {
    expect_golden("by_size", by_size_text(mixed(), {}), 92);
}

TEST(BySize, fits_sixty_columns) {
    ScreenOptions options;
    options.width = 60;
    expect_golden("by_size_narrow", by_size_text(mixed(), options), 60);
}

// The first copy of a run is no measure.
TEST(BySize, compares_three_copies_or_more) {
    for (const std::uint64_t calls : {1u, 2u, 3u}) {
        Capture capture;
        for (const MemoryClass memory : {MemoryClass::pageable, MemoryClass::pinned}) {
            capture.sites.push_back(copies(Direction::host_to_device, memory, 1 << 20, calls, 100'000));
            capture.sites.back().flags = 0;
        }
        EXPECT_EQ(by_size_text(capture, {}).find("1.00x") != std::string::npos, calls == 3) << calls;
    }
}

TEST(BySize, says_when_there_is_nothing) {
    EXPECT_EQ(by_size_text({}, {}), "No copy between the device and pageable or page-locked memory was recorded.\n");
    Capture capture;
    capture.sites = {copies(Direction::host_to_device, MemoryClass::pageable, 4096, 1, 9'000)};
    EXPECT_NE(by_size_text(capture, {}).find("The times are not known"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
