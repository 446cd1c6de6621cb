// Reports of a job become one capture: what is added up, what is kept apart, and that it is quick.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "analyzer_sample.h"

namespace pincheck::test {
namespace {

using namespace report;
using report::test::count_calls;
using report::test::fill_sample;
using report::test::ImageOwner;
using report::test::make_image;
using report::test::TempFile;

void write(Image& image, const TempFile& file, FileState state = FileState::ended) {
    ASSERT_TRUE(image.snapshot(file.descriptor(), 10'000'001'000, state).written);
}

// A report of one process with `sites` pageable copies, loaded at `base`.
void write_process(const TempFile& file, std::uint64_t base, std::uint32_t pid, std::uint32_t sites,
                   std::uint64_t host_ns = 5'000) {
    const ImageOwner image(Image::create({}, pid, 1'000, 1'700'000'000'000'000'000 + pid));
    ProcessRecord process{};
    process.pid = pid;
    process.rank = kNoRank;
    process.command_line = image->add_string(std::string_view("./a\0-b\0", 7));
    image->add_process(process);
    const std::uint8_t build_id[] = {0xab, 0xcd};
    const std::uint32_t module = image->add_module(image->add_string("/bin/a"), base, base, base + 0x100000, build_id);
    SiteRecord record{};
    record.api = image->add_string("cudaMemcpyAsync");
    record.kind = SiteKind::copy;
    record.direction = Direction::host_to_device;
    record.source.kind = MemoryClass::pageable;
    record.destination.kind = MemoryClass::device;
    record.flags = kSiteAsync;
    CounterSlot* last = nullptr;
    for (std::uint32_t i = 1; i <= sites; ++i) {
        const Frame frames[] = {{module, 0, i * 16}, {module, 0, 0x9000}};
        record.stack = image->add_stack(frames, StackOrigin::unwound, false);
        last = count_calls(*image, last, image->add_site(record, frames), 1, 10, host_ns + i * 100);
    }
    write(*image, file);
}

TEST(Capture, keeps_orders_of_access_apart_and_what_is_known_of_the_memory) {
    const TempFile file;
    const ImageOwner image = make_image();
    SiteRecord record{};
    record.api = image->add_string("cuMemcpyBatchAsync_v2");
    record.kind = SiteKind::copy;
    CounterSlot* last = nullptr;
    for (const SourceOrder order : {SourceOrder::stream, SourceOrder::any}) {
        record.source_order = order;
        const std::uint32_t site = image->add_site(record, {});
        last = count_calls(*image, last, site, 1, 10, 100 + static_cast<unsigned>(order));
        if (order == SourceOrder::any) {
            image->add_memory(site, MemoryDetail::file, image->add_string("/data/weights"), 0);
            image->add_memory(site, MemoryDetail::stack, 0, 0);
            image->add_memory(site, MemoryDetail::boundary, 0, 4096);
        }
    }
    image->add_memory(999, MemoryDetail::stack, 0, 0);
    write(*image, file);
    const LoadResult loaded = load_capture({file.path()});
    ASSERT_EQ(loaded.capture.sites.size(), 2u);
    const CaptureSite& any = loaded.capture.sites[0];  // more time was spent in it
    EXPECT_EQ(any.source_order, SourceOrder::any);
    EXPECT_EQ(any.memory_file, "/data/weights");
    EXPECT_TRUE(any.memory_on_stack);
    EXPECT_EQ(any.memory_boundary, 4096u);
    const CaptureSite& stream = loaded.capture.sites[1];
    EXPECT_EQ(stream.source_order, SourceOrder::stream);
    EXPECT_EQ(stream.memory_file, "");
    EXPECT_FALSE(stream.memory_on_stack);
    EXPECT_EQ(stream.memory_boundary, 0u);
    // The detail of a site that the file does not have is said, and nothing else happens.
    ASSERT_EQ(loaded.capture.processes[0].problems.size(), 1u);
    EXPECT_NE(loaded.capture.processes[0].problems[0].find("memory details name a site"), std::string::npos);
}

TEST(Capture, shows_one_report_as_it_is) {
    const TempFile file;
    const ImageOwner image = make_image();
    fill_sample(*image);
    write(*image, file);
    const LoadResult loaded = load_capture({file.path()});
    EXPECT_TRUE(loaded.errors.empty());
    ASSERT_EQ(loaded.capture.processes.size(), 1u);
    const CaptureProcess& process = loaded.capture.processes[0];
    EXPECT_EQ(process.file, file.path());
    EXPECT_EQ(process.command_line, (std::vector<std::string>{"python", "train.py", "--epochs", "2"}));
    EXPECT_EQ(process.executable, "/usr/bin/python3");
    EXPECT_EQ(process.rank, 3u);
    EXPECT_TRUE(process.ended);
    EXPECT_EQ(process.duration_ns, 10'000'000'000u);
    EXPECT_EQ(process.cuda_calls, 6250u);
    EXPECT_EQ(process.devices.at(0).name, "NVIDIA H200");
    EXPECT_EQ(process.coverage.at(1).text, "lookup");
    EXPECT_EQ(process.losses.at(0).count, 3u);
    EXPECT_EQ(process.in_call.at(0).api, "cudaMemcpyAsync");
    EXPECT_EQ(process.in_call.at(0).name, "main");
    EXPECT_EQ(process.pinned_bytes, 1u << 20);
    EXPECT_EQ(process.pinned_ranges, 1u);

    ASSERT_EQ(loaded.capture.sites.size(), 2u);
    const CaptureSite& site = loaded.capture.sites[0];
    EXPECT_EQ(site.id, 1u);
    EXPECT_EQ(site.calls, 6250u);
    EXPECT_EQ(site.failed, 1u);
    EXPECT_EQ(site.last_error, 700u);
    EXPECT_EQ(site.bytes, 6250u * 4096);
    EXPECT_EQ(site.bytes_min, 4096u);
    EXPECT_EQ(site.host_ns, std::uint64_t{6240} * 3'200'000 + 9'000);
    EXPECT_EQ(site.host_ns_max, 3'200'000u);
    EXPECT_EQ(site.median_ns(), 2'097'152u);
    EXPECT_EQ(site.then_synchronized, 12u);
    EXPECT_EQ(site.first_ns, 1'000u) << "since the first CUDA call";
    EXPECT_EQ(site.threads, 2u);
    EXPECT_EQ(site.processes, 1u);
    EXPECT_EQ(site.allocation_site, 2u);
    ASSERT_EQ(site.stack.size(), 3u);
    EXPECT_EQ(loaded.capture.modules[site.stack[0].module].path, "/usr/lib/libtorch_cuda.so");
    EXPECT_EQ(loaded.capture.modules[site.stack[1].module].build_id, "deadbeef01");
    EXPECT_EQ(site.stack[2].module, CaptureFrame::kNoModule);
    const CaptureSite& allocation = loaded.capture.sites[1];
    EXPECT_EQ(allocation.calls, 0u);
    EXPECT_EQ(allocation.bytes_min, 0u);
    EXPECT_EQ(allocation.first_ns, 0u);
    EXPECT_EQ(allocation.median_ns(), 0u);
    EXPECT_TRUE(allocation.stack_cut);
}

TEST(Capture, adds_up_processes_wherever_their_modules_lie) {
    const TempFile first;
    const TempFile second;
    write_process(first, 0x400000, 1, 3);
    write_process(second, 0x7f0000000000, 2, 2);
    const Capture capture = load_capture({first.path(), second.path()}).capture;
    ASSERT_EQ(capture.sites.size(), 3u);
    EXPECT_EQ(capture.modules.size(), 1u);
    EXPECT_EQ(capture.sites[0].stack[0].offset, 32u) << "worst first";
    EXPECT_EQ(capture.sites[0].calls, 20u);
    EXPECT_EQ(capture.sites[0].processes, 2u);
    EXPECT_EQ(capture.sites[0].threads, 2u);
    EXPECT_EQ(capture.sites[2].stack[0].offset, 48u);
    EXPECT_EQ(capture.sites[2].processes, 1u);
    EXPECT_EQ(capture.total_host_ns(), 20u * 5'100 + 20u * 5'200 + 10u * 5'300);
}

TEST(Capture, numbers_sites_alike_in_whatever_order_files_come) {
    const TempFile first;
    const TempFile second;
    write_process(first, 0x400000, 1, 30, 0);
    write_process(second, 0x400000, 2, 40, 0);
    const Capture one = load_capture({first.path(), second.path()}).capture;
    const Capture other = load_capture({second.path(), first.path(), second.path()}).capture;
    ASSERT_EQ(one.sites.size(), other.sites.size());
    for (std::size_t i = 0; i < one.sites.size(); ++i) {
        EXPECT_EQ(one.sites[i].stack[0].offset, other.sites[i].stack[0].offset);
        EXPECT_EQ(one.sites[i].calls, other.sites[i].calls) << "a file named twice counts once";
    }
    EXPECT_EQ(one.processes[0].pid, 1u);
    EXPECT_EQ(other.processes[0].pid, 1u);
}

TEST(Capture, keeps_apart_what_differs_in_anything_that_makes_a_site) {
    const TempFile file;
    const ImageOwner image = make_image();
    const std::uint32_t module = image->add_module(image->add_string("/bin/a"), 0, 0, 1, {});
    const Frame frames[] = {{module, 0, 1}, {module, 0, 2}};
    const std::uint32_t stacks[] = {image->add_stack(frames, StackOrigin::unwound, false),
                                    image->add_stack(std::span(frames).first(1), StackOrigin::unwound, false)};
    SiteRecord base{};
    base.api = image->add_string("cudaMemcpyAsync");
    base.stack = stacks[0];
    base.kind = SiteKind::copy;
    std::vector<SiteRecord> sites(10, base);
    sites[1].api = image->add_string("cuMemcpyAsync");
    sites[2].direction = Direction::device_to_host;
    sites[3].stream = StreamKind::created;
    sites[4].source.kind = MemoryClass::pinned;
    sites[5].source.flags = kMemoryMapped;
    sites[6].destination.kind = MemoryClass::pinned;
    sites[7].flags = kSiteCaptured;
    sites[8].stack = stacks[1];
    sites[9] = base;  // the same again, as another record
    CounterSlot* last = nullptr;
    for (const SiteRecord& site : sites) {
        last = count_calls(*image, last, image->add_site(site, {}), 1, 1, 100);
    }
    write(*image, file);
    const Capture capture = load_capture({file.path()}).capture;
    EXPECT_EQ(capture.sites.size(), 9u);
    EXPECT_EQ(capture.sites[0].calls, 2u);
}

TEST(Capture, takes_slots_that_a_live_writer_has_not_filled) {
    const TempFile file;
    const ImageOwner image = make_image();
    fill_sample(*image);
    CounterSlot* empty = image->new_counter(nullptr);
    store(empty->bytes_min, UINT64_MAX);
    CounterSlot* half = count_calls(*image, nullptr, 0, 0, 5, 100);
    ASSERT_NE(half, nullptr);
    image->new_thread();
    image->new_range();
    write(*image, file, FileState::running);
    const Capture capture = load_capture({file.path()}).capture;
    EXPECT_FALSE(capture.processes.at(0).ended);
    EXPECT_TRUE(capture.processes[0].problems.empty());
    EXPECT_EQ(capture.sites.at(0).calls, 6250u);
}

TEST(Capture, takes_a_folder_for_the_reports_in_it) {
    const TempFile first;
    write_process(first, 0x400000, 1, 1);
    const std::string folder = std::filesystem::path(first.path()).parent_path();
    const std::string note = folder + "/notes.txt";
    close(open(note.c_str(), O_CREAT | O_WRONLY, 0600));
    const LoadResult loaded = load_capture({folder});
    unlink(note.c_str());
    EXPECT_TRUE(loaded.errors.empty());
    EXPECT_EQ(loaded.capture.processes.size(), 1u);
}

TEST(Capture, says_which_files_cannot_be_read_and_uses_the_others) {
    const TempFile empty;
    const TempFile good;
    write_process(good, 0x400000, 1, 1);
    const LoadResult loaded = load_capture({"/nonexistent.pcr", empty.path(), good.path()});
    ASSERT_EQ(loaded.errors.size(), 2u);
    EXPECT_NE(loaded.errors[0].find("/nonexistent.pcr"), std::string::npos);
    EXPECT_NE(loaded.errors[1].find("is empty"), std::string::npos);
    EXPECT_EQ(loaded.capture.processes.size(), 1u);
    std::string folder = testing::TempDir() + "pincheck-empty-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const LoadResult none = load_capture({folder});
    rmdir(folder.c_str());
    ASSERT_EQ(none.errors.size(), 1u);
    EXPECT_TRUE(none.errors[0].starts_with("no report (*.pcr) in ")) << none.errors[0];
}

// The budget is 2 s for 1,000 reports with everything on an idle machine; here, reading one file over and over would be
// deduplicated, so copies are made. Sanitizers and busy machines get room: this test is about growth, not speed.
TEST(Capture, memory_and_time_grow_with_sites_and_not_with_reports) {
    const TempFile sample;
    write_process(sample, 0x400000, 1, 200);
    std::string folder = testing::TempDir() + "pincheck-many-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    constexpr int kReports = 1000;
    for (int i = 0; i < kReports; ++i) {
        std::filesystem::create_hard_link(sample.path(), folder + "/" + std::to_string(i) + ".pcr");
    }
    const auto start = std::chrono::steady_clock::now();
    const Capture capture = load_capture({folder}).capture;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::filesystem::remove_all(folder);
    EXPECT_EQ(capture.processes.size(), static_cast<std::size_t>(kReports));
    ASSERT_EQ(capture.sites.size(), 200u);
    EXPECT_EQ(capture.sites[0].calls, 10u * kReports);
    EXPECT_EQ(capture.modules.size(), 1u);
    RecordProperty("seconds", std::to_string(took.count()));
    std::printf("1,000 reports of 200 sites: %.2f s\n", took.count());
    EXPECT_LT(took.count(), 30);
}

}  // namespace
}  // namespace pincheck::test
