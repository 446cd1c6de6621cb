// Rules that need nothing but a site's own facts.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/findings.h"
#include "races_sample.h"

namespace pincheck::test {
namespace {

using report::Direction;

std::vector<Finding> find(const Capture& capture) {
    return pincheck::find(capture, Origins());
}

// G1: uploading from write-combined memory is what it is for.
TEST(WriteCombined, is_told_for_downloads_only) {
    for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
        Capture capture = racing_sites();
        CaptureSite& copy = capture.sites[(direction == Direction::host_to_device ? kUpload : kDownload) - 1];
        report::Memory& memory = direction == Direction::host_to_device ? copy.source : copy.destination;
        const auto findings = [&] {
            std::vector<Finding> found = find(capture);
            std::erase_if(found, [](const Finding& one) { return one.rule != Rule::write_combined_read; });
            return found;
        };
        memory.flags = report::kMemoryFlagsKnown | report::kMemoryWriteCombined;
        ASSERT_EQ(findings().size(), direction == Direction::host_to_device ? 0u : 1u);
        if (direction == Direction::device_to_host) {
            EXPECT_EQ(findings()[0].severity, Severity::warning);
            EXPECT_EQ(findings()[0].count, 100u);
            memory.flags = report::kMemoryWriteCombined;
            EXPECT_TRUE(findings().empty()) << "not as requested";
            memory.flags |= report::kMemoryFlagsKnown;
            copy.failed = copy.calls;
            EXPECT_TRUE(findings().empty());
        }
    }
}

// One finding a place, whatever memory it reads.
TEST(WriteCombined, reads_that_samples_caught_are_told_by_their_place) {
    Capture capture = racing_sites();
    CaptureRead read;
    read.site = kUpload;  // what kind of site it is plays no part
    read.samples = 3;
    read.bytes = 4096;
    read.begin = 17;
    read.end = 18;
    CaptureRead call = read;
    call.call = "write";
    call.samples = 1;
    CaptureRead other = read;
    other.site = kDownload;
    other.begin = 0;
    other.end = 4096;
    other.pin_site = kFreeHost;
    capture.reads = {call, read, other};
    std::vector<Finding> found = find(capture);
    std::erase_if(found, [](const Finding& one) { return one.rule != Rule::write_combined_read; });
    ASSERT_EQ(found.size(), 2u);
    std::ranges::sort(found, {}, &Finding::site);
    const Finding& first = found[kUpload < kDownload ? 0 : 1];
    EXPECT_EQ(first.severity, Severity::warning);
    EXPECT_EQ(first.count, 4u);
    EXPECT_FALSE(first.is_timed());
    EXPECT_EQ(first.reads, (std::vector<std::uint32_t>{1, 0})) << "most samples first";
    EXPECT_TRUE(first.why.starts_with("The host reads memory that was requested write-combined")) << first.why;
    EXPECT_NE(first.why.find("byte 17 of 4 KiB, caught in 4 samples."), first.why.npos) << first.why;
    EXPECT_EQ(first.why.find("Allocated"), first.why.npos);
    const Finding& second = found[kUpload < kDownload ? 1 : 0];
    EXPECT_NE(second.why.find("all 4 KiB, caught in 3 samples. Allocated by cudaFreeHost"), second.why.npos)
        << second.why;
}

// D5: a callback that frees the buffer, and cannot.
TEST(IgnoredError, is_told_of_releases_that_a_host_function_makes_in_vain) {
    Capture capture = racing_sites();
    CaptureSite& release = capture.sites[kFreeHost - 1];
    release.flags = report::kSiteOnDriverThread;
    release.failed = release.calls;
    release.last_error = 800;
    const auto findings = [&] {
        std::vector<Finding> found = find(capture);
        std::erase_if(found, [](const Finding& one) { return one.rule != Rule::ignored_error; });
        return found;
    };
    ASSERT_EQ(findings().size(), 1u);
    EXPECT_EQ(findings()[0].severity, Severity::error);
    EXPECT_EQ(findings()[0].why,
              "cudaFreeHost failed 60 times (error 800): not permitted in a host function; the memory is still "
              "page-locked (1.20 GiB in 14 blocks at the end, from all places).");
    capture.processes[0].pinned_ranges = 0;
    EXPECT_EQ(findings()[0].severity, Severity::warning) << "nothing is left";
    capture.processes[0].pinned_ranges = 1;
    release.api = "cudaFree";
    EXPECT_EQ(findings()[0].severity, Severity::warning) << "no page-locked memory";
    release.failed = release.calls - 1;
    EXPECT_TRUE(findings().empty()) << "one succeeded";
    release.failed = release.calls;
    release.last_error = 1;
    EXPECT_TRUE(findings().empty());
    release.last_error = 800;
    release.flags = 0;
    EXPECT_TRUE(findings().empty()) << "not in a host function";
}

}  // namespace
}  // namespace pincheck::test
