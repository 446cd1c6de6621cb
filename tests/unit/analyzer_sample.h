// Captures and findings made by hand, for the tests of rules, policy and renderers; and reports as files.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/capture.h"
#include "analyzer/findings.h"
#include "analyzer/policy.h"
#include "report_test_sample.h"

namespace pincheck::test {

inline constexpr std::uint64_t kMs = 1'000'000;

// A frame by its module's path and, optionally, what is known of it.
struct FrameText {
    const char* module;
    const char* function = "";
    const char* file = "";
    std::uint32_t line = 0;
};

// A capture with one process of 10 s. Sites are added with a stack; ids follow the order of adding.
class CaptureMaker {
  public:
    CaptureMaker() {
        loaded.capture.sites.reserve(16);  // references stay good
        CaptureProcess& process = loaded.capture.processes.emplace_back();
        process.file = "job.pcr";
        process.pid = 4127;
        process.ended = true;
        process.duration_ns = 10'000 * kMs;
        process.cuda_calls = 100;
        process.devices.push_back({"NVIDIA H200", 13000, 0, 3, false, false, false});
    }

    CaptureFrame frame(const FrameText& text) {
        CaptureFrame result;
        std::vector<CaptureModule>& modules = loaded.capture.modules;
        for (result.module = 0; result.module < modules.size(); ++result.module) {
            if (modules[result.module].path == text.module) {
                break;
            }
        }
        if (result.module == modules.size()) {
            modules.push_back({text.module, "abcd"});
        }
        result.offset = next_offset_ += 16;
        if (*text.function != '\0' || *text.file != '\0') {
            result.lines.push_back({text.function, text.file, text.line, *text.file != '\0'});
        }
        return result;
    }

    // An asynchronous copy of `calls` calls, each `each_ns`, spread over the process's time.
    CaptureSite& copy(report::Direction direction, report::MemoryClass host, std::initializer_list<FrameText> stack,
                      std::uint64_t calls = 100, std::uint64_t bytes = 64 << 10, std::uint64_t each_ns = 3 * kMs) {
        CaptureSite& site = loaded.capture.sites.emplace_back();
        site.id = static_cast<std::uint32_t>(loaded.capture.sites.size());
        site.api = "cudaMemcpyAsync";
        site.kind = report::SiteKind::copy;
        site.direction = direction;
        site.stream = report::StreamKind::created;
        site.flags = report::kSiteAsync | report::kSiteExactStack;
        const bool down = direction == report::Direction::device_to_host;
        site.destination.kind = down ? host : report::MemoryClass::device;
        site.source.kind = down ? report::MemoryClass::device : host;
        for (const FrameText& text : stack) {
            site.stack.push_back(frame(text));
        }
        site.calls = calls;
        site.bytes = calls * bytes;
        site.bytes_min = site.bytes_max = bytes;
        site.host_ns = calls * each_ns;
        site.host_ns_max = each_ns;
        site.histogram[report::histogram_bucket(each_ns)] = calls;
        site.first_ns = 100 * kMs;
        site.last_ns = 9'000 * kMs;
        site.threads = site.processes = 1;
        return site;
    }

    std::vector<Finding> found() const { return find(loaded.capture, Origins()); }
    Judgement judged(const PolicyOptions& options = {}, const std::vector<std::string>& blind = {}) const {
        return judge(loaded, found(), Origins(), options, blind);
    }

    LoadResult loaded;

  private:
    std::uint64_t next_offset_ = 0;
};

}  // namespace pincheck::test
