// A job with a race of every rule, as the recorder would have written it; no file is read. Shared by the tests of
// races.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/capture.h"
#include "waits_sample.h"

namespace pincheck::test {

// 60 races: 50 corrupting, 7 latent, of 3 the device's times are not known.
inline CaptureRace race_sample(report::RaceRule rule, std::uint32_t copy_site, std::uint32_t other_site,
                               report::RaceLevel level = report::RaceLevel::order) {
    CaptureRace race;
    race.rule = rule;
    race.level = level;
    race.copy_site = copy_site;
    race.other_site = other_site;
    race.count = 60;
    race.corrupting = 50;
    race.latent = 7;
    race.first_ns = 3 * kMs;
    race.last_ns = 9 * kSecond;
    race.processes = 1;
    race.address = 0x7f1000000000;
    race.copy_bytes = 1 << 20;
    race.begin = 4096;
    race.end = 8192;
    race.thread = 1;
    return race;
}

// Sites of racing_capture() by what they are.
enum RacingSite : std::uint32_t {
    kUpload = 1,    // page-locked, in step() at src/x.cu:10
    kDownload = 2,  // page-locked, at src/x.cu:20
    kPageable = 3,  // upload, at src/x.cu:30
    kMemset = 4,    // at src/x.cu:40
    kFreeHost = 5,  // at src/x.cu:50
    kWait = 6,      // cudaEventSynchronize at src/x.cu:60
    kLaunch = 7,    // cudaGraphLaunch at src/x.cu:70
    kHostFunction = 8,
    kPin = 9,      // cudaMallocHost at src/x.cu:90
    kAccess = 10,  // of the host, in helper() at src/y.cu:5
    kTorch = 11,   // upload, by a framework for the user
    kNccl = 12,    // upload, by a vendor's library
    kNcclPin = 13,
};

inline Capture racing_sites() {
    using report::Direction;
    using report::MemoryClass;
    using report::SiteKind;
    Capture capture;
    capture.processes = {process_sample()};
    capture.modules = modules_sample();
    const auto add = [&](CaptureSite site) -> CaptureSite& {
        site.id = static_cast<std::uint32_t>(capture.sites.size() + 1);
        capture.sites.push_back(std::move(site));
        return capture.sites.back();
    };
    const auto copy = [&](Direction direction, MemoryClass memory, std::uint64_t ns,
                          std::uint32_t line) -> CaptureSite& {
        CaptureSite& site = add(site_sample(0, direction, memory, 100, 1 << 20, ns));
        site.stack = {frame_sample(0, 0x1000 + line, "step(float*)", "/home/u/src/x.cu", line)};
        return site;
    };
    capture.sites.reserve(16);
    copy(Direction::host_to_device, MemoryClass::pinned, 9'000, 10);
    copy(Direction::device_to_host, MemoryClass::pinned, 9'000, 20);
    copy(Direction::host_to_device, MemoryClass::pageable, 881'410, 30);
    add(call_sample(0, SiteKind::fill, "cudaMemsetAsync", 100, 5'000, 40));
    add(call_sample(0, SiteKind::release, "cudaFreeHost", 60, 3 * kMs, 50));
    add(call_sample(0, SiteKind::synchronize, "cudaEventSynchronize", 100, 3 * kMs, 60));
    add(call_sample(0, SiteKind::graph_launch, "cudaGraphLaunch", 100, 5'000, 70));
    add(call_sample(0, SiteKind::host_function, "cudaLaunchHostFunc", 100, 5'000, 80));
    add(call_sample(0, SiteKind::allocate, "cudaMallocHost", 2, kMs, 90));
    CaptureSite& access = add(call_sample(0, SiteKind::host_access, "", 0, 0, 5));
    access.stack = {frame_sample(0, 0x5, "helper(float*)", "/home/u/src/y.cu", 5)};
    copy(Direction::host_to_device, MemoryClass::pinned, 9'000, 100)
        .stack.insert(capture.sites.back().stack.begin(), frame_sample(2, 0x777, "at::native::copy_kernel_cuda"));
    copy(Direction::host_to_device, MemoryClass::pinned, 9'000, 110)
        .stack.insert(capture.sites.back().stack.begin(), frame_sample(1, 0x55));
    CaptureSite& nccl_pin = add(call_sample(0, SiteKind::allocate, "cudaHostAlloc", 1, kMs, 120));
    nccl_pin.stack = {frame_sample(1, 0x99)};
    capture.streams = {{1, 0, 0, report::StreamKind::created, 1, 0, true},
                       {2, 0, 0, report::StreamKind::created, 1, 0, true}};
    return capture;
}

// One race of each rule. In the order of Capture::races.
inline Capture racing_capture() {
    using report::RaceLevel;
    using report::RaceRule;
    Capture capture = racing_sites();
    const auto add = [&](CaptureRace race) -> CaptureRace& { return capture.races.emplace_back(std::move(race)); };
    capture.races.reserve(16);
    CaptureRace& unordered = add(race_sample(RaceRule::unordered_copies, kDownload, kMemset));
    unordered.flags = report::kRaceOnDevice;
    unordered.stream = 1;
    unordered.other_stream = 2;
    unordered.begin = 0;
    unordered.end = unordered.copy_bytes;
    unordered.corrupting = 0;
    unordered.latent = 60;
    CaptureRace& source = add(race_sample(RaceRule::source_overwritten_in_flight, kUpload, 0, RaceLevel::watch));
    source.after_site = kUpload;
    source.before_site = source.wait_site = kWait;
    source.pin_site = kPin;
    source.stream = 1;
    CaptureRace& destination =
        add(race_sample(RaceRule::destination_overwritten_in_flight, kDownload, kAccess, RaceLevel::trap));
    destination.count = destination.corrupting = 1;
    destination.latent = 0;
    destination.pin_site = kPin;
    CaptureRace& read = add(race_sample(RaceRule::destination_read_in_flight, kDownload, kAccess, RaceLevel::trap));
    read.flags = report::kRaceInSystemCall;
    read.call = "write";
    read.corrupting = read.latent = 0;
    read.pin_site = kPin;
    CaptureRace& result = add(race_sample(RaceRule::result_never_awaited, kDownload, 0));
    result.flags = report::kRaceAtExit;
    result.count = result.latent = 1;
    result.corrupting = 0;
    add(race_sample(RaceRule::result_never_awaited, kDownload, kDownload)).pin_site = kPin;
    add(race_sample(RaceRule::graph_buffer_gone, kUpload, kLaunch)).graph_launches = 100;
    add(race_sample(RaceRule::released_in_flight, kUpload, kFreeHost)).pin_site = kPin;
    add(race_sample(RaceRule::staged_too_early, kPageable, kHostFunction));
    CaptureRace& staging = add(race_sample(RaceRule::relies_on_staging, kPageable, 0, RaceLevel::watch));
    staging.after_site = kPageable;
    staging.flags = report::kRaceByChecksum;
    return capture;
}

}  // namespace pincheck::test
