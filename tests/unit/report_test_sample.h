// A report with one of everything, all values fixed, and files to put it in. Shared by the report tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "report/image.h"
#include "report/reader.h"

namespace pincheck::report::test {

struct DestroyImage {
    void operator()(Image* image) const { Image::destroy(image); }
};
using ImageOwner = std::unique_ptr<Image, DestroyImage>;

inline ImageOwner make_image(const ImageLimits& limits = {}) {
    return ImageOwner(Image::create(limits, 4127, 1'000, 1'700'000'000'000'000'000));
}

// A file of its own folder, removed at the end.
class TempFile {
  public:
    TempFile() {
        std::string folder = testing::TempDir() + "pincheck-report-XXXXXX";
        if (mkdtemp(folder.data()) != nullptr) {
            folder_ = folder;
        }
        path_ = folder_ + "/sample.pcr";
        descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        EXPECT_GE(descriptor_, 0);
    }
    ~TempFile() {
        close(descriptor_);
        unlink(path_.c_str());
        rmdir(folder_.c_str());
    }
    TempFile(const TempFile&) = delete;
    TempFile& operator=(const TempFile&) = delete;

    int descriptor() const { return descriptor_; }
    const std::string& path() const { return path_; }
    std::vector<std::uint8_t> bytes() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    std::string folder_;
    std::string path_;
    int descriptor_ = -1;
};

inline ReadResult read_bytes(const std::vector<std::uint8_t>& bytes) {
    return read_report(bytes.data(), bytes.size(), "sample.pcr");
}

// What fill_sample() made, to compare with what a reader finds.
struct Sample {
    std::uint32_t site = 0;
    std::uint32_t other_site = 0;
    CounterSlot* first = nullptr;
    CounterSlot* second = nullptr;
    RangeSlot* range = nullptr;
    RangeSlot* freed = nullptr;
    ThreadSlot* thread = nullptr;
    std::uint32_t stream = 0;
};

inline CounterSlot* count_calls(Image& image, CounterSlot* last, std::uint32_t site, std::uint32_t thread,
                                std::uint64_t calls, std::uint64_t host_ns) {
    CounterSlot* slot = image.new_counter(last);
    if (slot == nullptr) {
        return nullptr;
    }
    store(slot->site, site);
    store(slot->thread, thread);
    store(slot->size_class, size_class(4096));
    store(slot->bytes, calls * 4096);
    store(slot->host_ns, calls * host_ns);
    store(slot->host_ns_max, host_ns);
    store(slot->bytes_min, std::uint64_t{4096});
    store(slot->bytes_max, std::uint64_t{4096});
    store(slot->first_ns, std::uint64_t{2'000});
    store(slot->last_ns, std::uint64_t{9'000});
    store(slot->histogram[histogram_bucket(host_ns)], calls);
    return slot;
}

inline Sample fill_sample(Image& image) {
    Sample sample;
    ProcessRecord process{};
    process.pid = 4127;
    process.parent_pid = 1;
    process.executable = image.add_string("/usr/bin/python3");
    process.command_line = image.add_string(std::string_view("python\0train.py\0--epochs\0002\0", 27));
    process.working_directory = image.add_string("/home/user/job");
    process.host = image.add_string("node7");
    process.options = image.add_string("races=off");
    process.tool_version = image.add_string("0.1.0");
    process.rank = 3;
    image.add_process(process);

    DeviceRecord device{};
    device.name = image.add_string("NVIDIA H200");
    device.driver_version = 13000;
    device.async_engines = 3;
    image.add_device(device);
    image.add_coverage(CoverageKind::library, image.add_string("/usr/lib/libcuda.so.1"), 1'100);
    image.add_coverage(CoverageKind::route, image.add_string("lookup"), 1'200);

    const std::uint8_t build_id[] = {0xde, 0xad, 0xbe, 0xef, 0x01};
    const std::uint32_t program =
        image.add_module(image.add_string("/usr/bin/python3"), 0x400000, 0x400000, 0x500000, build_id);
    const std::uint32_t library = image.add_module(image.add_string("/usr/lib/libtorch_cuda.so"), 0x7f0000000000,
                                                   0x7f0000000000, 0x7f0000100000, {});
    const Frame frames[] = {{library, 0, 0x1234}, {program, 0, 0x20}, {0, 0, 0x7ffe00000010}};
    const std::uint32_t stack = image.add_stack(frames, StackOrigin::unwound, false);
    const std::uint32_t short_stack = image.add_stack(std::span(frames).first(1), StackOrigin::return_address, true);

    SiteRecord copy{};
    copy.api = image.add_string("cudaMemcpyAsync");
    copy.stack = stack;
    copy.kind = SiteKind::copy;
    copy.direction = Direction::host_to_device;
    copy.stream = StreamKind::created;
    copy.destination.kind = MemoryClass::device;
    copy.source.kind = MemoryClass::pageable;
    copy.flags = kSiteAsync | kSiteExactStack;
    sample.site = image.add_site(copy, std::span(frames).first(2));
    SiteRecord allocate{};
    allocate.api = image.add_string("cuMemHostAlloc");
    allocate.stack = short_stack;
    allocate.kind = SiteKind::allocate;
    allocate.destination.kind = MemoryClass::pinned;
    allocate.destination.flags = kMemoryFlagsKnown | kMemoryPortable | kMemoryWriteCombined;
    sample.other_site = image.add_site(allocate, std::span(frames).first(1));

    sample.first = count_calls(image, nullptr, sample.site, 1, 6240, 3'200'000);
    store(sample.first->allocation_site, sample.other_site);
    store(sample.first->then_synchronized, std::uint64_t{12});
    sample.second = count_calls(image, nullptr, sample.site, 2, 10, 900);
    store(sample.second->failed, std::uint64_t{1});
    store(sample.second->last_error, std::uint32_t{700});
    store(sample.second->state, SlotState::ended);

    sample.freed = image.new_range();
    store(sample.freed->address, std::uint64_t{0x1000});
    sample.range = image.new_range();
    store(sample.range->kind, RangeKind::pinned);
    store(sample.range->address, std::uint64_t{0x7f1000000000});
    store(sample.range->bytes, std::uint64_t{1} << 20);
    store(sample.range->requested_flags, std::uint32_t{1});
    store(sample.range->site, sample.other_site);
    store(sample.range->thread, std::uint32_t{1});
    store(sample.range->created_ns, std::uint64_t{1'500});
    image.free_range(sample.freed);

    sample.thread = image.new_thread();
    store(sample.thread->thread, std::uint32_t{1});
    store(sample.thread->tid, std::uint32_t{4127});
    store(sample.thread->threads, std::uint32_t{1});
    store(sample.thread->started_ns, std::uint64_t{1'050});
    store(sample.thread->in_call_since_ns, std::uint64_t{9'500});
    store(sample.thread->in_call_api, copy.api);
    store(sample.thread->calls, std::uint64_t{6241});
    std::memcpy(sample.thread->name, "main", 4);

    StreamRecord stream{};
    stream.site = sample.other_site;
    stream.context = 1;
    stream.handle = 0x7f00aa00;
    stream.kind = StreamKind::created;
    stream.flags = kStreamNonBlocking;
    sample.stream = image.add_stream(stream);
    stream.kind = StreamKind::legacy_default;
    stream.site = 0;
    stream.flags = 0;
    stream.handle = 1;
    stream.device = kNoDevice;
    const std::uint32_t other_stream = image.add_stream(stream);

    WaitSlot* wait = image.new_wait();
    store(wait->cause, WaitCause::earlier_work);
    store(wait->site, sample.site);
    store(wait->thread, std::uint32_t{1});
    store(wait->calls, std::uint64_t{6000});
    store(wait->ns, std::uint64_t{19'000'000'000});
    store(wait->ns_max, std::uint64_t{3'200'000});
    store(wait->first_ns, std::uint64_t{2'000});
    store(wait->last_ns, std::uint64_t{9'000});
    store(wait->evidence, WaitEvidence::order);
    store(wait->stream, sample.stream);
    store(wait->behind_site, sample.other_site);
    store(wait->kernel, image.add_string("step(float*)"));
    store(wait->items, std::uint64_t{17});
    store(wait->delayed_streams[0], other_stream);

    TransferSlot* transfer = image.new_transfer();
    store(transfer->size_class, size_class(4096));
    store(transfer->site, sample.site);
    store(transfer->copies, std::uint64_t{6200});
    store(transfer->bytes, std::uint64_t{6200} * 4096);
    store(transfer->device_ns, std::uint64_t{6200} * 2'000);
    store(transfer->device_ns_min, std::uint64_t{1'900});
    store(transfer->device_ns_max, std::uint64_t{2'500});
    store(transfer->calls, std::uint64_t{6200});
    store(transfer->host_ns, std::uint64_t{6200} * 3'200'000);
    store(transfer->completion_ns, std::uint64_t{6200} * 3'201'000);
    store(transfer->before_ns, std::uint64_t{6200} * 3'198'000);
    store(transfer->during_ns, std::uint64_t{6200} * 2'000);
    store(transfer->returned_early, std::uint64_t{3});

    RaceSlot* race = image.new_race();
    store(race->rule, RaceRule::source_overwritten_in_flight);
    store(race->copy_site, sample.site);
    store(race->pin_site, sample.other_site);
    store(race->wait_site, sample.other_site);
    store(race->after_site, sample.site);
    store(race->before_site, sample.other_site);
    store(race->stream, sample.stream);
    store(race->other_stream, other_stream);
    store(race->level, RaceLevel::watch);
    store(race->flags, static_cast<std::uint16_t>(kRaceInSystemCall | kRaceByChecksum));
    store(race->call, image.add_string("read"));
    store(race->count, std::uint64_t{60});
    store(race->corrupting, std::uint64_t{50});
    store(race->latent, std::uint64_t{7});
    store(race->first_ns, std::uint64_t{2'500});
    store(race->last_ns, std::uint64_t{8'500});
    store(race->address, std::uint64_t{0x7f1000000000});
    store(race->copy_bytes, std::uint64_t{4096});
    store(race->begin, std::uint64_t{64});
    store(race->end, std::uint64_t{128});
    store(race->thread, std::uint32_t{1});
    store(race->other_thread, std::uint32_t{2});
    store(race->graph_launches, std::uint64_t{3});

    image.lose(Loss::write_failed, 2, 28, 5'000);
    image.lose(Loss::write_failed, 1, 0, 6'000);
    return sample;
}

}  // namespace pincheck::report::test
