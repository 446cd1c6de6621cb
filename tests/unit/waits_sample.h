// A job that waits in every way, as the recorder would have written it; no file is read. Shared by the tests of waits.
#pragma once

#include <string>
#include <vector>

#include "analyzer/capture.h"
#include "render_test_sample.h"

namespace pincheck::test {

inline CaptureWait wait_sample(report::WaitCause cause, std::uint64_t calls, std::uint64_t each_ns,
                               report::WaitEvidence evidence = report::WaitEvidence::order) {
    CaptureWait wait;
    wait.cause = cause;
    wait.evidence = evidence;
    wait.calls = calls;
    wait.ns = calls * each_ns;
    wait.ns_max = 2 * each_ns;
    wait.threads = 1;
    return wait;
}

// A call that is no copy, of the user's function `step` at x.cu:LINE.
inline CaptureSite call_sample(std::uint32_t id, report::SiteKind kind, const std::string& api, std::uint64_t calls,
                               std::uint64_t ns, std::uint32_t line) {
    CaptureSite site;
    site.id = id;
    site.kind = kind;
    site.api = api;
    site.calls = calls;
    site.host_ns = calls * ns;
    site.host_ns_max = 2 * ns;
    site.first_ns = kMs;
    site.last_ns = 200 * kSecond;
    site.histogram[report::histogram_bucket(ns)] = calls;
    site.threads = site.processes = 1;
    site.stack = {frame_sample(0, 0x1000 + line, "step", "/home/u/src/x.cu", line)};
    return site;
}

// One size of a site, by its own numbers.
inline CaptureSize size_sample(const CaptureSite& site) {
    CaptureSize size;
    size.size_class = report::size_class(site.bytes_max);
    size.calls = site.calls;
    size.failed = site.failed;
    size.bytes = site.bytes;
    size.bytes_min = site.bytes_min;
    size.bytes_max = site.bytes_max;
    size.host_ns = site.host_ns;
    size.host_ns_max = site.host_ns_max;
    std::copy(std::begin(site.histogram), std::end(site.histogram), std::begin(size.histogram));
    return size;
}

// The device's times of all of a site's copies: each from `completion_ns` in all, `device_ns` of it on the device.
inline CaptureTransfer transfer_sample(const CaptureSite& site, std::uint64_t device_ns, std::uint64_t completion_ns) {
    CaptureTransfer transfer;
    transfer.size_class = report::size_class(site.bytes_max);
    transfer.copies = transfer.calls = site.calls;
    transfer.bytes = site.bytes;
    transfer.device_ns = site.calls * device_ns;
    transfer.device_ns_min = transfer.device_ns_max = device_ns;
    transfer.host_ns = site.host_ns;
    transfer.completion_ns = site.calls * completion_ns;
    return transfer;
}

// Sites 1 and 2: pageable copies with what they waited for. From site 3 on: one hidden wait of each cause.
inline Capture waiting_capture() {
    using report::Direction;
    using report::MemoryClass;
    using report::SiteKind;
    using report::WaitCause;
    using report::WaitEvidence;
    Capture capture;
    capture.processes = {process_sample()};
    capture.processes[0].coverage.push_back({report::CoverageKind::device_times, "libcupti.so.13, of copies"});
    capture.modules = modules_sample();
    capture.modules.push_back({"/opt/lib/libtmpl.so", "ee55"});
    const auto add = [&](CaptureSite site) -> CaptureSite& {
        site.id = static_cast<std::uint32_t>(capture.sites.size() + 1);
        capture.sites.push_back(std::move(site));
        return capture.sites.back();
    };
    capture.sites.reserve(32);

    CaptureSite& loss = add(site_sample(1, Direction::device_to_host, MemoryClass::pageable, 6'240, 4, 3'173'077));
    loss.stack = {frame_sample(0, 0x1234, "Meter::update(float*)", "/home/u/src/meter.cu", 41)};
    loss.threads = loss.threads_held = 8;
    loss.sizes = {size_sample(loss)};
    loss.waits = {wait_sample(WaitCause::earlier_work, 6'000, 3'100'000, WaitEvidence::device),
                  wait_sample(WaitCause::staging, 240, 5'000'000, WaitEvidence::device)};
    loss.waits[0].threads = 8;
    loss.waits[0].stream = 1;
    loss.waits[0].behind_site = 2;
    loss.waits[0].kernel = "train_step(float*)";
    loss.waits[0].delayed_streams = {2, 3};
    CaptureSite& batch = add(site_sample(2, Direction::host_to_device, MemoryClass::pageable, 6'240, 1 << 20, 881'410));
    batch.stack = {frame_sample(0, 0x2345, "to_device", "/opt/lib/data.cpp", 88), frame_sample(0, 0x9999, "main")};
    batch.sizes = {size_sample(batch)};
    batch.waits = {wait_sample(WaitCause::staging, 6'240, 881'410, WaitEvidence::device)};
    batch.transfers = {transfer_sample(batch, 300'000, 883'000)};
    batch.transfers[0].before_ns = 6'240ULL * 500'000;
    batch.transfers[0].during_ns = 6'240ULL * 300'000;
    batch.transfers[0].returned_early = 12;

    CaptureSite& free = add(call_sample(0, SiteKind::release, "cudaFree", 100, 3 * kMs, 10));
    free.waits = {wait_sample(WaitCause::device_wide, 80, 3 * kMs)};
    free.waits[0].behind_site = 2;
    free.waits[0].stream = 1;
    CaptureSite& launch = add(call_sample(0, SiteKind::launch, "cudaLaunchKernel", 479, 200'000, 20));
    launch.waits = {wait_sample(WaitCause::queue_full, 479, 200'000, WaitEvidence::device)};
    launch.waits[0].items = 1'021;
    launch.waits[0].stream = 2;
    CaptureSite& legacy = add(call_sample(0, SiteKind::synchronize, "cudaStreamSynchronize", 50, kMs, 30));
    legacy.waits = {wait_sample(WaitCause::legacy_stream, 50, kMs)};
    legacy.waits[0].stream = 3;
    CaptureSite& host = add(site_sample(0, Direction::host_to_host, MemoryClass::pageable, 10, 1 << 20, 30 * kMs));
    host.api = "cudaMemcpy";
    host.source = host.destination = {MemoryClass::pageable, 0, 0};
    host.flags = 0;
    host.stack = {frame_sample(0, 0x1040, "step", "/home/u/src/x.cu", 40)};
    host.waits = {wait_sample(WaitCause::host_to_host, 10, 30 * kMs, WaitEvidence::call)};
    CaptureSite& lock = add(call_sample(0, SiteKind::launch, "cudaLaunchKernel", 30, 8 * kMs, 50));
    lock.waits = {wait_sample(WaitCause::lock, 30, 8 * kMs, WaitEvidence::call)};
    lock.waits[0].behind_site = 10;
    // The same library call of the same user's frame, at two places of the library.
    for (const std::uint64_t offset : {0x100, 0x200}) {
        CaptureSite& idle = add(call_sample(0, SiteKind::synchronize, "cudaStreamSynchronize", 90'000, 3'000, 60));
        idle.stack.insert(idle.stack.begin(), frame_sample(2, offset, "at::reduce"));
        idle.waits = {wait_sample(WaitCause::idle_sync, 60'000, 3'000)};
    }
    CaptureSite& pin = add(call_sample(0, SiteKind::allocate, "cudaMallocHost", 14, 26 * kMs, 70));
    pin.waits = {wait_sample(WaitCause::pinning, 14, 26 * kMs, WaitEvidence::call),
                 wait_sample(WaitCause::unknown, 10, 30 * kMs)};
    CaptureSite& plain = add(call_sample(0, SiteKind::synchronize, "cudaDeviceSynchronize", 6'000, 30 * kMs, 80));
    plain.waits = {wait_sample(WaitCause::requested, 6'000, 30 * kMs)};
    CaptureSite& load = add(call_sample(0, SiteKind::launch, "cudaLaunchKernel", 3, 4 * kMs, 90));
    load.waits = {wait_sample(WaitCause::module_loading, 3, 4 * kMs, WaitEvidence::device)};
    // Page-locked uploads of the same size, which tell what pinning would save.
    CaptureSite& pinned = add(site_sample(0, Direction::host_to_device, MemoryClass::pinned, 1'000, 1 << 20, 20'000));
    pinned.stack = {frame_sample(0, 0x1100, "step", "/home/u/src/x.cu", 100)};
    pinned.sizes = {size_sample(pinned)};
    pinned.transfers = {transfer_sample(pinned, 19'000, 45'000)};
    pinned.transfers[0].before_ns = 1'000ULL * 18'000;
    pinned.transfers[0].returned_early = 1'000;
    CaptureSite& create = add(call_sample(0, SiteKind::stream_setup, "cudaStreamCreate", 2, 10'000, 110));

    capture.streams = {{1, 0, create.id, report::StreamKind::created, 1, 0, true},
                       {2, 0, 0, report::StreamKind::created, 1, 0, false},
                       {3, 0, 0, report::StreamKind::legacy_default, 1, 0, false}};
    return capture;
}

}  // namespace pincheck::test
