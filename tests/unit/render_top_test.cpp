// The screen of `pincheck top`, word for word (tests/golden/top*.txt; PINCHECK_UPDATE_GOLDEN=1 writes them anew).
#include "analyzer/render_top.h"

#include <gtest/gtest.h>

#include "golden.h"
#include "render_test_sample.h"

namespace pincheck::test {
namespace {

TEST(Top, ShowsAllOfTheRunAtFirst) {
    const Job job = failing_job();
    expect_golden("top_first", top_text(job.loaded.capture, Origins(), {}));
}
TEST(Top, ShowsRatesSinceTheLastLook) {
    TopOptions options;
    options.width = 120;
    options.rows = 2;
    options.since_ns = 2 * kSecond;
    Job job = failing_job();
    CaptureProcess& process = job.capture().processes[0];
    process.ended = false;
    process.in_call.push_back({4130, "loader", "cudaStreamSynchronize", 1'200 * kMs});
    expect_golden("top", top_text(job.loaded.capture, Origins(), options), 120);
}
TEST(Top, WhereNothingHappensThereAreNoRows) {
    Job job = failing_job();
    job.capture().sites.clear();
    job.capture().processes[0].cuda_calls = 0;
    TopOptions options;
    options.since_ns = 2 * kSecond;
    EXPECT_EQ(top_text(job.loaded.capture, Origins(), options),
              "./train --epochs 2, pid 4127\n"
              "the last 2.00 s: 0 CUDA calls, 0 ns of host time in them (0 ns a second)\n");
}
TEST(Top, NoTextOfAReportReachesTheTerminal) {
    Job job = failing_job();
    job.capture().sites[0].api = "cuda\033[2JMemcpy";
    job.capture().processes[0].command_line = {"./a\nb"};
    const std::string text = top_text(job.loaded.capture, Origins(), {});
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    EXPECT_EQ(text.find("a\nb"), std::string::npos) << text;
}
// Times that make no sense are no division by zero.
TEST(Top, OfAReportWithoutTime) {
    Job job = failing_job();
    job.capture().processes[0].duration_ns = 0;
    EXPECT_NE(top_text(job.loaded.capture, Origins(), {}).find("all of 0 ns"), std::string::npos);
}

}  // namespace
}  // namespace pincheck::test
