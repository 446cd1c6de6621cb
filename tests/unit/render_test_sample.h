// A job with one of everything that the screens show, all values fixed; no file is read. Shared by the render tests.
#pragma once

#include <string>
#include <vector>

#include "analyzer/capture.h"
#include "analyzer/findings.h"
#include "analyzer/policy.h"

namespace pincheck::test {

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kSecond = 1'000 * kMs;

inline CaptureProcess process_sample() {
    CaptureProcess process;
    process.file = "/home/u/train.pcr";
    process.pid = 4127;
    process.executable = "/home/u/train";
    process.command_line = {"./train", "--epochs", "2"};
    process.working_directory = "/home/u";
    process.host = "node1";
    process.ended = true;
    process.duration_ns = 214 * kSecond;
    process.start_realtime_ns = 1'700'000'000 * kSecond;
    process.cuda_calls = 15'204;
    process.devices = {{"NVIDIA H200", 13000, 0, 3, false, false, false}};
    process.coverage = {{report::CoverageKind::route, "exported-runtime"},
                        {report::CoverageKind::route, "lookup"},
                        {report::CoverageKind::library, "/usr/local/cuda/lib64/libcudart.so.13"},
                        {report::CoverageKind::library, "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}};
    process.pinned_bytes = 1'288'490'188;
    process.pinned_ranges = 14;
    return process;
}

inline CaptureFrame frame_sample(std::uint32_t module, std::uint64_t offset, const std::string& function = "",
                                 const std::string& file = "", std::uint32_t line = 0) {
    CaptureFrame frame;
    frame.module = module;
    frame.offset = offset;
    if (!function.empty() || !file.empty()) {
        frame.lines = {{function, file, line, true}};
    }
    return frame;
}

// Modules: 0 the program, 1 a vendor's library, 2 a framework's, 3 libc.
inline std::vector<CaptureModule> modules_sample() {
    return {{"/home/u/train", "aa11"},
            {"/opt/nccl/libnccl.so.2", "bb22"},
            {"/opt/torch/lib/libtorch_cuda.so", "cc33"},
            {"/lib/x86_64-linux-gnu/libc.so.6", "dd44"}};
}

// An asynchronous copy of `calls` times `bytes`, `ns` each.
inline CaptureSite site_sample(std::uint32_t id, report::Direction direction, report::MemoryClass host,
                               std::uint64_t calls, std::uint64_t bytes, std::uint64_t ns) {
    CaptureSite site;
    site.id = id;
    site.api = "cudaMemcpyAsync";
    site.kind = report::SiteKind::copy;
    site.direction = direction;
    site.stream = report::StreamKind::created;
    const report::Memory on_host{host, 0, 0};
    const report::Memory on_device{report::MemoryClass::device, 0, 0};
    const bool upload = direction == report::Direction::host_to_device;
    site.source = upload ? on_host : on_device;
    site.destination = upload ? on_device : on_host;
    site.flags = report::kSiteAsync | report::kSiteExactStack;
    site.calls = calls;
    site.bytes = calls * bytes;
    site.bytes_min = site.bytes_max = bytes;
    site.host_ns = calls * ns;
    site.host_ns_max = 2 * ns;
    site.first_ns = kMs;
    site.last_ns = 200 * kSecond;
    site.histogram[report::histogram_bucket(ns)] = calls;
    site.threads = site.processes = 1;
    return site;
}

inline Finding finding_sample(const CaptureSite& site, Rule rule = Rule::pageable_async_copy,
                              Severity severity = Severity::error, Origin issuer = Origin::user) {
    Finding finding;
    finding.rule = rule;
    finding.severity = severity;
    finding.site = site.id;
    finding.heading = site.stack.empty() ? -1 : 0;
    finding.issuer = issuer;
    finding.api = site.api;
    finding.held_ns = site.host_ns;
    return finding;
}

struct Job {
    LoadResult loaded;
    Judgement judgement;

    Capture& capture() { return loaded.capture; }
    CaptureSite& site(std::uint32_t id) { return loaded.capture.sites.at(id - 1); }
};

// Sites 1 and 2 gate, each in a place of its own.
inline Job failing_job() {
    using report::Direction;
    using report::MemoryClass;
    Job job;
    job.capture().processes = {process_sample()};
    job.capture().modules = modules_sample();
    CaptureSite loss = site_sample(1, Direction::device_to_host, MemoryClass::pageable, 6'240, 4, 3'173'077);
    loss.stack = {frame_sample(0, 0x1234, "Meter::update(float*)", "/home/u/src/meter.cu", 41)};
    CaptureSite batch = site_sample(2, Direction::host_to_device, MemoryClass::pageable, 6'240, 3 << 20, 881'410);
    batch.stack = {frame_sample(0, 0x2345, "to_device", "/opt/lib/data.cpp", 88), frame_sample(0, 0x9999, "main")};
    batch.threads = 4;
    job.capture().sites = {loss, batch};
    Finding first = finding_sample(loss);
    first.why = "The call waits for all work queued before it in its stream: median 2.10 ms or more, 19.8 s in total.";
    first.fix = "copy into page-locked memory, and wait for an event recorded after the copy before reading it.";
    Finding second = finding_sample(batch);
    second.why = "The driver stages every byte through the CPU.";
    second.fix = "copy from page-locked memory (cudaMallocHost, once, outside the loop).";
    job.judgement = {Verdict::violated, {first, second}, {}, {}};
    return job;
}

// Adds what does not gate: a framework's blocking copies (sites 3, 4) and a vendor's own (site 5).
inline void add_not_gated(Job& job) {
    using report::Direction;
    using report::MemoryClass;
    CaptureSite cpu = site_sample(3, Direction::device_to_host, MemoryClass::pageable, 200, 4, 5 * kMs);
    cpu.stack = {frame_sample(2, 0x777, "at::native::copy_kernel_cuda")};
    CaptureSite to = site_sample(4, Direction::host_to_device, MemoryClass::pageable, 53, 4096, 40'000);
    to.stack = {frame_sample(2, 0x888)};
    CaptureSite nccl = site_sample(5, Direction::host_to_device, MemoryClass::pageable, 130, 4, 20'000);
    nccl.stack = {frame_sample(1, 0x55)};
    for (const CaptureSite& site : {cpu, to, nccl}) {
        job.capture().sites.push_back(site);
    }
    job.judgement.not_gated = {finding_sample(cpu, Rule::copy_then_sync, Severity::warning, Origin::framework),
                               finding_sample(to, Rule::copy_then_sync, Severity::warning, Origin::framework),
                               finding_sample(nccl, Rule::pageable_async_copy, Severity::error, Origin::vendor)};
}

}  // namespace pincheck::test
