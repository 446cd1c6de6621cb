// Races of several reports become one capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "analyzer/capture.h"
#include "report_test_sample.h"

namespace pincheck::test {
namespace {

using report::RaceLevel;
using report::RaceRule;

std::uint32_t add_site(report::Image& image, const char* api, report::SiteKind kind, std::uint64_t offset) {
    report::SiteRecord record{};
    record.api = image.add_string(api);
    record.kind = kind;
    const std::uint32_t module = image.add_module(image.add_string("/bin/a"), 0, 0, 0x1000, {});
    const report::Frame frame{module, 0, offset};
    record.stack = image.add_stack({&frame, 1}, report::StackOrigin::unwound, false);
    return image.add_site(record, {&frame, 1});
}

struct ReportSites {
    std::uint32_t copy = 0;
    std::uint32_t other = 0;
    std::uint32_t pin = 0;
    std::uint32_t stream = 0;
};

report::RaceSlot* add_race(report::Image& image, const ReportSites& sites, std::uint64_t count,
                           std::uint64_t first_ns) {
    report::RaceSlot* slot = image.new_race();
    report::store(slot->rule, RaceRule::source_overwritten_in_flight);
    report::store(slot->level, RaceLevel::order);
    report::store(slot->copy_site, sites.copy);
    report::store(slot->other_site, sites.other);
    report::store(slot->pin_site, sites.pin);
    report::store(slot->stream, sites.stream);
    report::store(slot->count, count);
    report::store(slot->corrupting, count - 1);
    report::store(slot->latent, std::uint64_t{1});
    report::store(slot->first_ns, first_ns);
    report::store(slot->last_ns, first_ns + 500);
    report::store(slot->begin, count);
    return slot;
}

// The sites come in another order in each process, so that their ids differ.
void write_process(const report::test::TempFile& file, std::uint32_t pid,
                   const std::function<void(report::Image&, const ReportSites&)>& fill) {
    const report::test::ImageOwner image(report::Image::create({}, pid, 1'000, 1'700'000'000'000'000'000 + pid));
    report::ProcessRecord process{};
    process.pid = pid;
    process.rank = report::kNoRank;
    image->add_process(process);
    ReportSites sites;
    if (pid % 2 == 0) {
        sites.pin = add_site(*image, "cudaMallocHost", report::SiteKind::allocate, 0x30);
    }
    sites.copy = add_site(*image, "cudaMemcpyAsync", report::SiteKind::copy, 0x10);
    sites.other = add_site(*image, "cudaMemsetAsync", report::SiteKind::fill, 0x20);
    if (pid % 2 != 0) {
        sites.pin = add_site(*image, "cudaMallocHost", report::SiteKind::allocate, 0x30);
    }
    report::StreamRecord stream{};
    stream.kind = report::StreamKind::created;
    image->add_stream(stream);
    sites.stream = image->add_stream(stream);
    fill(*image, sites);
    ASSERT_TRUE(image->snapshot(file.descriptor(), 10'000'001'000, report::FileState::ended).written);
}

std::uint32_t id_of(const Capture& capture, const std::string& api) {
    const auto found = std::ranges::find(capture.sites, api, &CaptureSite::api);
    EXPECT_NE(found, capture.sites.end()) << api;
    return found == capture.sites.end() ? 0 : found->id;
}

TEST(CaptureRaces, add_up_over_processes) {
    const report::test::TempFile first;
    const report::test::TempFile second;
    write_process(first, 1, [](report::Image& image, const ReportSites& sites) {
        add_race(image, sites, 10, 5'000);
        report::store(add_race(image, sites, 4, 3'000)->call, image.add_string("read"));  // of another thread
    });
    write_process(second, 2, [](report::Image& image, const ReportSites& sites) {
        add_race(image, sites, 3, 4'000);
        report::store(add_race(image, sites, 2, 6'000)->flags, std::uint16_t{report::kRacePresumed});
    });
    // In whatever order the files come.
    for (const std::vector<std::string>& files :
         {std::vector{first.path(), second.path()}, std::vector{second.path(), first.path()}}) {
        const Capture capture = load_capture(files).capture;
        ASSERT_EQ(capture.races.size(), 2u) << "by rule, level, flags and the two sites";
        const CaptureRace& race = capture.races[0];
        EXPECT_EQ(race.rule, RaceRule::source_overwritten_in_flight);
        EXPECT_EQ(race.count, 17u);
        EXPECT_EQ(race.corrupting, 14u);
        EXPECT_EQ(race.latent, 3u);
        EXPECT_EQ(race.first_ns, 2'000u) << "since the first CUDA call";
        EXPECT_EQ(race.last_ns, 4'500u);
        EXPECT_EQ(race.processes, 2u);
        EXPECT_EQ(race.copy_site, id_of(capture, "cudaMemcpyAsync"));
        EXPECT_EQ(race.other_site, id_of(capture, "cudaMemsetAsync"));
        // Of the first one:
        EXPECT_EQ(race.begin, 4u);
        EXPECT_EQ(race.call, "read");
        EXPECT_EQ(race.pin_site, id_of(capture, "cudaMallocHost"));
        EXPECT_EQ(race.process, 0u);
        EXPECT_EQ(race.stream, 2u);
        EXPECT_EQ(capture.races[1].count, 2u);
        EXPECT_TRUE(capture.races[1].has(report::kRacePresumed));
        EXPECT_EQ(capture.races[1].process, 1u);
        EXPECT_EQ(capture.races[1].stream, 4u);
    }
}

TEST(CaptureRaces, that_are_not_filled_in_or_name_no_copy_are_left_out) {
    const report::test::TempFile file;
    write_process(file, 1, [](report::Image& image, const ReportSites& sites) {
        image.new_race();
        report::store(add_race(image, sites, 5, 3'000)->copy_site, std::uint32_t{999});
        report::RaceSlot* slot = add_race(image, sites, 5, 3'000);
        report::store(slot->other_site, std::uint32_t{999});
        report::store(slot->stream, std::uint32_t{999});
        report::store(slot->first_ns, std::uint64_t{10});  // before the process started
    });
    const Capture capture = load_capture({file.path()}).capture;
    ASSERT_EQ(capture.races.size(), 1u);
    EXPECT_EQ(capture.races[0].other_site, 0u);
    EXPECT_EQ(capture.races[0].stream, 0u);
    EXPECT_EQ(capture.races[0].first_ns, 0u);
    EXPECT_FALSE(capture.processes[0].problems.empty());
}

}  // namespace
}  // namespace pincheck::test
