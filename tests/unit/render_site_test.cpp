// One site in full, word for word. PINCHECK_UPDATE_GOLDEN=1 writes tests/golden/site_*.txt anew.
#include <gtest/gtest.h>

#include "golden.h"
#include "render_test_sample.h"

namespace pincheck::test {
namespace {

Job full_job() {
    Job job = failing_job();
    CaptureSite pin;
    pin.id = 3;
    pin.api = "cudaMallocHost";
    pin.kind = report::SiteKind::allocate;
    pin.calls = 1;
    pin.threads = pin.processes = 1;
    pin.stack = {frame_sample(0, 0x777, "Pool::Pool", "/home/u/src/pool.cu", 12)};
    job.capture().sites.push_back(pin);
    CaptureSite& site = job.site(1);
    site.source.flags = 0;
    site.destination = {report::MemoryClass::pinned, 0, report::kMemoryFlagsKnown | report::kMemoryMapped};
    site.allocation_site = 3;
    site.then_synchronized = 6'000;
    site.failed = 2;
    site.last_error = 1;
    site.processes = 2;
    site.threads = 5;
    site.histogram[4] = 100;
    site.stack_cut = true;
    site.stack = {frame_sample(0, 0x1234, "copy_one", "/home/u/src/meter.h", 9), frame_sample(2, 0x888, "at::run"),
                  frame_sample(3, 0x99), frame_sample(CaptureFrame::kNoModule, 0xdeadbeef)};
    site.stack[0].lines.push_back({"Meter::update(float*)", "/home/u/src/meter.cu", 41, true});
    site.stack[1].lines[0].exact = false;
    return job;
}

std::string text_of(const Job& job, std::uint32_t id, const ScreenOptions& options = {}) {
    return site_text(job.loaded.capture, job.loaded.capture.sites.at(id - 1), job.judgement.gated, Origins(), options);
}

TEST(Site, is_shown_with_all_that_is_known) {
    expect_golden("site_full", text_of(full_job(), 1), 92);
}

TEST(Site, fits_sixty_columns) {
    ScreenOptions options;
    options.width = 60;
    expect_golden("site_narrow", text_of(full_job(), 1, options), 60);
}

TEST(Site, without_a_finding_or_a_stack_is_short) {
    Job job = full_job();
    CaptureSite& site = job.site(3);
    site.stack.clear();
    site.flags = report::kSiteOverflow;
    expect_golden("site_overflow", text_of(job, 3), 92);
}

TEST(Site, whose_calls_all_failed_has_no_bytes) {
    Job job = full_job();
    CaptureSite& site = job.site(2);
    site.bytes = site.bytes_max = 0;
    site.bytes_min = UINT64_MAX;
    site.failed = site.calls;
    EXPECT_EQ(text_of(job, 2).find("\nBytes"), std::string::npos);
    EXPECT_EQ(text_of(job, 2).find("PiB"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
