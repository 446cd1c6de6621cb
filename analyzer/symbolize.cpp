#include "symbolize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "launch_stubs.h"
#include "symbol_cache.h"

namespace pincheck {

std::vector<std::string> symbolize(Capture& capture, const SymbolizeOptions& options) {
    SymbolCache cache(options);
    return symbolize(capture, cache);
}

std::vector<std::string> symbolize(Capture& capture, SymbolCache& cache) {
    // Each module is opened once, and each of its addresses looked up once.
    std::map<std::uint32_t, std::map<std::uint64_t, std::vector<CaptureFrame*>>> wanted;
    for (CaptureSite& site : capture.sites) {
        for (CaptureFrame& frame : site.stack) {
            if (frame.lines.empty() && frame.module < capture.modules.size()) {
                wanted[frame.module][frame.offset].push_back(&frame);
            }
        }
    }
    std::vector<std::string> problems;
    for (auto& [index, by_offset] : wanted) {
        const CaptureModule& module = capture.modules[index];
        if (!module.path.starts_with('/')) {
            continue;  // [vdso] and the nameless have no file
        }
        SymbolCache::Module& file = cache.module(module.path, module.build_id);
        if (const std::string& problem = cache.problem(file); !problem.empty()) {
            problems.push_back(problem);
            continue;
        }
        for (auto& [offset, frames] : by_offset) {
            const std::vector<SourceLine>& lines = cache.lines(file, offset);
            for (CaptureFrame* frame : frames) {
                frame->lines = lines;
            }
        }
    }
    for (CaptureSite& site : capture.sites) {
        mark_launch_stubs(site.stack);
    }
    return problems;
}

std::string frame_text(const Capture& capture, const CaptureFrame& frame) {
    return frame_text(capture, frame, frame.lines.empty() ? nullptr : &frame.lines.front());
}

std::string frame_text(const Capture& capture, const CaptureFrame& frame, const SourceLine* line) {
    if (line != nullptr && !line->file.empty()) {
        const std::string file = line->file.substr(line->file.rfind('/') + 1);
        const std::string place = line->line == 0 ? file : fmt::format("{}:{}", file, line->line);
        return line->function.empty() ? place : fmt::format("{} ({})", line->function, place);
    }
    if (line != nullptr && !line->function.empty() && line->exact) {
        return line->function;
    }
    if (frame.module >= capture.modules.size()) {
        return fmt::format("{:#x}", frame.offset);
    }
    const CaptureModule& module = capture.modules[frame.module];
    const std::string name = module.path.empty() ? "?" : module.path.substr(module.path.rfind('/') + 1);
    if (line != nullptr && !line->function.empty()) {
        return fmt::format("{} ({}; rebuild with -g for file and line)", line->function, name);
    }
    return fmt::format("{}+{:#x}{}", name, frame.offset,
                       module.build_id.empty() ? "" : fmt::format(" (build-id {})", module.build_id));
}

}  // namespace pincheck
