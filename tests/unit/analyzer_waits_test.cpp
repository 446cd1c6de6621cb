// Waits, sizes, the device's times and streams of several reports become one capture.
#include <gtest/gtest.h>

#include "analyzer/capture.h"
#include "analyzer/capture_waits.h"
#include "report_test_sample.h"

namespace pincheck::report::test {
namespace {

// The site of one call, by its API and the offset of its only frame.
std::uint32_t add_site(Image& image, const char* api, SiteKind kind, std::uint64_t offset) {
    SiteRecord record{};
    record.api = image.add_string(api);
    record.kind = kind;
    const std::uint32_t module = image.add_module(image.add_string("/bin/a"), 0, 0, 0x1000, {});
    const Frame frame{module, 0, offset};
    record.stack = image.add_stack({&frame, 1}, StackOrigin::unwound, false);
    return image.add_site(record, {&frame, 1});
}

CounterSlot* count(Image& image, CounterSlot* last, std::uint32_t site, std::uint64_t bytes, std::uint64_t calls,
                   std::uint64_t host_ns) {
    CounterSlot* slot = count_calls(image, last, site, 1, calls, host_ns);
    store(slot->size_class, size_class(bytes));
    store(slot->bytes, calls * bytes);
    store(slot->bytes_min, bytes);
    store(slot->bytes_max, bytes);
    return slot;
}

WaitSlot* add_wait(Image& image, std::uint32_t site, std::uint32_t thread, WaitCause cause, WaitEvidence evidence,
                   std::uint64_t calls, std::uint64_t ns_max) {
    WaitSlot* slot = image.new_wait();
    store(slot->site, site);
    store(slot->thread, thread);
    store(slot->cause, cause);
    store(slot->evidence, evidence);
    store(slot->calls, calls);
    store(slot->ns, calls * ns_max);
    store(slot->ns_max, ns_max);
    store(slot->first_ns, std::uint64_t{2'000});
    store(slot->last_ns, std::uint64_t{9'000});
    return slot;
}

// A process that waits: thread 1 for `ns` behind the copy, thread 2 less. Its streams are created at their own site.
void write_process(const TempFile& file, std::uint32_t pid, std::uint64_t ns) {
    const ImageOwner image(Image::create({}, pid, 1'000, 1'700'000'000'000'000'000 + pid));
    ProcessRecord process{};
    process.pid = pid;
    process.rank = kNoRank;
    image->add_process(process);
    const std::uint32_t copy = add_site(*image, "cudaMemcpyAsync", SiteKind::copy, 0x10);
    const std::uint32_t free = add_site(*image, "cudaFree", SiteKind::release, 0x20);
    const std::uint32_t create = add_site(*image, "cudaStreamCreate", SiteKind::stream_setup, 0x30);
    CounterSlot* last = count(*image, nullptr, copy, 1 << 20, 10, 50'000);
    last = count(*image, last, copy, 4, 5, 2'000);
    last = count(*image, last, free, 0, 30, 40'000);
    StreamRecord stream{};
    stream.kind = StreamKind::legacy_default;
    image->add_stream(stream);
    stream.kind = StreamKind::created;
    stream.site = create;
    stream.flags = kStreamNonBlocking;
    stream.context = 1;
    stream.device = kNoDevice;
    const std::uint32_t second = image->add_stream(stream);
    WaitSlot* wait = add_wait(*image, free, 1, WaitCause::device_wide, WaitEvidence::order, 3, ns);
    store(wait->stream, second);
    store(wait->behind_site, copy);
    store(wait->kernel, image->add_string("kernel of " + std::to_string(pid)));
    store(wait->delayed_streams[0], second);
    wait = add_wait(*image, free, 2, WaitCause::device_wide, WaitEvidence::order, 2, ns / 2);
    store(wait->delayed_streams[0], std::uint32_t{1});
    store(wait->delayed_streams[1], std::uint32_t{999});  // of no record
    add_wait(*image, free, 2, WaitCause::lock, WaitEvidence::device, 1, 7);
    add_wait(*image, free, 3, WaitCause::idle_sync, WaitEvidence::order, 1, 7);
    add_wait(*image, 999, 1, WaitCause::lock, WaitEvidence::order, 1, 7);
    image->new_wait();  // not filled in yet
    TransferSlot* transfer = image->new_transfer();
    store(transfer->site, copy);
    store(transfer->size_class, size_class(1 << 20));
    store(transfer->copies, std::uint64_t{10});
    store(transfer->bytes, std::uint64_t{10} << 20);
    store(transfer->device_ns, ns);
    store(transfer->device_ns_min, ns / 20);
    store(transfer->device_ns_max, ns / 5);
    store(transfer->calls, std::uint64_t{10});
    store(transfer->host_ns, std::uint64_t{500'000});
    store(transfer->completion_ns, std::uint64_t{1'000'000});
    store(transfer->before_ns, std::uint64_t{300'000});
    store(transfer->during_ns, std::uint64_t{200'000});
    store(transfer->returned_early, std::uint64_t{4});
    ASSERT_TRUE(image->snapshot(file.descriptor(), 10'000'001'000, FileState::ended).written);
}

const CaptureSite& site_of(const Capture& capture, const std::string& api) {
    for (const CaptureSite& site : capture.sites) {
        if (site.api == api) {
            return site;
        }
    }
    ADD_FAILURE() << api;
    return capture.sites.at(0);
}

TEST(CaptureWaits, add_up_over_threads_and_processes) {
    const TempFile first;
    const TempFile second;
    write_process(first, 1, 1'000);
    write_process(second, 2, 4'000);
    // In whatever order the files come.
    for (const std::vector<std::string>& files :
         {std::vector{first.path(), second.path()}, std::vector{second.path(), first.path()}}) {
        const Capture capture = load_capture(files).capture;
        const CaptureSite& free = site_of(capture, "cudaFree");
        ASSERT_EQ(free.waits.size(), 3u) << "by cause and evidence";
        const CaptureWait& wait = free.waits[0];
        EXPECT_EQ(wait.cause, WaitCause::device_wide);
        EXPECT_EQ(wait.evidence, WaitEvidence::order);
        EXPECT_EQ(wait.calls, 10u);
        EXPECT_EQ(wait.ns, 3 * 1'000u + 2 * 500u + 3 * 4'000u + 2 * 2'000u);
        EXPECT_EQ(wait.ns_max, 4'000u);
        EXPECT_EQ(wait.first_ns, 1'000u) << "since the first CUDA call";
        EXPECT_EQ(wait.last_ns, 8'000u);
        EXPECT_EQ(wait.threads, 4u);
        EXPECT_EQ(wait.kernel, "kernel of 2") << "of the longest call";
        EXPECT_EQ(wait.behind_site, site_of(capture, "cudaMemcpyAsync").id);
        EXPECT_EQ(free.threads_held, 4u) << "not those that waited for nothing";
        ASSERT_EQ(capture.streams.size(), 4u);
        EXPECT_EQ(wait.stream, 4u);
        EXPECT_EQ(wait.delayed_streams, (std::vector<std::uint32_t>{1, 2, 3, 4}));
    }
}

TEST(CaptureWaits, keep_streams_of_processes_apart) {
    const TempFile first;
    const TempFile second;
    write_process(second, 2, 4'000);
    write_process(first, 1, 1'000);
    const Capture capture = load_capture({second.path(), first.path()}).capture;
    ASSERT_EQ(capture.streams.size(), 4u);
    for (std::uint32_t i = 0; i < 4; ++i) {
        const CaptureStream& stream = capture.streams[i];
        EXPECT_EQ(stream.id, i + 1);
        EXPECT_EQ(capture.processes.at(stream.process).pid, i / 2 + 1);
        EXPECT_EQ(stream.kind, i % 2 == 0 ? StreamKind::legacy_default : StreamKind::created);
        EXPECT_EQ(stream.site, i % 2 == 0 ? 0 : site_of(capture, "cudaStreamCreate").id);
        EXPECT_EQ(stream.non_blocking, i % 2 == 1);
    }
    EXPECT_EQ(capture.streams[1].device, kNoDevice);
    EXPECT_EQ(capture.streams[1].context, 1u);
}

TEST(CaptureWaits, keep_sizes_apart_and_add_up_the_devices_times) {
    const TempFile first;
    const TempFile second;
    write_process(first, 1, 1'000);
    write_process(second, 2, 4'000);
    const Capture capture = load_capture({first.path(), second.path()}).capture;
    const CaptureSite& copy = site_of(capture, "cudaMemcpyAsync");
    EXPECT_EQ(copy.calls, 30u);
    ASSERT_EQ(copy.sizes.size(), 2u);
    EXPECT_EQ(copy.sizes[0].size_class, size_class(4));
    EXPECT_EQ(copy.sizes[0].calls, 10u);
    EXPECT_EQ(copy.sizes[0].bytes_max, 4u);
    EXPECT_EQ(copy.sizes[1].calls, 20u);
    EXPECT_EQ(copy.sizes[1].bytes_min, 1u << 20);
    EXPECT_EQ(copy.sizes[1].host_ns, 20 * 50'000u);
    EXPECT_EQ(copy.sizes[1].median_bucket(), histogram_bucket(50'000));
    EXPECT_EQ(CaptureSize().median_bucket(), kHistogramBuckets);
    ASSERT_EQ(copy.transfers.size(), 1u);
    const CaptureTransfer& transfer = copy.transfers[0];
    EXPECT_EQ(transfer.size_class, size_class(1 << 20));
    EXPECT_EQ(transfer.copies, 20u);
    EXPECT_EQ(transfer.device_ns, 5'000u);
    EXPECT_EQ(transfer.device_ns_min, 50u);
    EXPECT_EQ(transfer.device_ns_max, 800u);
    EXPECT_EQ(transfer.host_ns, 1'000'000u);
    EXPECT_EQ(transfer.completion_ns, 2'000'000u);
    EXPECT_EQ(transfer.before_ns, 600'000u);
    EXPECT_EQ(transfer.during_ns, 400'000u);
    EXPECT_EQ(transfer.returned_early, 8u);
}

TEST(KernelNames, are_demangled_where_that_cannot_grow_without_bounds) {
    EXPECT_EQ(kernel_name("_Z4holdPVi"), "hold(int volatile*)");
    EXPECT_EQ(kernel_name("main_kernel"), "main_kernel");
    EXPECT_EQ(kernel_name(""), "");
    // Each level names the one before twice: demangled this would be some 2^60 characters.
    std::string hostile = "_Z1fSt4pairIiiE";
    for (int level = 0; level < 60; ++level) {
        const std::string before = level == 0 ? "S0_" : "S" + std::to_string(level % 10) + "_";
        hostile += "St4pairI" + before + before + "E";
    }
    EXPECT_EQ(kernel_name(hostile), hostile);
}

}  // namespace
}  // namespace pincheck::report::test
