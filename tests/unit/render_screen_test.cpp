// The first screen, word for word, from captures made up here. PINCHECK_UPDATE_GOLDEN=1 writes
// tests/golden/screen_*.txt anew, to be read in the diff.
#include <gtest/gtest.h>

#include <fstream>

#include "golden.h"
#include "render_test_sample.h"

namespace pincheck::test {
namespace {

ScreenOptions plain() {
    ScreenOptions options;
    options.report_place = "./pincheck-train-4127.pcr";
    return options;
}

std::string screen(const Job& job, const ScreenOptions& options = plain()) {
    return first_screen(job.loaded, job.judgement, Origins(), options);
}

// The line of the next command.
std::string next_of(const std::string& text) {
    const std::size_t at = text.find("\nNext ");
    return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

Job passing_job() {
    Job job = failing_job();
    for (CaptureSite& site : job.capture().sites) {
        site.source.kind = site.destination.kind = report::MemoryClass::pinned;
    }
    job.judgement = {Verdict::pass, {}, {}, {}};
    return job;
}

Job many_findings(std::size_t count) {
    Job job = failing_job();
    const CaptureSite model = job.site(1);
    job.capture().sites.clear();
    job.judgement.gated.clear();
    for (std::size_t i = 1; i <= count; ++i) {
        CaptureSite site = model;
        site.id = static_cast<std::uint32_t>(i);
        site.stack[0].lines[0].line = 100 + site.id;
        job.capture().sites.push_back(site);
        job.judgement.gated.push_back(finding_sample(site));
    }
    return job;
}

TEST(Screen, fails) {
    expect_golden("screen_fail", screen(failing_job()));
}

TEST(Screen, passes) {
    expect_golden("screen_pass", screen(passing_job()));
}

TEST(Screen, has_no_conclusion) {
    Job job;
    job.capture().processes = {process_sample()};
    CaptureProcess& process = job.capture().processes[0];
    process.cuda_calls = 0;
    process.coverage.clear();
    process.devices.clear();
    process.pinned_bytes = process.pinned_ranges = 0;
    job.judgement = {Verdict::no_conclusion,
                     {},
                     {},
                     {"no CUDA call was recorded: is there a device?",
                      "/home/u/other.pcr: not a pincheck report; give the files that 'pincheck run' wrote"}};
    expect_golden("screen_no_conclusion", screen(job));
}

TEST(Screen, counts_what_is_not_gated) {
    Job job = failing_job();
    add_not_gated(job);
    expect_golden("screen_not_gated", screen(job));
}

TEST(Screen, lists_everything_when_asked) {
    Job job = failing_job();
    add_not_gated(job);
    ScreenOptions options = plain();
    options.all = true;
    expect_golden("screen_all", screen(job, options));
}

TEST(Screen, fits_sixty_columns) {
    Job job = failing_job();
    add_not_gated(job);
    ScreenOptions options = plain();
    options.width = 60;
    expect_golden("screen_narrow", screen(job, options), 60);
}

TEST(Screen, lists_single_bursts_last_and_says_so) {
    Job job = failing_job();
    Finding& model = job.judgement.gated[0];
    model.once = true;
    std::swap(job.judgement.gated[0], job.judgement.gated[1]);
    expect_golden("screen_once", screen(job));
}

TEST(Screen, says_where_a_killed_process_stood) {
    Job job = failing_job();
    CaptureProcess& process = job.capture().processes[0];
    process.ended = false;
    process.in_call = {{4130, "loader", "cudaMemcpyAsync", 12'345 * kMs},
                       {4131, "", "cudaStreamSynchronize", 900 * kMs}};
    expect_golden("screen_killed", screen(job));
}

TEST(Screen, names_what_was_not_seen) {
    using report::CoverageKind;
    using report::Loss;
    Job job = failing_job();
    CaptureProcess second = process_sample();
    second.pid = 4128;
    second.cuda_calls = 0;
    second.coverage = {{CoverageKind::no_unwinder, "libunwind.so.8: cannot open shared object file"}};
    second.losses = {{Loss::sites, 12, 0}, {Loss::write_failed, 3, 28}};
    second.problems = {"the file ends 10 bytes early"};
    CaptureProcess& first = job.capture().processes[0];
    first.coverage.push_back({CoverageKind::exports_off, "exports=off"});
    first.coverage.push_back({CoverageKind::unknown_address, "cuMemcpyFuture"});
    first.coverage.push_back({CoverageKind::foreign_provider, "cuMemcpy /opt/shim.so"});
    first.losses = {{Loss::sites, 1, 0}};
    first.after_cuda_fork = true;
    job.capture().processes.push_back(second);
    job.loaded.errors = {"/home/u/old.pcr: cannot open: Permission denied"};
    expect_golden("screen_not_seen", screen(job));
}

TEST(Screen, names_functions_outside_the_list_and_what_goes_past_the_tool) {
    Job job = failing_job();
    for (const char* name : {"cuMemcpyA", "cuMemcpyB", "cuMemcpyC", "cuMemcpyD", "cuMemcpyE", "cuMemcpyF"}) {
        job.capture().processes[0].coverage.push_back({report::CoverageKind::unlisted, name});
    }
    job.capture().processes[0].coverage.push_back({report::CoverageKind::bypassed, "/opt/p.so (dlsym)"});
    const std::string text = screen(job);
    EXPECT_NE(text.find("CUDA calls that go past the tool: /opt/p.so (dlsym)\n"), text.npos) << text;
    EXPECT_NE(text.find("functions outside the list, where the program calls them: cuMemcpyA,\n"
                        "                cuMemcpyB, cuMemcpyC, cuMemcpyD and 2 more\n"),
              text.npos)
        << text;
}

TEST(Screen, repeats_no_reason_among_what_was_not_seen) {
    Job job = failing_job();
    job.capture().processes[0].losses = {{report::Loss::sites, 7, 0}};
    job.judgement.reasons = {"not everything was recorded"};
    const std::string text = screen(job);
    EXPECT_NE(text.find("Not seen        not everything was recorded\n"), text.npos) << text;
    EXPECT_EQ(text.find("table of sites"), text.npos) << text;
}

TEST(Screen, cannot_be_forged_by_names) {
    Job job = failing_job();
    const std::string hostile =
        "x\npincheck: PASS\r\x1b[2J\x1b]0;t\a\x9b\xff \xe2\x80\xae\xe2\x80\xa8 日本語 e\xcc\x81\xcc\x81";
    CaptureProcess& process = job.capture().processes[0];
    process.command_line = {hostile, "a b", "it's"};
    process.devices[0].name = hostile;
    process.coverage.push_back({report::CoverageKind::route, hostile});
    process.coverage.push_back({report::CoverageKind::library, hostile});
    process.coverage.push_back({report::CoverageKind::no_unwinder, hostile});
    process.problems = {hostile};
    process.ended = false;
    process.in_call = {{1, hostile, hostile, kSecond}};
    job.site(1).stack[0].lines[0] = {hostile, "/home/u/" + hostile, 3, true};
    job.capture().modules[0].path = hostile;
    job.site(2).stack[0].lines.clear();
    job.loaded.errors = {hostile};
    Finding& finding = job.judgement.gated[0];
    finding.api = finding.why = finding.fix = hostile;
    ScreenOptions options = plain();
    options.report_place = hostile;
    expect_golden("screen_hostile", screen(job, options));
    for (const unsigned width : {60u, 61u, 75u, 80u, 123u, 200u}) {
        options.width = width;
        expect_tidy(screen(job, options), width);
    }
}

TEST(Screen, lists_ten_and_counts_the_rest) {
    const std::string ten = screen(many_findings(10));
    EXPECT_NE(ten.find("\n#10 "), ten.npos);
    EXPECT_EQ(ten.find("more:"), ten.npos) << ten;
    const std::string eleven = screen(many_findings(1'011));
    EXPECT_EQ(eleven.find("\n#11 "), eleven.npos);
    EXPECT_NE(eleven.find("\n… 1,001 more: pincheck report --all ./pincheck-train-4127.pcr\n"), eleven.npos) << eleven;
    ScreenOptions options = plain();
    options.all = true;
    EXPECT_NE(screen(many_findings(11), options).find("\n#11 "), ten.npos);
}

TEST(Screen, says_nothing_of_the_exit_status_when_checking) {
    ScreenOptions options = plain();
    options.checking = true;
    const std::string text = screen(failing_job(), options);
    EXPECT_TRUE(text.starts_with("pincheck: FAIL  pageable-async-copy at 2 sites\n")) << text;
}

TEST(Screen, says_of_a_failed_program_that_its_end_is_kept) {
    ScreenOptions options = plain();
    options.ending = "exits 7";
    const auto first_line = [&] {
        const std::string text = screen(failing_job(), options);
        return text.substr(0, text.find('\n'));
    };
    EXPECT_TRUE(first_line().ends_with(" 2 sites      (look only: exits 7, as the program did)")) << first_line();
    options.checking = true;
    EXPECT_TRUE(first_line().ends_with(" 2 sites                 (exits 7, as the program did)")) << first_line();
    options.ending = "dies by SIGTERM";
    EXPECT_TRUE(first_line().ends_with(" (dies by SIGTERM, as the program did)")) << first_line();
}

TEST(Screen, names_the_site_where_a_plain_show_counts_otherwise) {
    Job job = failing_job();
    std::swap(job.judgement.gated[0], job.judgement.gated[1]);
    ScreenOptions options = plain();
    EXPECT_EQ(next_of(screen(job, options)), "Next            pincheck show 1 ./pincheck-train-4127.pcr");
    options.plain_numbers = false;
    EXPECT_EQ(next_of(screen(job, options)), "Next            pincheck show s2 ./pincheck-train-4127.pcr");
}

TEST(Screen, heads_a_frame_by_its_innermost_line_that_is_not_the_runtimes) {
    Job job = failing_job();
    std::vector<SourceLine>& lines = job.site(1).stack[0].lines;
    lines.insert(lines.begin(), {"cudaMemcpyAsync<float>(float*)", "/c/cuda_runtime.h", 700, true});
    const std::string text = screen(job);
    EXPECT_NE(text.find("\n#1  src/meter.cu:41  Meter::update(float*) "), text.npos) << text;
    EXPECT_EQ(text.find("cuda_runtime.h"), text.npos) << text;
}

TEST(Screen, compares_with_the_run_where_its_length_is_known) {
    ScreenOptions options = plain();
    options.wall_ns = 250 * kSecond;
    Job job = failing_job();
    job.site(2).threads = 1;
    const std::string text = screen(job, options);
    EXPECT_NE(text.find(" | 250 s\n"), text.npos) << text;
    EXPECT_NE(text.find("These calls held the host 25.3 s of 250 s (10.1 %).\n"), text.npos) << text;
}

TEST(Screen, gives_no_share_of_time_that_was_added_up_over_threads) {
    const std::string text = screen(failing_job());
    EXPECT_EQ(text.find(" %)"), text.npos) << text;
}

TEST(Screen, names_devices_of_a_job_once) {
    Job job = failing_job();
    CaptureProcess second = process_sample();
    second.pid = 4128;
    job.capture().processes.push_back(second);
    second.devices[0].ordinal = 1;
    job.capture().processes.push_back(second);
    const std::string text = screen(job);
    EXPECT_NE(text.find("\n3 processes | 2 x NVIDIA H200, CUDA 13.0 | 214 s since"), text.npos) << text;
}

TEST(Screen, has_colours_only_when_asked_and_only_colours) {
    ScreenOptions options = plain();
    const std::string without = screen(failing_job(), options);
    EXPECT_EQ(without.find('\x1b'), without.npos);
    options.color = true;
    std::string with = screen(failing_job(), options);
    EXPECT_TRUE(with.starts_with("pincheck: \x1b[31;1mFAIL\x1b[0m  ")) << with;
    for (std::size_t at = with.find('\x1b'); at != with.npos; at = with.find('\x1b')) {
        with.erase(at, with.find('m', at) + 1 - at);
    }
    EXPECT_EQ(with, without);
}

TEST(Screen, shows_the_line_of_source_where_it_can_be_read) {
    const std::string folder = testing::TempDir() + "pincheck-render-source";
    ASSERT_EQ(std::system(("mkdir -p " + folder).c_str()), 0);
    std::ofstream(folder + "/step.cu") << "\n\t  cudaMemcpyAsync(a, b, n, kind, s);  \n";
    std::ofstream(folder + "/step.key") << "\nsecret\n";
    Job job = failing_job();
    CaptureProcess& process = job.capture().processes[0];
    process.working_directory = folder;
    process.start_realtime_ns = 0;
    SourceLine& line = job.site(1).stack[0].lines[0];
    line = {"step", "step.cu", 2, true};
    EXPECT_NE(screen(job).find("\n    cudaMemcpyAsync(a, b, n, kind, s);            D2H  4 B x 6,240   pageable\n"),
              std::string::npos)
        << screen(job);
    line.line = 7;
    EXPECT_EQ(screen(job).find("(a, b, n"), std::string::npos) << "no such line";
    line = {"step", "step.key", 2, true};
    EXPECT_EQ(screen(job).find("secret"), std::string::npos) << "not a source file";
    line = {"step", "step.cu", 2, true};
    process.start_realtime_ns = 1;
    EXPECT_EQ(screen(job).find("(a, b, n"), std::string::npos) << "changed after the program started";
    std::system(("rm -r " + folder).c_str());
}

TEST(Screen, is_short_where_nothing_is_known) {
    LoadResult loaded;
    const Judgement judgement{Verdict::no_conclusion, {}, {}, {"no report"}};
    EXPECT_EQ(first_screen(loaded, judgement, Origins(), {}),
              "pincheck: NO CONCLUSION  no report                      (look only: exit 0; --check exits 3)\n"
              "\n"
              "Next            pincheck explain blind\n");
}

TEST(VerdictLine, is_one_line) {
    Job job = failing_job();
    EXPECT_EQ(verdict_line(job.loaded, job.judgement, {}),
              "pincheck: FAIL  pageable-async-copy at 2 sites, 25.3 s held\n");
    job.capture().processes[0].rank = 3;
    EXPECT_EQ(verdict_line(job.loaded, job.judgement, {}),
              "pincheck: FAIL  pageable-async-copy at 2 sites, 25.3 s held (rank 3)\n");
    const Job passing = passing_job();
    EXPECT_EQ(verdict_line(passing.loaded, passing.judgement, {}),
              "pincheck: PASS  nothing gated in 15,204 CUDA calls\n");
    const Judgement blind{Verdict::no_conclusion, {}, {}, {"no report\nat all", "second"}};
    EXPECT_EQ(verdict_line({}, blind, {}), "pincheck: NO CONCLUSION  no report\\x0aat all\n");
}

TEST(VerdictLine, counts_each_rule) {
    Job job = failing_job();
    job.judgement.gated[1].rule = Rule::straddles_registration;
    EXPECT_EQ(verdict_line(job.loaded, job.judgement, {}),
              "pincheck: FAIL  pageable-async-copy at 1 site, straddles-registration at 1 site, 25.3 s held\n");
}

}  // namespace
}  // namespace pincheck::test
